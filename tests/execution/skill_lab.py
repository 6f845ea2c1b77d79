"""Skills written for a test, and where they lie in a lab's house."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.domain.skills import SkillEntry, SkillViewer
from tests.execution.lab import Lab

PRELUDE = """
import json, sys, os
args = json.load(sys.stdin)
def say(event, **fields): print(json.dumps({"event": event, **fields}), flush=True)
"""
PROJECT = ".tollgate/skills"


def document(
    name: str, *, description: str = "Does it.", more: str = "", body: str = "Body"
) -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n"


def compute(name: str, *, schemas: dict[str, Any] | None = None, timeout: int = 20) -> str:
    """A SKILL.md whose program is `scripts/main.py`."""
    entry = {
        "type": "compute",
        "command": "python scripts/main.py",
        "timeout": timeout,
        **(schemas or {}),
    }
    return document(name, more=f"entry: {json.dumps(entry)}\n")


def put(folder: Path, name: str, files: dict[str, str]) -> Path:
    """Write a skill below a folder of skills."""
    for path, text in files.items():
        whole = folder / name / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text, encoding="utf-8")
    return folder / name


def user_folder(lab: Lab) -> Path:
    return lab.runtime.settings.data_dir / "skills"


def project_folder(lab: Lab, inner: str = PROJECT) -> Path:
    return Path(lab.context["project"].root) / inner


async def row_of(lab: Lab, skill_id: str, agent_id: str | None = None) -> SkillEntry:
    rows = await lab.runtime.skills.rows(SkillViewer(agent_id, "default"))
    return next(row for row in rows if row.id == skill_id)


async def enable(lab: Lab, skill_id: str) -> SkillEntry:
    viewer = SkillViewer(None, "default")
    return await lab.runtime.skills.switch(skill_id, viewer, enabled=True, digest=None, actor="ann")


async def running(lab: Lab, name: str, script: str, **options: Any) -> None:
    """A skill of the installation with that program, enabled."""
    files = {"SKILL.md": compute(name, **options), "scripts/main.py": PRELUDE + script}
    put(user_folder(lab), name, files)
    await enable(lab, f"user:{name}")
