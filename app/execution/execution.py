"""Running a governed call: its tool, the hooks after it, and what it came to."""

from __future__ import annotations

from app.execution.cache import ResultCache
from app.execution.call import CallState
from app.execution.hooks.chain import Hooks
from app.execution.hooks.model import HookType
from app.execution.hooks.view import after_call
from app.execution.loops import LoopGuard
from app.execution.outcome import CallEnd, CallOutcome
from app.execution.outcome_builder import OutcomeBuilder
from app.execution.runner import ToolExecution, ToolRunner


class Execution:
    """Runs calls, or answers them with a result that is shared.

    Attributes:
        outcomes: builds what calls came to, those that did not run too.
    """

    def __init__(
        self,
        runner: ToolRunner,
        hooks: Hooks,
        cache: ResultCache,
        loops: LoopGuard,
        outcomes: OutcomeBuilder,
    ) -> None:
        self._runner = runner
        self._hooks = hooks
        self._cache = cache
        self._loops = loops
        self.outcomes = outcomes

    def repeats(self, call: CallState) -> int:
        """How often an agent has made this call already when it must not make it again."""
        if not call.context.is_agents:
            return 0
        return self._loops.refuses(call.context.session_id, call.key)

    def cached(self, call: CallState) -> CallOutcome | None:
        """The result of an equal read of the session."""
        if not self._may_share(call):
            return None
        return self._cache.get(call.context.session_id, call.context.scope, call.key)

    async def run(self, call: CallState, ran: ToolExecution) -> CallEnd:
        """Run a call; `ran` takes how far it has come."""
        assert call.tool is not None
        context, is_shared = call.context, self._may_share(call)
        epoch = self._cache.epoch(context.scope) if is_shared else None
        plan = self._hooks.plan(call.tool_name)
        # A hook that removes secrets must have ended before anything is released.
        ran.is_withheld = bool(plan.post)
        try:
            await self._run_tool(call, ran)
            failed = not ran.result.success
            if plan.post or (failed and plan.error):
                await self._after(call, ran, failed=failed)
            end = await self.outcomes.ran(call, ran)
        finally:
            ran.let_go()
        if is_shared:
            self._cache.put(context.session_id, context.scope, call.key, end.outcome, epoch)
        return end

    async def _run_tool(self, call: CallState, ran: ToolExecution) -> None:
        """Run the tool; nothing that was read before or during a write stays cached."""
        assert call.tool is not None
        if not call.tool.has_side_effects:
            await self._runner.run(call, ran)
            return
        scope = call.context.scope
        self._cache.written(scope)
        try:
            await self._runner.run(call, ran)
        finally:
            self._cache.written(scope)

    async def _after(self, call: CallState, ran: ToolExecution, *, failed: bool) -> None:
        """Error hooks when the call failed, and post hooks."""
        seen = after_call(call, ran.result)
        if failed:
            await self._hooks.notify(HookType.TOOL_ERROR, seen)
        replaced = await self._hooks.after(seen)
        ran.is_withheld = False
        if replaced is not None:
            ran.replace(replaced)

    def _may_share(self, call: CallState) -> bool:
        assert call.tool is not None
        return call.context.cacheable and self._cache.may_keep(call.tool)
