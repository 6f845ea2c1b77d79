"""A language server that has introduced itself and knows the files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

from app.core.errors import ToolFailed
from app.core.language_servers import LanguageServerSettings
from app.operations.language_servers.capabilities import initialize_params
from app.operations.language_servers.documents import Documents, OpenDocument, path_uri, uri_path
from app.operations.language_servers.peer import Peer
from app.operations.protocols.operations import Operations

_START_S = 30.0
_ANSWER_S = 60.0
_PUBLISH_S = 15.0


class CodeServer:
    """One server for one workspace.

    Attributes:
        name: as configured.
        capabilities: what it can do, as it says.
        encoding: what its columns count: `utf-8`, `utf-16` or `utf-32` units.
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
        """Start it and let it introduce itself.

        Raises:
            ToolFailed: as `Peer.start` and `Peer.request`.
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
        """End it; harmless when repeated."""
        await self._peer.close()

    async def open(self, path: str) -> OpenDocument:
        """The file as it is on the disk now, and as the server knows it from now on.

        Raises:
            ToolFailed: it cannot be read.
        """
        return await self._documents.show(path)

    async def refresh(self) -> list[str]:
        """Tell the server which files have changed; those of its languages, sorted."""
        return await self._documents.refresh()

    async def open_known(self, path: str) -> OpenDocument:
        """`open` for one of the files that `refresh` has just given.

        Raises:
            ToolFailed: it cannot be read any more.
        """
        return await self._documents.show_again(path)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """What the server answers, as it came.

        Raises:
            ToolFailed: as `Peer.request`.
        """
        return await self._peer.request(method, params, timeout_s=_ANSWER_S)

    def path_of(self, uri: object) -> str:
        """Relative to the workspace, or absolute for what lies elsewhere."""
        return uri_path(self._root, str(uri))

    async def diagnostics(self, document: OpenDocument) -> list[Any]:
        """What is wrong with an open file: asked for, or waited for where it is only published.

        Raises:
            ToolFailed: `timeout` when the server publishes nothing, or as `Peer.request`.
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
        """The server called `name`, or the one for `path`, started when it does not run.

        Raises (on entering): ToolFailed `no_language_server`, `language_server_died`,
            `language_server_broken`, `too_many_language_servers`, `sandbox_unavailable`.
        """
