"""Settings of skills: their folders, and their size in the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from app.config.sections import Section

ProjectFolder = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$")]


class SkillSettings(Section):
    """Folders of instructions that agents read, and programs that they run."""

    folder: Path | None = Field(
        default=None,
        description="Folder of this installation's skills; `<data_dir>/skills` when unset.",
    )
    project_folders: list[ProjectFolder] = Field(
        default=[".agents/skills", ".claude/skills"],
        max_length=10,
        description="Additional skill folders of projects besides `.tollgate/skills`, in order of "
        "priority.",
    )
    prompt_chars: int = Field(
        default=6000,
        ge=0,
        le=100_000,
        description="Maximum characters of the skill list in a system prompt.",
    )
    max_timeout_s: int = Field(
        default=1800, ge=1, le=3600, description="Maximum run time of a skill's program in seconds."
    )
