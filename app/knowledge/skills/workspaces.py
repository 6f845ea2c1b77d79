"""Private workspace for each run of a skill: a copy of the skill, its inputs, a working folder.

The program sees neither the skill's real folder nor the project's workspace, only copies of its
input files. It has no network, and nothing of the service's environment. The workspace is deleted
after the run.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path, PurePosixPath

from app.domain.skills import INPUT_FOLDER, SKILL_FOLDER, WORK_FOLDER, Skill, SkillWorkspace
from app.operations.local.failures import failure
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace

_READ, _RUN, _LOOK = 0o444, 0o555, 0o555


class SkillWorkspaces:
    """`SkillRuns` in one sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def open(
        self, skill: Skill, inputs: Mapping[str, bytes]
    ) -> AbstractAsyncContextManager[SkillWorkspace]:
        return self._open(skill, inputs)

    @asynccontextmanager
    async def _open(
        self, skill: Skill, inputs: Mapping[str, bytes]
    ) -> AsyncIterator[SkillWorkspace]:
        async with self._sandbox.folder() as folder:
            uid = self._sandbox.config.uid
            await to_end(run_in(PROCESSES, _furnish, Path(folder), skill, inputs, uid))
            async with SandboxedWorkspace(Path(folder), sandbox=self._sandbox) as workspace:
                yield SkillWorkspace(workspace.operations, workspace.operations.root)


def _furnish(folder: Path, skill: Skill, inputs: Mapping[str, bytes], uid: int | None) -> None:
    """Write the copies; blocks.

    Raises:
        StorageUnavailable, ToolFailed: they cannot be written.
    """
    try:
        for name in (SKILL_FOLDER, INPUT_FOLDER, WORK_FOLDER):
            (folder / name).mkdir(mode=0o700)
        for path, file in skill.files.items():
            mode = _RUN if file.is_executable else _READ
            _write(folder / SKILL_FOLDER / PurePosixPath(path), file.data, mode)
        for name, data in inputs.items():
            _write(folder / INPUT_FOLDER / name, data, _READ)
        for name in (SKILL_FOLDER, INPUT_FOLDER):
            _close(folder / name)
        if uid is not None:
            os.chown(folder / WORK_FOLDER, uid, uid)
    except OSError as error:
        raise failure(error, "private temporary folder") from None


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def _close(folder: Path) -> None:
    """Make folders read-only, so that changes by the program are deliberate."""
    for path, _, _ in os.walk(folder):
        Path(path).chmod(_LOOK)
