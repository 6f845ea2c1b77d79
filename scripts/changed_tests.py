"""Run the tests of files changed since a commit.

    python -m scripts.changed_tests [COMMIT] [arguments of pytest...]

`make test-changed` compares with HEAD. Selects changed test modules, those that import a changed
module by name, and those of the corresponding folder under `tests/`.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str]) -> int:
    """Select and run; return the exit code of pytest, 0 if there is nothing to run."""
    named = bool(arguments) and not arguments[0].startswith("-")
    commit, rest = (arguments[0], arguments[1:]) if named else ("HEAD", arguments)
    chosen = chosen_tests(changed_paths(commit), imports_of_tests(ROOT))
    if not chosen:
        print(f"No test belongs to what was changed since {commit}.")
        return 0
    print("Running", *chosen, sep="\n  ", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *rest, *chosen], cwd=ROOT, check=False
    ).returncode


def changed_paths(commit: str) -> set[str]:
    """Return paths below the root that differ from a commit, including untracked ones."""
    git = shutil.which("git")
    if git is None:
        raise SystemExit("error: git is needed to tell what was changed")
    found: set[str] = set()
    for command in (
        ("diff", "--name-only", commit, "--"),
        ("ls-files", "--others", "--exclude-standard"),
    ):
        listed = subprocess.run(
            [git, *command], cwd=ROOT, capture_output=True, text=True, check=True
        )
        found.update(listed.stdout.splitlines())
    return found


def imports_of_tests(root: Path) -> dict[str, set[str]]:
    """Return for each module under `tests/`, by path, the dotted names that it imports."""
    found = {}
    for path in sorted((root / "tests").rglob("*.py")):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
        found[path.relative_to(root).as_posix()] = names
    return found


OF_TEXTS = {
    "docs/": "tests/docs/test_pages.py",
    "docs/contributing/": "tests/docs/test_contributing.py",
    "changelog.d/": "tests/docs/test_changelog.py",
}
"""Tests of texts, by their folder."""


def chosen_tests(changed: Iterable[str], imports: dict[str, set[str]]) -> list[str]:
    """Return the paths of the test modules for changed paths."""
    waiting, seen = set(changed), set[str]()
    chosen: set[str] = set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        if not path.endswith(".py"):
            chosen.update(test for folder, test in OF_TEXTS.items() if path.startswith(folder))
            continue
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        users = {name for name, used in imports.items() if module in used}
        if path in imports:
            users.add(path)
        mirrored = path.replace("app/", "tests/", 1).rpartition("/")[0]
        if path.startswith("app/") and mirrored != "tests":
            users |= {name for name in imports if name.rpartition("/")[0] == mirrored}
        for user in users:
            if user.rpartition("/")[2].startswith("test_"):
                chosen.add(user)
            elif user not in seen:  # a helper of tests: its users are meant
                waiting.add(user)
    if chosen:
        chosen.update(name for name in imports if name.startswith("tests/architecture/test_"))
    return sorted(chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
