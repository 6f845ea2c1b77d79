"""The project's own files, for the architecture tests."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("app", "tests", "scripts", "benchmarks", "alembic")


@cache
def project_files() -> tuple[Path, ...]:
    """Return the files that a commit of this tree would contain."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout.split("\0")
    files = (ROOT / name for name in sorted(set(listed)) if name)
    return tuple(path for path in files if path.is_file())


def sources(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield (path relative to the project, text) of each module in the folders."""
    for path in project_files():
        inside = path.relative_to(ROOT)
        if path.suffix == ".py" and inside.parts[0] in (folders or CODE_FOLDERS):
            yield inside.as_posix(), path.read_text(encoding="utf-8")


def modules(*folders: str, holding: str = "") -> Iterator[tuple[str, str, ast.Module]]:
    """Yield (path relative to the project, text, syntax tree) of each module in the folders.

    Args:
        holding: a pattern that the text must contain; parsing all of them takes seconds.
    """
    wanted = re.compile(holding)
    for path, text in sources(*folders):
        if wanted.search(text):
            yield path, text, ast.parse(text, filename=path)


def texts() -> Iterator[tuple[str, str]]:
    """Yield (path relative to the project, text) of each text file."""
    for path in project_files():
        try:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
