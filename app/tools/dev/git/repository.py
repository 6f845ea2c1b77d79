"""Git, run so that a repository cannot make it start other programs.

A repository's own configuration can name programs: filters, pagers, hooks, signature checkers, file
system monitors. Each is disabled here, because reading must not run planted programs; anything
missed still runs inside the sandbox.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.tools.dev.program_run import Program, ProgramOutput, run

_GIT = (
    *("git", "--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "gpg.program=/bin/false"),
    *("-c", "protocol.allow=never"),
    *("-c", "color.ui=false"),
    # The sandbox may run as another user than the owner of the files.
    *("-c", "safe.directory=*"),
)
_FILTER_KEYS = r"^filter\..*\.(clean|smudge|process|required)$"
_OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}
_MAX_CONFIG = 1 << 20
_MAX_FILTERS = 500


@dataclass(frozen=True, slots=True)
class Repository:
    """Repository in the workspace; `folder` is git's working directory."""

    operations: Operations
    folder: str
    overrides: tuple[str, ...]

    async def git(self, *arguments: str, max_bytes: int, wall_s: float = 60) -> ProgramOutput:
        """Run a subcommand.

        Raises:
            ToolFailed: `not_a_repository`, `git_failed` with git's message, or see `run`.
        """
        done = await _git(
            self.operations, self.folder, self.overrides, arguments, max_bytes, wall_s
        )
        if done.exit.code != 0 and not done.truncated:
            raise _failed(done, self.folder)
        return done


async def open_repository(operations: Operations, folder: str) -> Repository:
    """Return the repository that contains `folder`, with its filters disabled.

    Its existence is checked only by its first command.

    Raises:
        ToolFailed: `program_not_found`, `git_failed`.
    """
    names = await _git(
        operations,
        folder,
        (),
        ("config", "-z", "--name-only", "--get-regexp", _FILTER_KEYS),
        _MAX_CONFIG,
    )
    if names.exit.code not in (0, 1) or names.truncated:
        raise _failed(names, folder)
    return Repository(operations, folder, _overrides(names.text))


def _overrides(names: str) -> tuple[str, ...]:
    keys = sorted({name for name in names.split("\0") if name})
    # With `-c`, a name with "=" would set another key.
    if len(keys) > _MAX_FILTERS or any("=" in key or "\n" in key for key in keys):
        raise ToolFailed(
            "The repository's configuration contains filters that cannot be disabled; "
            "remove its [filter] sections",
            code="git_failed",
        )
    pairs = (("-c", f"{key}={_OFF[key.rpartition('.')[2].lower()]}") for key in keys)
    return tuple(word for pair in pairs for word in pair)


async def _git(
    operations: Operations,
    folder: str,
    overrides: tuple[str, ...],
    arguments: tuple[str, ...],
    max_bytes: int,
    wall_s: float = 60,
) -> ProgramOutput:
    environment = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_PAGER": "cat",
        # Repositories above the workspace are out of bounds.
        "GIT_CEILING_DIRECTORIES": posixpath.dirname(operations.root) or "/",
    }
    argv = (*_GIT, *overrides, *arguments)
    program = Program(argv, folder, environment, max_bytes=max_bytes, wall_s=wall_s)
    return await run(operations.processes, program)


def _failed(done: ProgramOutput, folder: str) -> ToolFailed:
    said = " ".join(done.stderr.split())[:1000].removeprefix("fatal: ")
    if "not a git repository" in said:
        return ToolFailed(
            f"{folder!r} is not in a git repository; set repo to the repository's folder",
            code="not_a_repository",
            path=folder,
        )
    return ToolFailed(
        f"git failed: {said or f'exit status {done.exit.code}'}",
        code="git_failed",
        exit_code=done.exit.code,
    )
