"""Groups of settings, each a section of `config.yml`."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_settings import NoDecode

from app.core.allowed_hosts import NOT_WITH_PORTS, canonical_hosts, split_hosts
from app.core.host_rules import MAX_RULES
from app.core.matcher import compile_matcher
from app.core.protected_paths import check_pattern

# How the names of the service's own variables begin; what it starts never gets them.
OWN_VARIABLES = ("TOLLGATE_", "ANTHROPIC_", "OPENAI_")

RootPath = Annotated[
    str,
    Field(
        pattern=r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$",
        description="Path prefix at which a reverse proxy serves Tollgate, such as `/tollgate`.",
    ),
]
Strictness = Literal["lenient", "standard", "strict"]


class Section(BaseModel):
    """A group of settings: unknown keys are refused, so that a typo is seen."""

    model_config = ConfigDict(extra="forbid")


def split_words(value: Any) -> Any:
    """`a, b` → `["a", "b"]`, so that a list fits into one environment variable."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def check_networks(value: list[str]) -> list[str]:
    """Return the texts of networks.

    Raises:
        ValueError: a text is no network; the message names it.
    """
    for text in value:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is not a network such as 10.1.0.0/16: {error}") from None
    return value


class CodeExecutionSettings(Section):
    """Python execution levels, keys as in the seeds' `config.yml`."""

    default_strictness: Strictness = Field(
        default="standard", description="Default strictness level of a call."
    )
    extra_allowed_modules: dict[Strictness, list[str]] = Field(
        default_factory=dict, description="Additional modules that code may import, by level."
    )


class SandboxSettings(Section):
    """Sandbox of the programs that tools start; see `docs/sandbox.md`."""

    weaker: Literal["refuse", "ask"] = Field(
        default="refuse",
        description="Behaviour if the kernel lacks a layer that a level requires: `refuse` "
        "disables its tools, `ask` requires approval of each call.",
    )
    tcp_ports: Annotated[list[int], NoDecode] = Field(
        default_factory=list,
        description="TCP ports that commands of the default project may connect to, "
        "comma-separated; empty disables network access.",
    )
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        max_length=MAX_RULES,
        description="Hosts that commands of the default project may connect to by name, such as "
        "`github.com:22,443 *.example.com preset:python`, separated by spaces or commas; the port "
        "is 443 when omitted. Cannot be used with `tcp_ports`.",
    )
    allow_networks: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Private networks that allowed hosts may be in, such as `10.1.0.0/16`, "
        "comma-separated.",
    )
    readable: Annotated[list[Path], NoDecode] = Field(
        default_factory=list,
        description="Folders outside the workspace that commands may read and run programs from, "
        "comma-separated.",
    )
    unprotected_paths: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Patterns of files in the default project that other programs run later and "
        "that tools may write without approval, comma-separated.",
    )
    restrict_to_workspace: bool = Field(
        default=True,
        description="Restrict file tools of the default project to its folder. When off, they can "
        "access every file the service can, except the service's own files; commands "
        "stay restricted.",
    )
    uid: int | None = Field(
        default=None,
        ge=1,
        description="User ID that commands run as when the service runs as root; this user must "
        "own the workspace.",
    )
    warm_workers: int = Field(
        default=1,
        ge=0,
        le=16,
        description="Number of idle Python workers kept ready for each level.",
    )
    memory_mb: int = Field(
        default=2048,
        ge=64,
        description="Memory limit of a command and its child processes, in MiB.",
    )
    disk_mb: int = Field(
        default=1024, ge=1, description="Disk space that a command may write, in MiB."
    )
    cache_mb: int = Field(
        default=4096,
        ge=0,
        description="Maximum size of the persistent cache of each project's commands, in MiB; 0 "
        "disables it.",
    )
    processes: int = Field(
        default=64,
        ge=1,
        le=4096,
        description="Maximum number of concurrent processes of a command.",
    )
    command_timeout_s: int = Field(
        default=30, ge=1, le=600, description="Default timeout of a command in seconds."
    )
    command_timeout_max_s: int = Field(
        default=600,
        ge=1,
        le=600,
        description="Maximum `timeout` that a command may request, in seconds.",
    )
    git_name: str | None = Field(
        default=None,
        pattern=r"^[^<>\x00-\x1f\x7f]*[^<>\x00-\x20\x7f.,:;][^<>\x00-\x1f\x7f]*$",
        max_length=200,
        description="Author name of git commits made by commands; requires `git_email`.",
    )
    git_email: str | None = Field(
        default=None,
        pattern=r"^[^<>\s\x00-\x1f\x7f]+@[^<>\s\x00-\x1f\x7f]+$",
        max_length=200,
        description="Author email of git commits made by commands; requires `git_name`.",
    )

    @model_validator(mode="after")
    def _names_an_author(self) -> SandboxSettings:
        if (self.git_name is None) != (self.git_email is None):
            missing = "git_name" if self.git_name is None else "git_email"
            raise ValueError(f"a commit author also requires {missing}")
        return self

    @model_validator(mode="after")
    def _lists_hosts_or_ports(self) -> SandboxSettings:
        if self.allowed_hosts and self.tcp_ports:
            raise ValueError(NOT_WITH_PORTS)
        return self

    @property
    def git_author(self) -> tuple[str, str] | None:
        """Name and mail of commits; None where nobody is named."""
        if self.git_name is None or self.git_email is None:
            return None
        return self.git_name, self.git_email

    @field_validator("tcp_ports", mode="before")
    @classmethod
    def _split_ports(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [int(part) if part.isdecimal() else part for part in split_words(value)]
        return [value] if isinstance(value, int) else value

    @field_validator("tcp_ports")
    @classmethod
    def _are_ports(cls, value: list[int]) -> list[int]:
        if wrong := [port for port in value if not 1 <= port <= 65_535]:
            raise ValueError(f"invalid port {wrong[0]}: must be 1 to 65535")
        return value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: Any) -> Any:
        return split_hosts(value) if isinstance(value, str) else value

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, value: list[str]) -> list[str]:
        return list(canonical_hosts(value))

    @field_validator("allow_networks")
    @classmethod
    def _are_networks(cls, value: list[str]) -> list[str]:
        return check_networks(value)

    @field_validator("readable", "unprotected_paths", "allow_networks", mode="before")
    @classmethod
    def _split_words(cls, value: Any) -> Any:
        return split_words(value)

    @field_validator("unprotected_paths")
    @classmethod
    def _are_patterns(cls, value: list[str]) -> list[str]:
        for pattern in value:
            check_pattern(pattern)
        return value

    @field_validator("readable")
    @classmethod
    def _are_absolute(cls, value: list[Path]) -> list[Path]:
        if wrong := [path for path in value if not path.is_absolute()]:
            raise ValueError(f"{str(wrong[0])!r} is not an absolute path")
        return value


class SubAgentSettings(Section):
    """Limits of delegation; the first three keys as in the seeds' `config.yml`."""

    max_iterations: int = Field(
        default=3, ge=1, le=100, description="Model requests per sub-agent of `multi_agent`."
    )
    max_concurrency: int = Field(
        default=3, ge=1, le=32, description="Maximum number of concurrent sub-agents of one batch."
    )
    timeout: int = Field(
        default=60, ge=1, le=3600, description="Timeout of one model request in seconds."
    )
    delegate_iterations: int = Field(
        default=15, ge=1, le=1000, description="Model requests per sub-agent of other tools."
    )
    iterations_max: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="Maximum number of model requests that a task may request.",
    )
    max_tasks: int = Field(
        default=5, ge=1, le=50, description="Maximum number of tasks in one batch."
    )
    task_timeout_s: int = Field(
        default=600, ge=1, description="Default timeout of a task in seconds."
    )
    task_timeout_max_s: int = Field(
        default=3600, ge=1, description="Maximum timeout that a task may request, in seconds."
    )
    max_depth: int = Field(
        default=1,
        ge=1,
        le=5,
        description="Maximum nesting depth; with 1, sub-agents cannot start sub-agents.",
    )
    background_max: int = Field(
        default=10,
        ge=0,
        description="Maximum number of concurrent background sub-agents per session.",
    )
    duplicate_window_s: float = Field(
        default=30,
        ge=0,
        description="Seconds within which a session cannot start the same batch twice.",
    )
    processes: int = Field(
        default=8,
        ge=1,
        le=256,
        description="Maximum number of worker processes; further sub-agents wait.",
    )
    warm: int = Field(
        default=1,
        ge=0,
        le=16,
        description="Number of idle workers kept ready for the most recently used workspace.",
    )
    memory_mb: int = Field(default=1024, ge=128, description="Memory limit of one worker, in MiB.")


class EscalationSettings(Section):
    """To whom `escalate` brings things besides people; an agent's profile may name its own."""

    supervisor: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:\-]{0,127}$",
        description="Agent that decides when another agent escalates to `supervisor_agent`.",
    )
    stronger_model: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Model that continues a run escalated to `model_tier`; set its price in "
        "`model_prices` if cost is limited.",
    )
    stronger_requests: int = Field(
        default=5,
        ge=1,
        le=100,
        description="Requests the escalation model answers before the run's own model takes over "
        "again.",
    )
    per_run: int = Field(
        default=3,
        ge=1,
        le=100,
        description="Maximum number of escalations per run to each of the two targets.",
    )

    @field_validator("supervisor", "stronger_model", mode="before")
    @classmethod
    def _unset_when_empty(cls, value: Any) -> Any:
        return None if isinstance(value, str) and not value.strip() else value


class ProgressSettings(Section):
    """Limits of stored progress reports, in `operations` of the data folder."""

    log_mb: int = Field(
        default=16,
        ge=1,
        le=1024,
        description="Maximum size of one call's progress reports, in MiB.",
    )
    total_mb: int = Field(
        default=512, ge=1, description="Maximum size of all progress reports, in MiB."
    )
    log_files: int = Field(
        default=5000,
        ge=1,
        description="Maximum number of calls whose progress reports are kept; the oldest are "
        "deleted first.",
    )
    log_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days to keep progress reports; 0 keeps them forever.",
    )


class HookSettings(Section):
    """A program that is asked about tool calls; `docs/hooks.md` tells what it reads and says."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.\-]{1,64}$")
    event: Literal["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"]
    matcher: str = Field(default="*", max_length=1000)
    command: str | list[str] = Field(min_length=1)
    timeout_s: float = Field(default=10, gt=0, le=600)
    on_error: Literal["deny", "ask", "allow"] = "deny"
    order: int = Field(default=0, ge=-1_000_000, le=1_000_000)
    env: list[str] = Field(default_factory=list)

    @field_validator("matcher")
    @classmethod
    def _can_match(cls, value: str) -> str:
        compile_matcher(value)
        return value

    @field_validator("command")
    @classmethod
    def _can_start(cls, value: str | list[str]) -> str | list[str]:
        words = [value] if isinstance(value, str) else value
        if not words[0].strip() or any("\0" in word for word in words):
            raise ValueError("must name a program to start, without NUL characters")
        return value

    @field_validator("env")
    @classmethod
    def _keeps_secrets(cls, value: list[str]) -> list[str]:
        own = [name for name in value if name.upper().startswith(OWN_VARIABLES)]
        if own:
            raise ValueError(
                f"{', '.join(own)}: the service's own settings cannot be passed to a hook"
            )
        return value

    @model_validator(mode="after")
    def _asks_in_time(self) -> HookSettings:
        if self.on_error == "ask" and self.event != "pre_tool_use":
            raise ValueError(
                "`on_error: ask` is only valid for pre_tool_use, because later events "
                "cannot wait for approval"
            )
        return self


class LimitSettings(Section):
    """Limits of each user, unless the token, tool or agent sets lower ones."""

    calls_per_minute: int | None = Field(
        default=None,
        ge=0,
        description="Maximum calls per minute of one user; unlimited when unset.",
    )
    concurrent: int | None = Field(
        default=None, ge=0, description="Maximum concurrent calls of one user."
    )
    calls_per_run: int | None = Field(default=None, ge=0, description="Maximum calls of one run.")
    tokens_per_session: int | None = Field(
        default=None, ge=0, description="Maximum tokens of all model requests of one session."
    )
    cost_per_session: float | None = Field(
        default=None,
        ge=0,
        description="Maximum cost of one session in US dollars; requires `model_prices`.",
    )
    queue: int = Field(
        default=16,
        ge=0,
        description="Maximum number of calls waiting for a free slot; further calls are refused.",
    )
    queue_s: float = Field(
        default=30, ge=0, description="Seconds a call waits for a free slot before it is refused."
    )


class ModelPrice(Section):
    """Dollars per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cache_read: float = Field(default=0, ge=0, allow_inf_nan=False)
    cache_creation: float = Field(default=0, ge=0, allow_inf_nan=False)
