"""`lsp`: queries a language server about code."""

from __future__ import annotations

from typing import Any

from app.core.errors import ToolFailed
from app.operations.language_servers.server import CodeServers
from app.toolkit.context import ToolContext
from app.toolkit.ports import CODE_SERVERS
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, tool
from app.tools.dev.lsp.arguments import LspArgs
from app.tools.dev.lsp.query import LspResult, ask
from app.tools.dev.returns import LSP_RESULT

_MAX_CALLS_SHOWN = 20


@tool(
    category="code",
    toolset="dev",
    sandbox="bash",
    kind="search",
    needs_project=True,
    requires=(CODE_SERVERS,),
    routing_hint="main-process-proxy",
    timeout_s=180,
    tags=("code", "search", "read"),
    argument_aliases={
        "action": "operation",
        "file_path": "path",
        "filePath": "path",
        "character": "column",
        "name": "symbol",
        "includeDeclaration": "include_declaration",
        "serverName": "server",
    },
    aliases=(Alias("LSPTool", families=("jarvis", "claude")),),
    return_schema=LSP_RESULT,
)
async def lsp(args: LspArgs, ctx: ToolContext) -> ToolResult:
    """Query a language server: definition, references, hover, implementations, symbols, call
    hierarchy, diagnostics, code actions. Prefer it over grep for names.

    Set path with line and column, or a symbol. Returns places as path:line:column.
    """
    servers = ctx.services.require(CODE_SERVERS, CodeServers)  # type: ignore[type-abstract]
    found, name = await _asked(args, servers, ctx)
    data: dict[str, Any] = {
        "operation": args.operation,
        "results": found.results,
        "count": len(found.results),
        "total": found.total,
        "truncated": found.total > len(found.results),
        "server": name,
    }
    raw_result = RawResult("table", found.results)
    if found.text is not None:
        raw_result = RawResult("text", found.text)
    return ToolResult.ok(data, text=_text(args, found), raw_result=raw_result)


async def _asked(args: LspArgs, servers: CodeServers, ctx: ToolContext) -> tuple[LspResult, str]:
    """Send the request, and retry once if the server dies."""
    for is_last in (False, True):
        try:
            async with servers.use(ctx.operations, path=args.path, name=args.server) as server:
                return await ask(args, server, ctx.operations.files), server.name
        except ToolFailed as error:
            if is_last or error.details.get("code") != "language_server_died":
                raise
    raise AssertionError


def _text(args: LspArgs, found: LspResult) -> str:
    if not found.results:
        return "No results"
    if found.text is not None:
        return found.text
    lines = []
    for result in found.results:
        lines.append(_line(result))
        lines += [f"    at {_place(call)}" for call in result.get("calls", [])[:_MAX_CALLS_SHOWN]]
    if found.total > len(found.results):
        lines.append(f"[{found.total} in total: raise limit, or narrow the request]")
    return "\n".join(lines)


def _line(result: dict[str, Any]) -> str:
    if "title" in result:
        return f"{result['kind'] or 'action'}: {result['title']}"
    if "message" in result:
        head = f"{result['path']}:{result['line']}:{result['column']}"
        return f"{head}: {result['severity']} {result['code']}: {result['message']}"
    if "name" in result:
        inside = f" in {result['container']}" if result.get("container") else ""
        return f"{result['kind']} {result['name']}{inside} — {_place(result)}"
    return _place(result)


def _place(place: dict[str, Any]) -> str:
    text = f": {place['text']}" if "text" in place else ""
    return f"{place['path']}:{place['line']}:{place['column']}{text}"
