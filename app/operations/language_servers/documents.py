"""Synchronization of a server's files with the workspace."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from app.core.errors import ToolFailed
from app.operations.language_servers.peer import Peer
from app.operations.protocols.files import FileOperations
from app.operations.protocols.operations import Operations
from app.operations.protocols.search import FindQuery

MAX_FILE_BYTES = 4 << 20
_MAX_OPEN = 40
_MAX_WATCHED = 20_000
_CREATED, _CHANGED, _DELETED = 1, 2, 3

Stamp = tuple[datetime, int]


@dataclass(slots=True)
class OpenDocument:
    """File as known to the server."""

    path: str
    uri: str
    text: str
    version: int


class Documents:
    """Files of one workspace, for one server."""

    def __init__(self, peer: Peer, operations: Operations, languages: dict[str, str]) -> None:
        self._peer = peer
        self._operations = operations
        self._languages = languages
        self._open: OrderedDict[str, OpenDocument] = OrderedDict()
        self._watched: dict[str, Stamp] | None = None
        self._syncing = asyncio.Lock()

    async def show(self, path: str) -> OpenDocument:
        """Notify the server of changes on disk, and open `path`.

        Raises:
            ToolFailed: `path` is unreadable or not UTF-8 text.
        """
        # A file may have several names, which a server treats as separate files.
        stat = await self._operations.files.stat(path)
        name = path if stat is None else stat.path
        async with self._syncing:
            await self._catch_up(name)
            return await self._show(name)

    async def refresh(self) -> list[str]:
        """Notify the server of changes on disk; return its known files, sorted."""
        async with self._syncing:
            await self._catch_up(None)
            return sorted(self._watched or ())

    async def show_again(self, path: str) -> OpenDocument:
        """Open one of the files returned by `refresh`, without checking the others.

        Raises:
            ToolFailed: it is no longer readable.
        """
        async with self._syncing:
            return await self._show(path)

    async def _catch_up(self, shown: str | None) -> None:
        for other in await self._tell_changes():
            if other != shown and other in self._open:
                await self._update(other)

    async def _tell_changes(self) -> set[str]:
        """Notify the server of files created, deleted or changed since the last call; return the
        files.
        """
        pattern = "**/*.{" + ",".join(self._languages) + "}"
        found = await self._operations.search.find(FindQuery(pattern=pattern, limit=_MAX_WATCHED))
        now = {entry.path: (entry.modified, entry.size) for entry in found.entries}
        before, self._watched = self._watched, now
        if before is None:
            return set()
        kinds = dict.fromkeys(now.keys() - before.keys(), _CREATED)
        kinds |= dict.fromkeys(before.keys() - now.keys(), _DELETED)
        kinds |= {path: _CHANGED for path, stamp in now.items() if before.get(path, stamp) != stamp}
        if kinds:
            changes = [{"uri": self.uri(path), "type": kind} for path, kind in kinds.items()]
            self._peer.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        return set(kinds)

    async def _update(self, path: str) -> None:
        try:
            await self._show(path)
        except ToolFailed:
            self._forget(path)

    async def _show(self, path: str) -> OpenDocument:
        text = await read_text(self._operations.files, path)
        document = self._open.get(path)
        if document is None:
            document = OpenDocument(path, self.uri(path), text, 1)
            self._open[path] = document
            self._peer.notify("textDocument/didOpen", {"textDocument": self._item(document)})
        elif document.text != text:
            document.text = text
            document.version += 1
            identity = {"uri": document.uri, "version": document.version}
            changes = {"textDocument": identity, "contentChanges": [{"text": text}]}
            self._peer.notify("textDocument/didChange", changes)
        self._open.move_to_end(path)
        while len(self._open) > _MAX_OPEN:
            self._forget(next(iter(self._open)))
        return document

    def _item(self, document: OpenDocument) -> dict[str, Any]:
        return {
            "uri": document.uri,
            "languageId": self._languages.get(suffix_of(document.path), "plaintext"),
            "version": document.version,
            "text": document.text,
        }

    def _forget(self, path: str) -> None:
        document = self._open.pop(path)
        identity = {"textDocument": {"uri": document.uri}}
        self._peer.notify("textDocument/didClose", identity)
        self._peer.published.pop(document.uri, None)

    def uri(self, path: str) -> str:
        """Return the URI of a path of the workspace."""
        return path_uri(self._operations.root, path)


async def read_text(files: FileOperations, path: str) -> str:
    """Return the text of a source file.

    Raises:
        ToolFailed: it is unreadable or not UTF-8 text.
    """
    data = await files.read(path, max_bytes=MAX_FILE_BYTES)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolFailed(
            f"{path!r} is not UTF-8 text, which language servers require",
            code="not_text",
            path=path,
        ) from None


def suffix_of(path: str) -> str:
    """Return `py` for `src/a.py`; empty if there is no suffix."""
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def path_uri(root: str, path: str) -> str:
    """Return `path` of the workspace at `root` as a `file:` URI."""
    return "file://" + quote(root if path == "." else f"{root.rstrip('/')}/{path}")


def uri_path(root: str, uri: str) -> str:
    """Return a path relative to `root`, or an absolute one outside it."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    prefix = root.rstrip("/") + "/"
    if path in (root, prefix):
        return "."
    return path.removeprefix(prefix) if path.startswith(prefix) else path
