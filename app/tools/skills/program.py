"""Process of a skill: command, environment and limits."""

from __future__ import annotations

import sys
from typing import Any

from app.core.text import dump_json
from app.operations.protocols.processes import ProcessLimits, ProcessSpec
from app.tools.skills.ports import SKILL_FOLDER, WORK_FOLDER, ComputeEntry, Skill, SkillWorkspace

_PYTHON = ("python", "python3")
_OUTPUT_BYTES = 16 << 20
_MEMORY_BYTES = 1 << 30
_DISK_BYTES = 512 << 20
_BACKSTOP_S = 60


def specification(
    skill: Skill, entry: ComputeEntry, room: SkillWorkspace, args: dict[str, Any], seconds: float
) -> ProcessSpec:
    """Return the process specification of the skill's program, with arguments as JSON on standard
    input.

    Words of the command that name a file of the skill refer to the copy in the workspace. `python`
    is the interpreter of the service, so that it is always available.
    """
    skill_folder = f"{room.root}/{SKILL_FOLDER}"
    words = [
        f"{skill_folder}/{word.removeprefix('./')}"
        if word.removeprefix("./") in skill.files
        else word
        for word in entry.command
    ]
    if words[0] in _PYTHON:
        words[0] = sys.executable
    return ProcessSpec(
        argv=tuple(words),
        cwd=WORK_FOLDER,
        env={
            "SKILL_DIR": skill_folder,
            "SKILL_WORK_DIR": f"{room.root}/{WORK_FOLDER}",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
        },
        stdin=dump_json(args),
        limits=ProcessLimits(
            wall_s=seconds,
            cpu_s=int(seconds) + _BACKSTOP_S,
            disk_bytes=_DISK_BYTES,
            memory_bytes=_MEMORY_BYTES,
            output_bytes=_OUTPUT_BYTES,
        ),
        network=False,
    )
