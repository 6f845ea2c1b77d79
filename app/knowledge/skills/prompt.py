"""Description of skills in the prompt, before any is read."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.text import truncate
from app.tools.skills.ports import SkillEntry

MAX_DESCRIPTION = 300
_MAX_ALWAYS = 4000
_INTRODUCTION = (
    "Skills are instructions for certain tasks. Before a task that one of them is about, read"
    " it with read_skill; those marked (runs) are run with execute_skill."
)


def skills_prompt(seen: Sequence[tuple[SkillEntry, str]], limit: int) -> str:
    """Return the list of skills, up to `limit` characters, and those always included.

    Args:
        seen: visible skills with their bodies.
    """
    if not seen or not limit:
        return ""
    lines: list[str] = []
    room = limit
    for row, _ in seen:
        line = f"- {row.name}{' (runs)' if row.is_compute else ''}: {_line(row.description)}"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"- and {len(seen) - len(lines)} more: skill_manage, action list")
            break
        lines.append(line)
    parts = [_INTRODUCTION + "\n" + "\n".join(lines)]
    # Always included texts are in every prompt, so they must be trusted.
    for row, body in seen:
        if row.always and row.is_trusted and room > 0:
            text = truncate(body.strip(), min(_MAX_ALWAYS, room))
            room -= len(text)
            parts.append(f"The skill {row.name}:\n{text}")
    return "\n\n".join(parts)


def _line(description: str) -> str:
    words = "".join(letter if letter.isprintable() else " " for letter in description).split()
    return truncate(" ".join(words), MAX_DESCRIPTION)
