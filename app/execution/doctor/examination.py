"""All checks of an installation, in order of dependency."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread

from app.channels.notifications.sender import ChannelTrouble
from app.config.memory import MemorySettings
from app.config.setting_names import WORDS, WrongName, wrong_names
from app.config.settings import Settings
from app.core.clock import SystemClock, isoformat
from app.core.error_boundary import try_call
from app.core.errors import ConfigurationError
from app.core.escaping import visible
from app.core.loop_watch import Blockage
from app.execution.conditions import HealthCondition
from app.execution.doctor.check import Check, State
from app.execution.doctor.hook_checks import LoadedHooks, hook_checks, loop_checks
from app.execution.doctor.machine_checks import (
    address_checks,
    kernel_and_programs,
    model_check,
    runtime_and_storage,
)
from app.execution.doctor.notification_checks import notification_checks
from app.execution.doctor.sandbox_checks import sandbox_checks
from app.execution.doctor.tool_checks import tool_checks
from app.governance.identity.token_rules import BOOTSTRAP_USER
from app.governance.identity.tokens import Token
from app.operations.embeddings.embedder import EmbedderFailed, TextRefused
from app.operations.embeddings.openai_compatible import embedder_of
from app.operations.protocols.sandbox import SandboxStatus
from app.resolver.reasons import DisabledReason

PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Installation:
    """Installation to check, with sources of facts that the settings do not contain.

    Attributes:
        tokens: all issued tokens.
        loaded_hooks: raises ConfigurationError if the plugin folder is unusable.
        sandbox: status of the sandbox on this machine.
        disabled: tools disabled for everyone; raises if they cannot be determined.
        conditions: problems of the running service.
        is_running: this process is the service.
        blockages: recent blockages of its event loop.
        channel_troubles: channels of notifications that do not deliver.
    """

    settings: Settings
    tokens: Callable[[], list[Token]]
    loaded_hooks: Callable[[], LoadedHooks]
    sandbox: Callable[[], SandboxStatus]
    disabled: Callable[[], Mapping[str, DisabledReason]]
    conditions: Callable[[], Sequence[HealthCondition]] = tuple
    is_running: bool = False
    blockages: tuple[Blockage, ...] = ()
    channel_troubles: tuple[ChannelTrouble, ...] = ()


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
    yield from notification_checks(installation.channel_troubles)
    yield from sandbox_checks(installation.sandbox())
    yield from kernel_and_programs()
    yield from tool_checks(settings, installation.disabled)


def settings_checks(settings: Settings) -> Iterator[Check]:
    """Check for unknown setting names, and the rules file."""
    for wrong in wrong_names(Settings, settings.data_dir):
        yield _wrong_name(wrong)
    if settings.rules_file is not None:
        yield _rule_file_check(settings)


def _wrong_name(wrong: WrongName) -> Check:
    name, source = visible(wrong.name), WORDS[wrong.source]
    if wrong.meant is not None:
        values = {"name": name, "source": source, "meant": wrong.meant}
        return Check("setting.misspelt", "broken", "setting.unknown", **values)
    code = "setting.unknown" if wrong.is_misspelt else "setting.foreign"
    state: State = "broken" if wrong.is_misspelt else "warning"
    return Check(code, state, "setting.unknown", name=name, source=source)


def _rule_file_check(settings: Settings) -> Check:
    from app.governance.rule_file import read_rule_file

    path = settings.rules_file
    assert path is not None
    try:
        read_rule_file(path)
    except ConfigurationError as error:
        return Check("rules_file", "broken", "error", error=visible(error.message))
    return Check("rules_file", "ok", "path", path=path.absolute())


def condition_checks(conditions: Sequence[HealthCondition]) -> Iterator[Check]:
    """Check for present problems of the service."""
    if not conditions:
        yield Check("condition", "ok", "condition.none")
    for condition in conditions:
        state: State = "warning" if condition.refuses == "nothing" else "broken"
        yield Check(
            f"condition.{condition.code}",
            state,
            f"condition.{condition.code}",
            **condition.values,
        )


def named_checks(settings: Settings) -> Iterator[Check]:
    """Check the configured memory database, embedding model and escalation model."""
    address = settings.memory.postgres
    if address is not None:
        yield _memory_check(address.get_secret_value())
    if settings.memory.embeddings_url is not None:
        yield _embeddings_check(settings.memory)
    model = settings.escalation.stronger_model
    if model is not None and not settings.has_key_for(model):
        yield Check("stronger_model", "warning", "stronger_model.keyless", model=model)


def _memory_check(address: str) -> Check:
    from app.knowledge.memory.postgres import why_unusable

    why = why_unusable(address)
    if why is None:
        return Check("memory", "ok", "memory.answers")
    return Check("memory", "warning", "memory.unusable", error=why)


def _embeddings_check(memory: MemorySettings) -> Check:
    """Request an embedding vector. Blocks."""
    embedder = embedder_of(memory)
    assert embedder is not None
    try:
        (vector,) = asyncio.run(embedder.embed(["hello"]))
    except (EmbedderFailed, TextRefused) as error:
        return Check(
            "embeddings", "warning", "embeddings.unusable", model=embedder.model, error=error
        )
    found = {"model": embedder.model, "numbers": len(vector)}
    return Check("embeddings", "ok", "embeddings.answers", **found)


def access_checks(settings: Settings, tokens: list[Token]) -> Iterator[Check]:
    """Check tokens, anonymous access and TLS."""
    yield _token_check(settings, tokens)
    if settings.allow_anonymous:
        yield _open_house_check(settings, tokens)
    if not settings.is_loopback:
        yield Check("tls", "warning", "tls.clear", host=settings.host)


def _token_check(settings: Settings, tokens: list[Token]) -> Check:
    now = isoformat(SystemClock().now())
    active = [token for token in tokens if token.state(now) == "holds"]
    if settings.token is None and not active:
        return _no_token_check(settings, tokens)
    names = "; ".join(f"{token.name} ({','.join(token.scopes)})" for token in active)
    found = "tokens.setting" if not active else "tokens.both" if settings.token else "tokens.stored"
    first = [token for token in active if token.name == BOOTSTRAP_USER]
    if first and len(active) > len(first):
        return Check("tokens.first", "info", found, tokens=names)
    return Check("tokens", "ok", found, tokens=names)


def _no_token_check(settings: Settings, tokens: list[Token]) -> Check:
    if any(token.revoked_at is None for token in tokens):
        return Check("tokens.none", "warning", "tokens.expired")
    if not settings.is_loopback:
        return Check("tokens.none", "broken", "tokens.none")
    return Check("tokens.none", "info", "none" if settings.allow_anonymous else "tokens.first")


def _open_house_check(settings: Settings, tokens: list[Token]) -> Check:
    issued = any(token.revoked_at is None for token in tokens)
    if settings.token is not None or issued or not settings.is_loopback:
        return Check("open_house.idle", "info", "open_house.idle")
    return Check("open_house", "warning", "open_house.open")


class Doctor:
    """Runs one examination at a time; concurrent requests share its result."""

    def __init__(self) -> None:
        self._done: asyncio.Future[None] | None = None
        self._found: list[Check] = []

    async def examine(
        self, installation: Installation, patience_s: float = PATIENCE_S
    ) -> tuple[list[Check], bool]:
        """Return the findings, and whether they are complete.

        A check that hangs, for instance on a network drive, keeps its thread; no second one is
        started until it ends, and the service stops without waiting for it.
        """
        if self._done is None or self._done.done():
            self._found = []
            self._done = asyncio.get_running_loop().create_future()
            collecting = (installation, self._found, self._done)
            Thread(target=_collect, args=collecting, name="doctor", daemon=True).start()
        ending, found = self._done, self._found
        done, _ = await asyncio.wait({ending}, timeout=patience_s)
        if done:
            ending.result()
        return list(found), bool(done)


def _collect(installation: Installation, found: list[Check], done: asyncio.Future[None]) -> None:
    def look() -> None:
        for check in findings(installation):
            found.append(check)  # noqa: PERF402 - the list is read while it grows

    _, error = try_call(look)
    with suppress(RuntimeError):  # the service has stopped
        done.get_loop().call_soon_threadsafe(_finish, done, error)


def _finish(done: asyncio.Future[None], error: BaseException | None) -> None:
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(None)
