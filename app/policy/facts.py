"""What is known about one call when policy judges it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from app.policy.risk.model import FileRun, Given
from app.toolkit.tool import CONTROL_KEYS, Tool


def never(_: str) -> bool:
    """Of no path."""
    return False


def _unwritten(_: Sequence[FileRun]) -> tuple[Given, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call, by whom and where.

    Attributes:
        arguments: validated arguments model, or a dict for tools with a raw schema.
        raw: the arguments object as it came, synonyms renamed.
        cwd: the workspace's root, which relative paths start from.
        kept_cwd: where the session's shell was left, for a call that goes on there.
        asks: a flag demands a confirmation; `asks_by` says whose: the tool's own, the
            operator's, the agent's, or that of a sandbox which lacks something.
        why_asks: why these very arguments ask in any case, where the tool says so.
        secret_in: the argument of a tool that sends in which a secret stands; None for none.
        is_there: whether a file is at an absolute path.
        is_own: whether the session has created the file at an absolute path, and nobody else has
            changed it since.
        written: the content of those files among `runs` that a session wrote.
        is_released: whether the project lets calls write the file at an absolute path unasked,
            though another program runs it later.
    """

    tool: Tool
    arguments: Any
    raw: Mapping[str, Any]
    cwd: str = "/workspace"
    kept_cwd: str | None = None
    agent_id: str | None = None
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

    @property
    def values(self) -> Mapping[str, Any]:
        """The arguments with their defaults, as JSON values."""
        if isinstance(self.arguments, BaseModel):
            return self.arguments.model_dump()
        return self.arguments if isinstance(self.arguments, Mapping) else self.raw

    @property
    def command(self) -> str:
        """What a shell would be given."""
        text = str(self._value(self.tool.command_argument, "") or "")
        return text if self.tool.asks is None else text.strip(CONTROL_KEYS)

    @property
    def shell_cwd(self) -> str:
        """Where a shell would start."""
        given = self._value("working_dir", None)
        if not isinstance(given, str) or not given:
            return self.kept_cwd or self.cwd
        return posixpath.normpath(posixpath.join(self.cwd, given))

    def _value(self, name: str, default: Any) -> Any:
        if isinstance(self.arguments, Mapping):
            return self.arguments.get(name, default)
        return getattr(self.arguments, name, default)
