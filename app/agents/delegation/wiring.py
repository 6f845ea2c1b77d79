"""Wiring of delegation: registered for its tools, stopped with the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from app.agents.delegation.model import Standing
from app.agents.delegation.ports import Workers
from app.agents.delegation.service import DelegationService
from app.agents.models.protocol import ModelClient
from app.agents.recovery import FoundRun
from app.agents.restart_policy import RestartPolicy
from app.agents.runs import RunService, is_revoked
from app.agents.sessions import Sessions
from app.config.settings import Settings
from app.domain.delegation import DELEGATION
from app.execution.runtime import Runtime
from app.governance.identity.tokens import Tokens
from app.governance.limits import NOBODY


@asynccontextmanager
async def delegating(
    runtime: Runtime,
    sessions: Sessions,
    runs: RunService,
    model: ModelClient,
    settings: Settings,
    workers: Workers,
    *,
    restart_policy: RestartPolicy,
    tokens: Tokens,
    left: Iterable[FoundRun],
) -> AsyncIterator[DelegationService]:
    """Provide sub-agents for the runs of a service. Call `closing` before its runs are stopped.

    Args:
        left: runs of sub-agents left by a previous process that may continue.
    """

    def standing_of(session_id: str, run_id: str | None) -> Standing:
        run = runs.active(session_id)
        if run is None or run.id != run_id:
            return Standing(NOBODY, attended=False, outlives=False)
        return Standing(run.quota_subject, run.attended, outlives=restart_policy.leaves(run))

    delegation = DelegationService(
        *(runtime, sessions, model, settings),
        workers=workers,
        standing_of=standing_of,
        restart_policy=restart_policy,
    )
    runs.on_cancel = delegation.run_cancelled
    runtime.services.register(DELEGATION, delegation)
    runtime.resolver.forget()
    try:
        await delegation.recover(left, partial(is_revoked, tokens=tokens))
        yield delegation
    finally:
        await delegation.close()
