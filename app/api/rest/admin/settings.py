"""Effective settings with their origin, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson
from pydantic import BaseModel, Field, SecretStr

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.config.origins import Origin, SettingPath, env_name, setting_fields
from app.config.settings import Settings
from app.core.redaction import MASK, Redactor
from app.core.text import json_default
from app.governance.agents import OF_PROFILE, decided_by

router = routes_of("admin", below="/admin")

EffectiveOrigin = Literal[Origin, "database"]
# The values of these settings can be secret, so only their number is shown.
_COUNTED = frozenset({("hooks",), ("redact_patterns",)})
# Credentials or query of a URL.
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s\"]+(?=@)|(?<=\?)[^\s\"]+")
_ROW: dict[str, Any] = {
    "name": "sandbox.weaker",
    "environment_name": "TOLLGATE_SANDBOX__WEAKER",
    "value": "ask",
    "default": "refuse",
    "origin": "environment",
    "help": "Behaviour if the kernel lacks a layer that a level requires: `refuse` disables "
    "its tools, `ask` requires approval of each call.",
    "is_secret": False,
    "needs_restart": True,
}


class EffectiveSetting(BaseModel):
    """A setting with its effective value, its default and its origin."""

    model_config = example(**_ROW)

    name: str = Field(description="Name as in `config.yml`, with sections joined by dots.")
    environment_name: str = Field(description="Environment variable.")
    value: str | None = Field(
        description="Value as text: lists and objects as JSON, null if unset. For a secret, `set` "
        "or `not set`."
    )
    default: str | None = Field(description="In the same form as `value`.")
    origin: EffectiveOrigin = Field(
        description="`database` if the profile of the agent `default` sets it; otherwise where it "
        "was read at startup: `argument` (command line), `environment`, `env_file` "
        "(`.env`), `config_file` (`config.yml`) or `default`."
    )
    help: str
    is_secret: bool
    needs_restart: bool = Field(
        description="Whether a change takes effect only after a restart. False if the profile of "
        "the agent `default` can set it, from the next turn on."
    )


class EffectiveSettings(BaseModel):
    """All settings, in the order of the documentation."""

    model_config = example(settings=[_ROW])

    settings: list[EffectiveSetting]


@router.get("/settings", summary="List effective settings and their origin", responses=problems())
async def list_settings(service: ServiceDep, principal: Admin) -> EffectiveSettings:
    """Scope `admin`. Settings of this process and of sessions without an agent.

    Tools, rules and other agents, which can change at runtime, are not included.
    """
    decided = decided_by(service.agents.get(None))
    rows = _rows(service.settings, decided, service.redactor)
    return EffectiveSettings(settings=list(rows))


def _rows(
    settings: Settings, decided: Mapping[SettingPath, Any], redactor: Redactor
) -> Iterator[EffectiveSetting]:
    for path, field in setting_fields(Settings):
        value: Any = settings
        for name in path:
            value = getattr(value, name)
        value = decided.get(path, value)
        default = field.get_default(call_default_factory=True)
        is_secret = "SecretStr" in str(field.annotation)
        shown: list[str | None]
        if is_secret:
            shown = ["set" if _is_set(one) else "not set" for one in (value, default)]
        elif path in _COUNTED:
            shown = [f"{len(one)} given" for one in (value, default)]
        else:
            shown = [_text(one, redactor) for one in (value, default)]
        yield EffectiveSetting(
            name=".".join(path),
            environment_name=env_name(path),
            value=shown[0],
            default=shown[1],
            origin="database" if path in decided else settings.origin(path),
            help=field.description or "",
            is_secret=is_secret,
            # All other settings are only read when the service starts.
            needs_restart=path not in OF_PROFILE,
        )


def _is_set(value: SecretStr | None) -> bool:
    return value is not None and bool(value.get_secret_value())


def _text(value: Any, redactor: Redactor) -> str | None:
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else orjson.dumps(value, default=_plain).decode()
    if not isinstance(value, str) and text.startswith('"'):
        text = str(orjson.loads(text))
    if "://" in text:
        text = _IN_ADDRESS.sub(MASK, text)
    return redactor.text(text)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, SecretStr):
        return "set" if _is_set(value) else "not set"
    return json_default(value)
