"""Findings of `tollgate doctor` on this machine, without a service."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from app.cli.installation import open_tokens
from app.config.settings import Settings
from app.core.errors import StorageUnavailable
from app.db.schema import HEAD, current_revision
from app.execution.doctor.examination import Installation, findings
from app.execution.doctor.hook_checks import load_hooks
from app.governance.identity.tokens import Token
from app.operations.protocols.sandbox import SandboxStatus
from app.resolver.reasons import DisabledReason


def found_here(settings: Settings) -> list[dict[str, Any]]:
    """Return all findings in the form of the REST API."""
    return [check.to_dict() for check in findings(_installation(settings))]


def stored_tokens(settings: Settings) -> list[Token]:
    """Return the tokens of a database of this version, if any; a check changes nothing."""

    async def read() -> list[Token]:
        async with open_tokens(settings) as tokens:
            return await tokens.list_all()

    try:
        if current_revision(settings.database_path) != HEAD:
            return []
        return asyncio.run(read())
    except StorageUnavailable:
        return []


def disabled_tools(settings: Settings) -> dict[str, DisabledReason]:
    """Return each disabled tool; none without a database of this version.

    Raises:
        TollgateError: The installation cannot be opened.
    """

    async def read() -> dict[str, DisabledReason]:
        from app.bootstrap.installation import runtime_as_served

        async with runtime_as_served(settings) as runtime:
            return dict(runtime.resolver.resolve().disabled_reasons)

    return asyncio.run(read()) if current_revision(settings.database_path) == HEAD else {}


def _installation(settings: Settings) -> Installation:
    return Installation(
        settings,
        tokens=partial(stored_tokens, settings),
        loaded_hooks=partial(load_hooks, settings),
        sandbox=partial(_sandbox, settings),
        disabled=partial(disabled_tools, settings),
    )


def _sandbox(settings: Settings) -> SandboxStatus:
    from app.bootstrap.installation import sandbox_config
    from app.operations.sandbox.sandbox import Sandbox

    return Sandbox(sandbox_config(settings)).status
