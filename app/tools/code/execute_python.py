"""`execute_python`: runs Python in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pydantic import Field

from app.core.errors import ProjectRequired
from app.operations.protocols.code import CodeOperations, CodeSpec, Strictness
from app.operations.sandbox.jail.python.check import (
    EARLY_CHARS,
    MAX_CHARS,
    CodeRefusal,
    examine,
    parse,
    used,
)
from app.operations.sandbox.jail.python.levels import SECONDS
from app.toolkit.context import Output, ToolContext
from app.toolkit.ports import CODE_OPERATIONS, CODE_RULES
from app.toolkit.result import ToolResult
from app.toolkit.returns import FLAG, INTEGER, NUMBER, TEXT, listed, maybe, record
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.code.artifacts import keep_files
from app.tools.code.modules import CodeRules
from app.tools.code.outcome import MAX_CHARS as MAX_OUTPUT
from app.tools.code.outcome import result_of
from app.tools.code.output import Printed
from app.tools.result_parts import CONFINED

_ENDING_S = 30

_FILE = record({"artifact_id": TEXT, "error": TEXT}, name=TEXT, media_type=TEXT, size=INTEGER)
EXECUTE_PYTHON_RESULT = record(
    success=FLAG,
    output=TEXT,
    stderr=TEXT,
    value=maybe(TEXT),
    strictness=TEXT,
    timeout=NUMBER,
    exit_code=maybe(INTEGER),
    reason=maybe(TEXT),
    truncated=FLAG,
    files=listed(_FILE),
    files_left_out=INTEGER,
    sandbox=maybe(CONFINED),
)


class ExecutePythonArgs(ToolArgs):
    code: str = Field(
        min_length=1,
        max_length=MAX_CHARS,
        description="Python source; returns the value of its last expression.",
    )
    strictness: Strictness | None = Field(
        default=None,
        description="standard (10 s, listed modules), strict (5 s, pure computation) or lenient "
        "(30 s, everything, files in its own folder; asks first).",
    )


def confirmation_reason(args: ExecutePythonArgs, services: Services) -> str | None:
    """Return why the call needs approval, or None."""
    if (args.strictness or rules_of(services).default) == "lenient":
        return "Python in 'lenient' mode may import and call everything"
    return None


def rules_of(services: Services) -> CodeRules:
    """Return the installation's rules for running code, or the defaults."""
    rules = services.get(CODE_RULES)
    return rules if isinstance(rules, CodeRules) else CodeRules()


@tool(
    category="code",
    toolset="code",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="execute",
    sandbox="standard",
    command_argument="code",
    language="python",
    asks=confirmation_reason,
    routing_hint="main-process-proxy",
    timeout_s=max(SECONDS.values()) + _ENDING_S,
    tags=("code", "execute", "python"),
    argument_aliases={"source": "code", "script": "code", "level": "strictness"},
    return_schema=EXECUTE_PYTHON_RESULT,
)
async def execute_python(
    args: ExecutePythonArgs, ctx: ToolContext
) -> AsyncIterator[Output | ToolResult]:
    """Run Python code in a sandbox. Calls are independent and share no state.

    Use it for calculations and data processing; prefer bash for commands and workspace files. It
    has no network and no input. Returns the printed output, the value of the last expression, and
    in lenient mode the created files, including plots.
    """
    rules = rules_of(ctx.services)
    level = args.strictness or rules.default
    extra = rules.extra_modules(level)
    modules = await _read(args.code, level, extra)
    if isinstance(modules, CodeRefusal):
        yield _refused(modules, level)
        return
    spec = CodeSpec(args.code, level, SECONDS[level], modules)
    printed = Printed(MAX_OUTPUT)
    async with _operations(ctx).open(spec) as running:
        async for chunk in running.output():
            for output in printed.add(chunk):
                yield output
        ended = await running.wait()
    for output in printed.finish():
        yield output
    files = await keep_files(ended.files, ctx)
    yield result_of(args.code, level, SECONDS[level], printed, ended, files)


async def _read(
    code: str, level: Strictness, extra: frozenset[str]
) -> CodeRefusal | tuple[str, ...]:
    """Return why the code cannot start, or which extra modules it needs.

    Very long code is parsed in the sandbox, before it runs, and may need all of them.
    """
    if len(code) > EARLY_CHARS:
        return tuple(sorted(extra))
    return await asyncio.to_thread(_needs, code, level, extra)


def _needs(code: str, level: Strictness, extra: frozenset[str]) -> CodeRefusal | tuple[str, ...]:
    tree = parse(code)
    return (
        tree if isinstance(tree, CodeRefusal) else examine(tree, level, extra) or used(tree, extra)
    )


def _refused(refusal: CodeRefusal, level: Strictness) -> ToolResult:
    """Return the refusal with the original tool's two keys, and the positions of the problems."""
    data = {
        "success": False,
        "error": refusal.message,
        "strictness": level,
        "problems": [
            {"kind": problem.kind, "name": problem.name, "line": problem.line}
            for problem in refusal.problems
        ],
    }
    return ToolResult.fail(refusal.message, code=refusal.code, data=data)


def _operations(ctx: ToolContext) -> CodeOperations:
    """Return the project's operations; without a project, the installation's: code needs no files.

    Raises:
        ProjectRequired: neither is available.
    """
    if ctx.bound_operations is not None:
        return ctx.bound_operations.code
    operations: CodeOperations | None = ctx.services.get(CODE_OPERATIONS)
    if operations is None:
        raise ProjectRequired("running code")
    return operations
