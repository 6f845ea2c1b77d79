"""Checks of `tollgate doctor` in the running service."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import StorageUnavailable
from app.core.escaping import visible
from app.execution.doctor.check import Check, State
from app.execution.doctor.examination import Installation
from app.execution.doctor.hook_checks import LoadedHooks
from app.governance.identity.tokens import Token

router = routes_of("admin", below="/admin")

_CHECK: dict[str, Any] = {
    "code": "model_key",
    "found_code": "not_set",
    "values": {"setting": "ANTHROPIC_API_KEY"},
    "name": "model key",
    "state": "warning",
    "found": "not set",
    "meaning": "needed to chat with a model; tools work without it",
    "fix": "set ANTHROPIC_API_KEY",
}


class Finding(BaseModel):
    """Result of one check, with its purpose and its fix.

    The sentences are in English; clients translate them from the codes and values.
    """

    model_config = example(**_CHECK)

    code: str = Field(description="Part that was checked.")
    found_code: str = Field(description="Result of the check.")
    values: dict[str, str] = Field(description="Values named in the sentences of both codes.")
    name: str
    state: State = Field(description="`broken`: the service cannot work in its current state.")
    found: str
    meaning: str
    fix: str = Field(description="How to fix or improve it; may be empty.")


class Examination(BaseModel):
    """All findings, in the order of their dependencies."""

    model_config = example(
        ok=True,
        is_complete=True,
        counts={"ok": 0, "info": 0, "warning": 1, "broken": 0},
        checks=[_CHECK],
    )

    ok: bool = Field(description="Whether all required parts that were checked work.")
    is_complete: bool = Field(
        description="False if a check took too long: it and all later checks are missing."
    )
    counts: dict[State, int]
    checks: list[Finding]


@router.get("/doctor", summary="Check the installation", responses=problems())
async def examine_installation(service: ServiceDep, principal: Admin) -> Examination:
    """Scope `admin`. Runs the checks of `tollgate doctor`, except for the address, which is in use.

    It takes at most ten seconds; concurrent requests share one examination.
    """
    checks, is_complete = await service.doctor.examine(await _installation(service))
    counted = Counter(check.state for check in checks)
    states: tuple[State, ...] = ("ok", "info", "warning", "broken")
    return Examination(
        ok=not counted["broken"],
        is_complete=is_complete,
        counts={state: counted[state] for state in states},
        checks=[_shown(service, check) for check in checks],
    )


async def _installation(service: Service) -> Installation:
    """Return the state of the running service, so that the checks need not open it again."""
    tokens = await _tokens(service)
    loaded_hooks = LoadedHooks(service.registry.snapshot(), service.hooks)
    status = service.workspaces.status
    disabled = dict(service.resolver.resolve().disabled_reasons)
    return Installation(
        service.settings,
        tokens=lambda: tokens,
        loaded_hooks=lambda: loaded_hooks,
        sandbox=lambda: status,
        disabled=lambda: disabled,
        conditions=service.conditions.current,
        is_running=True,
        blockages=tuple(service.loop_watch.blockages) if service.loop_watch else (),
        channel_troubles=service.channel_troubles,
    )


async def _tokens(service: Service) -> list[Token]:
    try:
        return await service.tokens.list_all()
    except StorageUnavailable:
        return []  # the check of the database reports it


def _shown(service: Service, check: Check) -> Finding:
    hide = service.redactor.text
    return Finding(
        code=check.code,
        found_code=check.found_code,
        values={name: visible(hide(value)) for name, value in check.values.items()},
        name=visible(hide(check.name)),
        state=check.state,
        found=visible(hide(check.found)),
        meaning=visible(hide(check.meaning)),
        fix=visible(hide(check.fix)),
    )
