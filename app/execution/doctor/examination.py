"""All checks of an installation, in order of dependency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.loop_watch import Blockage
from app.core.settings import Settings
from app.execution.conditions import HealthCondition
from app.execution.doctor.access_checks import access_checks
from app.execution.doctor.check import Check
from app.execution.doctor.condition_checks import condition_checks
from app.execution.doctor.hook_checks import LoadedHooks, hook_checks, loop_checks
from app.execution.doctor.machine_checks import (
    address_checks,
    kernel_and_programs,
    model_check,
    runtime_and_storage,
)
from app.execution.doctor.named_checks import named_checks
from app.execution.doctor.sandbox_checks import sandbox_checks
from app.execution.doctor.settings_checks import settings_checks
from app.execution.doctor.tool_checks import tool_checks
from app.governance.identity.tokens import Token
from app.operations.protocols.sandbox import SandboxStatus
from app.resolver.reasons import DisabledReason


@dataclass(frozen=True, slots=True)
class Installation:
    """Installation to check, with sources of facts that the settings do not contain.

    Attributes:
        tokens: all issued tokens.
        gates: raises ConfigurationError if the plugin folder is unusable.
        sandbox: status of the sandbox on this machine.
        disabled: tools disabled for everyone; raises if they cannot be determined.
        conditions: problems of the running service.
        is_running: this process is the service.
        blockages: recent blockages of its event loop.
    """

    settings: Settings
    tokens: Callable[[], list[Token]]
    loaded_hooks: Callable[[], LoadedHooks]
    sandbox: Callable[[], SandboxStatus]
    disabled: Callable[[], Mapping[str, DisabledReason]]
    conditions: Callable[[], Sequence[HealthCondition]] = tuple
    is_running: bool = False
    blockages: tuple[Blockage, ...] = ()


def findings(installation: Installation) -> Iterator[Check]:
    """Yield every check; blocks on files, sockets and programs."""
    settings = installation.settings
    yield from settings_checks(settings)
    yield from runtime_and_storage(settings)
    if installation.is_running:
        yield from condition_checks(installation.conditions())
    else:
        yield from address_checks(settings)
    yield model_check(settings)
    yield from named_checks(settings)
    yield from access_checks(settings, installation.tokens())
    yield from hook_checks(settings, installation.loaded_hooks)
    yield from loop_checks(installation.blockages)
    yield from sandbox_checks(installation.sandbox())
    yield from kernel_and_programs()
    yield from tool_checks(settings, installation.disabled)
