"""Required distributions of this installation, and the installed versions."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*(?:>=\s*(?P<least>[0-9.]+))?[^;]*(?:;(?P<marker>.*))?"
)
_PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Distribution; `found` is None if it is missing."""

    name: str
    least: str
    found: str | None

    @property
    def is_met(self) -> bool:
        return self.found is not None and _numbers(self.found) >= _numbers(self.least)


def dependencies() -> list[Dependency]:
    """Return every distribution that the service needs at run time."""
    return list(_read(_declared()))


def _declared() -> list[str]:
    """Return the requirements of the installed distribution, or of the project file."""
    try:
        return list(requires("tollgate") or ())
    except PackageNotFoundError:
        pass
    try:
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return []
    return list(project.get("dependencies", ()))


def _read(lines: list[str]) -> Iterator[Dependency]:
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is None or not _applies(match["marker"] or ""):
            continue
        try:
            found: str | None = version(match["name"])
        except PackageNotFoundError:
            found = None
        yield Dependency(match["name"], match["least"] or "0", found)


def _applies(marker: str) -> bool:
    """Return whether a requirement applies: no extra, and for this system."""
    if "extra" in marker:
        return False
    return not ("sys_platform" in marker and "!=" in marker and sys.platform in marker)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+", maxsplit=1)[0])[:4])
