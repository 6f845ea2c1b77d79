"""Shared arguments of the shell tools, and their other names."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from app.core.field_problems import FieldError
from app.core.host_rules import HostRules, expand
from app.toolkit.tool import ToolArgs
from app.tools.arguments import PathText

# In UTF-8 at most 128,000 bytes: Linux accepts 131,071 per argument.
MAX_COMMAND = 32_000
MAX_TIMEOUT_S = 600
KILL_GRACE_S = 30
MAX_HOSTS = 20
ARGUMENT_ALIASES = {
    "cmd": "command",
    "workdir": "working_dir",
    "cwd": "working_dir",
    "run_in_background": "background",
    "tty": "pty",
}


def _host(text: str) -> str:
    try:
        expand(text)
    except ValueError as error:
        raise FieldError(str(error), code="invalid_value") from None
    return text.strip()


def _hosts(texts: list[str]) -> list[str]:
    try:
        HostRules.of(texts)
    except ValueError as error:
        raise FieldError(str(error), code="invalid_value") from None
    return texts


HostText = Annotated[str, Field(max_length=300), AfterValidator(_host)]


class ShellArgs(ToolArgs):
    """One command and its options."""

    command: str = Field(min_length=1, max_length=MAX_COMMAND, description="Command to run.")
    working_dir: PathText | None = Field(
        default=None, description="Working directory; default: the workspace's root."
    )
    timeout: int = Field(default=30, ge=1, le=MAX_TIMEOUT_S, description="Timeout in seconds.")
    on_timeout: Literal["kill", "background"] = Field(
        default="kill", description="Kill it, or let it continue in the background."
    )
    background: bool = Field(
        default=False,
        description="Return immediately; use `process` to read its output and stop it.",
    )
    pty: bool = Field(default=False, description="Run it in a terminal.")
    allow_hosts: Annotated[list[HostText], AfterValidator(_hosts)] = Field(
        default=[],
        max_length=MAX_HOSTS,
        description="Hosts to reach besides those of the project, such as `example.com`, "
        "`*.example.com` or `db.example.com:5432`; requires approval.",
    )

    @field_validator("command")
    @classmethod
    def _no_nul(cls, command: str) -> str:
        if "\x00" in command:
            raise FieldError("must not contain NUL characters", code="nul_character")
        return command

    @property
    def hosts(self) -> HostRules:
        """Return the hosts of the call."""
        return HostRules.of(self.allow_hosts)


def from_claude(arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert arguments of Claude's tools: a timeout above the maximum is in milliseconds."""
    adapted = {key: value for key, value in arguments.items() if key != "description"}
    timeout = adapted.get("timeout")
    if isinstance(timeout, int) and timeout > MAX_TIMEOUT_S:
        adapted["timeout"] = min(-(-timeout // 1000), MAX_TIMEOUT_S)
    return adapted
