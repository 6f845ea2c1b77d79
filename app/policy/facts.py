"""Facts about one call, the input of the policy."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from app.core.host_rules import HostRules
from app.policy.risk.model import FileRun, Given
from app.toolkit.tool import CONTROL_KEYS, Tool


def never(_: str) -> bool:
    """Return False for every path."""
    return False


def _unwritten(_: Sequence[FileRun]) -> tuple[Given, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts about one call.

    Attributes:
        arguments: validated arguments model, or a dict for tools with a raw schema.
        raw: original arguments object, with synonyms renamed.
        cwd: root of the workspace, the base of relative paths.
        project_id: project of the session, or None.
        kept_cwd: folder of the session's shell, for a call that continues there.
        asks: a flag requires approval; `asks_by` is its origin: the tool, the operator, the agent,
            or an incomplete sandbox.
        why_asks: the tool's reason why these arguments always need approval.
        secret_in: argument of a sending tool that contains a secret, or None.
        is_there: returns whether a file exists at an absolute path.
        is_own: returns whether the session created the file at an absolute path and it is unchanged
            since.
        written: contents of files among `runs` that a session wrote.
        project_hosts: hosts that the project allows.
        is_released: returns whether the project allows writing the file at an absolute path without
            approval, although another program runs it.
    """

    tool: Tool
    arguments: Any
    raw: Mapping[str, Any]
    cwd: str = "/workspace"
    kept_cwd: str | None = None
    agent_id: str | None = None
    project_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    user_id: str | None = None
    asks: bool = False
    asks_by: str | None = None
    why_asks: str | None = None
    secret_in: str | None = None
    is_there: Callable[[str], bool] = never
    is_own: Callable[[str], bool] = never
    written: Callable[[Sequence[FileRun]], tuple[Given, ...]] = _unwritten
    is_released: Callable[[str], bool] = never
    project_hosts: HostRules = HostRules()  # noqa: RUF009 - immutable

    @property
    def values(self) -> Mapping[str, Any]:
        """Return the arguments with their defaults, as JSON values."""
        if isinstance(self.arguments, BaseModel):
            return self.arguments.model_dump()
        return self.arguments if isinstance(self.arguments, Mapping) else self.raw

    @property
    def command(self) -> str:
        """Return the command for a shell."""
        text = str(self._value(self.tool.command_argument, "") or "")
        return text if self.tool.asks is None else text.strip(CONTROL_KEYS)

    @property
    def shell_cwd(self) -> str:
        """Return the working directory of a shell."""
        given = self._value("working_dir", None)
        if not isinstance(given, str) or not given:
            return self.kept_cwd or self.cwd
        return posixpath.normpath(posixpath.join(self.cwd, given))

    @property
    def new_hosts(self) -> tuple[str, ...]:
        """Return the hosts of a command that the project does not allow."""
        asked = self._value("allow_hosts", ()) if self.tool.shell is not None else ()
        return tuple(text for text in asked or () if not self._is_allowed(text))

    def _is_allowed(self, host: str) -> bool:
        try:
            return self.project_hosts.cover(HostRules.of([host]))
        except ValueError:  # arguments of a stored call, which were not validated again
            return False

    def _value(self, name: str, default: Any) -> Any:
        if isinstance(self.arguments, Mapping):
            return self.arguments.get(name, default)
        return getattr(self.arguments, name, default)
