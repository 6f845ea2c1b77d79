"""One query to a language server: from arguments to results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from app.core.errors import ToolFailed
from app.operations.language_servers.documents import OpenDocument
from app.operations.language_servers.server import CodeServer
from app.operations.protocols.files import FileOperations
from app.tools.dev.lsp import answers
from app.tools.dev.lsp.answers import SourceLines, dicts
from app.tools.dev.lsp.arguments import LspArgs
from app.tools.dev.lsp.positions import locate, position, split, start_of

_MAX_FILES = 2_000


@dataclass(frozen=True, slots=True)
class LspResult:
    """`results` up to the limit, out of `total`; `text` only for a hover."""

    results: list[dict[str, Any]]
    total: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class LspQuery:
    """Request to a language server about a file."""

    args: LspArgs
    server: CodeServer
    sources: SourceLines
    document: OpenDocument | None

    @property
    def file(self) -> OpenDocument:
        assert self.document is not None
        return self.document

    def at(self) -> dict[str, Any]:
        """Return the requested position in the protocol's form.

        Raises:
            ToolFailed: `position_not_found`.
        """
        args, file = self.args, self.file
        place = locate(file.text, file.path, line=args.line, column=args.column, symbol=args.symbol)
        where = position(file.text, place, self.server.encoding)
        return {"textDocument": {"uri": file.uri}, "position": where}

    async def request(self, capability: str, method: str, params: dict[str, Any]) -> Any:
        """Send a request if the server supports it.

        Raises:
            ToolFailed: `not_supported`, or see `CodeServer.request`.
        """
        if not self.server.capabilities.get(capability):
            raise ToolFailed(
                f"The language server {self.server.name!r} does not support "
                f"{self.args.operation}; try grep",
                code="not_supported",
                server=self.server.name,
            )
        return await self.server.request(method, params)


async def ask(args: LspArgs, server: CodeServer, files: FileOperations) -> LspResult:
    """Run the query.

    Raises:
        ToolFailed: the file is unreadable, the position does not exist, or the server does not
            support, refuses or fails the request.
    """
    document = None
    if args.path is not None:
        document = await server.open(args.path)
    elif args.operation != "workspaceDiagnostics":
        await server.refresh()
    question = LspQuery(args, server, SourceLines(server, files), document)
    return await _QUESTIONS[args.operation](question)


def _places(capability: str, method: str) -> Callable[[LspQuery], Awaitable[LspResult]]:
    async def put(question: LspQuery) -> LspResult:
        params = question.at()
        if method == "textDocument/references":
            params["context"] = {"includeDeclaration": question.args.include_declaration}
        answer = await question.request(capability, method, params)
        return LspResult(*await answers.locations(answer, question.sources, question.args.limit))

    return put


async def _hover(question: LspQuery) -> LspResult:
    answer = await question.request("hoverProvider", "textDocument/hover", question.at())
    text = answers.hover_text(answer)
    return LspResult([{"contents": text}] if text else [], int(bool(text)), text)


async def _document_symbols(question: LspQuery) -> LspResult:
    uri = question.file.uri
    params = {"textDocument": {"uri": uri}}
    answer = await question.request("documentSymbolProvider", "textDocument/documentSymbol", params)
    limit = question.args.limit
    return LspResult(*await answers.symbols(answer, question.sources, uri, limit))


async def _workspace_symbols(question: LspQuery) -> LspResult:
    params = {"query": question.args.query or ""}
    answer = await question.request("workspaceSymbolProvider", "workspace/symbol", params)
    limit = question.args.limit
    return LspResult(*await answers.symbols(answer, question.sources, None, limit))


async def _prepared(question: LspQuery) -> list[dict[str, Any]]:
    answer = await question.request(
        "callHierarchyProvider", "textDocument/prepareCallHierarchy", question.at()
    )
    return dicts(answer)


async def _hierarchy(question: LspQuery) -> LspResult:
    items = await _prepared(question)
    found = [
        await answers.hierarchy_item(item, question.sources)
        for item in items[: question.args.limit]
    ]
    return LspResult(found, len(items))


def _calls(method: str, side: str) -> Callable[[LspQuery], Awaitable[LspResult]]:
    async def put(question: LspQuery) -> LspResult:
        items = await _prepared(question)
        if not items:
            return LspResult([], 0)
        item = items[0]
        answer = await question.server.request(f"callHierarchy/{method}", {"item": item})
        found, total = await answers.calls(
            answer,
            question.sources,
            side=side,
            caller_uri=item.get("uri"),
            limit=question.args.limit,
        )
        return LspResult(found, total)

    return put


async def _diagnostics(question: LspQuery) -> LspResult:
    items = await question.server.diagnostics(question.file)
    found = await answers.diagnostics(items, question.sources, question.file.uri)
    return LspResult(found[: question.args.limit], len(found))


async def _workspace_diagnostics(question: LspQuery) -> LspResult:
    """Query file by file up to the limit: servers differ in support for the workspace."""
    server, limit = question.server, question.args.limit
    found: list[dict[str, Any]] = []
    for path in (await server.refresh())[:_MAX_FILES]:
        if len(found) > limit:
            break
        try:
            document = await server.open_known(path)
        except ToolFailed:  # deleted, or not text
            continue
        items = await server.diagnostics(document)
        found += await answers.diagnostics(items, question.sources, document.uri)
    return LspResult(found[:limit], len(found))


async def _code_actions(question: LspQuery) -> LspResult:
    args, file = question.args, question.file
    lines = split(file.text)
    first = locate(file.text, file.path, line=args.line, column=1, symbol=None)[0]
    last = min(args.end_line or first + 1, len(lines)) - 1
    items = await question.server.diagnostics(file)
    concerned = [item for item in dicts(items) if first <= start_of(item.get("range"))[0] <= last]
    encoding = question.server.encoding
    span = {
        "start": position(file.text, (first, 0), encoding),
        "end": position(file.text, (last, len(lines[last])), encoding),
    }
    params = {
        "textDocument": {"uri": file.uri},
        "range": span,
        "context": {"diagnostics": concerned},
    }
    answer = await question.request("codeActionProvider", "textDocument/codeAction", params)
    return LspResult(*answers.actions(answer, args.limit))


_QUESTIONS: dict[str, Callable[[LspQuery], Awaitable[LspResult]]] = {
    "goToDefinition": _places("definitionProvider", "textDocument/definition"),
    "goToImplementation": _places("implementationProvider", "textDocument/implementation"),
    "findReferences": _places("referencesProvider", "textDocument/references"),
    "hover": _hover,
    "documentSymbol": _document_symbols,
    "workspaceSymbol": _workspace_symbols,
    "prepareCallHierarchy": _hierarchy,
    "incomingCalls": _calls("incomingCalls", "from"),
    "outgoingCalls": _calls("outgoingCalls", "to"),
    "diagnostics": _diagnostics,
    "workspaceDiagnostics": _workspace_diagnostics,
    "codeActions": _code_actions,
}
