"""Initialized language server that knows the files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

from app.config.language_servers import LanguageServerSettings
from app.core.errors import ToolFailed
from app.operations.language_servers.documents import Documents, OpenDocument, path_uri, uri_path
from app.operations.language_servers.peer import Peer
from app.operations.protocols.operations import Operations

_START_S = 30.0
_ANSWER_S = 60.0
_PUBLISH_S = 15.0


class CodeServer:
    """Server for one workspace.

    Attributes:
        name: configured name.
        capabilities: capabilities reported by the server.
        encoding: unit of its columns: `utf-8`, `utf-16` or `utf-32`.
    """

    def __init__(
        self, settings: LanguageServerSettings, operations: Operations, *, memory_bytes: int
    ) -> None:
        self.name = settings.name
        self.capabilities: Mapping[str, Any] = {}
        self.encoding = "utf-16"
        self._settings = settings
        self._root = operations.root
        self._peer = Peer(settings, operations.processes, memory_bytes=memory_bytes)
        self._documents = Documents(self._peer, operations, settings.extensions)

    @property
    def alive(self) -> bool:
        return self._peer.alive

    async def start(self) -> None:
        """Start and initialize it.

        Raises:
            ToolFailed: see `Peer.start` and `Peer.request`.
        """
        await self._peer.start()
        params = initialize_params(self._settings, path_uri(self._root, "."))
        answer = await self._peer.request("initialize", params, timeout_s=_START_S)
        capabilities = answer.get("capabilities") if isinstance(answer, dict) else None
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        encoding = self.capabilities.get("positionEncoding")
        self.encoding = encoding if encoding in ("utf-8", "utf-32") else "utf-16"
        self._peer.notify("initialized", {})

    async def close(self) -> None:
        """End it; may be called repeatedly."""
        await self._peer.close()

    async def open(self, path: str) -> OpenDocument:
        """Open the file in its current state on disk.

        Raises:
            ToolFailed: it is unreadable.
        """
        return await self._documents.show(path)

    async def refresh(self) -> list[str]:
        """Notify the server of changed files; return those of its languages, sorted."""
        return await self._documents.refresh()

    async def open_known(self, path: str) -> OpenDocument:
        """Open one of the files just returned by `refresh`.

        Raises:
            ToolFailed: it is no longer readable.
        """
        return await self._documents.show_again(path)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Return the server's unmodified result.

        Raises:
            ToolFailed: see `Peer.request`.
        """
        return await self._peer.request(method, params, timeout_s=_ANSWER_S)

    def path_of(self, uri: object) -> str:
        """Return the path relative to the workspace, or absolute outside it."""
        return uri_path(self._root, str(uri))

    async def diagnostics(self, document: OpenDocument) -> list[Any]:
        """Return the diagnostics of an open file: requested, or awaited if they are only published.

        Raises:
            ToolFailed: `timeout` if the server publishes nothing, or see `Peer.request`.
        """
        if self.capabilities.get("diagnosticProvider"):
            params = {"textDocument": {"uri": document.uri}}
            answer = await self.request("textDocument/diagnostic", params)
            items = answer.get("items") if isinstance(answer, dict) else None
            return items if isinstance(items, list) else []
        return await self._published(document)

    async def _published(self, document: OpenDocument) -> list[Any]:
        try:
            async with asyncio.timeout(_PUBLISH_S):
                while True:
                    self._peer.arrived.clear()
                    version, items = self._peer.published.get(document.uri, (-1, []))
                    if version is None or version == document.version:
                        return items
                    self._peer.check_alive()
                    await self._peer.arrived.wait()
        except TimeoutError:
            raise ToolFailed(
                f"The language server {self.name!r} published nothing about "
                f"{document.path!r} within {_PUBLISH_S:g} s; try again",
                code="timeout",
                server=self.name,
            ) from None


@runtime_checkable
class CodeServers(Protocol):
    """Servers on demand."""

    def use(
        self, operations: Operations, *, path: str | None = None, name: str | None = None
    ) -> AbstractAsyncContextManager[CodeServer]:
        """Provide the server `name`, or the one for `path`, started if necessary.

        Raises (on entering): ToolFailed `no_language_server`, `language_server_died`,
            `language_server_broken`, `too_many_language_servers`, `sandbox_unavailable`.
        """


def initialize_params(settings: LanguageServerSettings, root_uri: str) -> dict[str, Any]:
    """Return the parameters of `initialize`."""
    return {
        # Not ours: a server that monitors its parent would see another process in the sandbox.
        "processId": None,
        "clientInfo": {"name": "tollgate"},
        "rootUri": root_uri,
        "workspaceFolders": [{"uri": root_uri, "name": "workspace"}],
        "initializationOptions": settings.initialization_options,
        "capabilities": {
            "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
            "textDocument": _TEXT_DOCUMENT,
            "workspace": {
                "configuration": True,
                "workspaceFolders": True,
                "symbol": {},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
            "window": {"workDoneProgress": True},
        },
    }


_TEXT_DOCUMENT: dict[str, Any] = {
    "synchronization": {},
    "definition": {"linkSupport": True},
    "implementation": {"linkSupport": True},
    "references": {},
    "callHierarchy": {},
    "hover": {"contentFormat": ["markdown", "plaintext"]},
    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    "diagnostic": {},
    "publishDiagnostics": {"versionSupport": True},
    "codeAction": {
        "codeActionLiteralSupport": {
            "codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}
        }
    },
}
