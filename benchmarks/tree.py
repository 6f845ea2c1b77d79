"""Source tree for searches, identical every time."""

from __future__ import annotations

import random
from pathlib import Path

SEED = 20_261_121
FILES = 18_000
RARE = "Quixotic_Needle_42"
_SUFFIXES = (".py", ".py", ".ts", ".go", ".md", ".json")
_POOL_LINES = 24_000
_LINES = (40, 760)
_FOLDERS = 40


def make_tree(root: Path, files: int = FILES) -> int:
    """Write a tree with ignored and hidden parts; return the bytes of its visible files.

    Nine files of ten are visible. The name `RARE` occurs in one file of a hundred, the word
    `return` in nearly all.
    """
    chance = random.Random(SEED)
    pool = _lines(chance)
    visible = 0
    (root / ".gitignore").write_text("build/\n*.log\n", encoding="utf-8")
    for index in range(files):
        path = root / _folder(index) / f"module_{index}{_SUFFIXES[index % len(_SUFFIXES)]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        length = chance.randint(*_LINES)
        start = chance.randrange(_POOL_LINES - length)
        lines = pool[start : start + length]
        if index % 100 == 50:
            lines.insert(length // 2, f"    value = {RARE}(value)\n")
        text = "".join(lines)
        path.write_text(text, encoding="utf-8")
        if index % 10 != 3:
            visible += len(text)
    return visible


def _folder(index: int) -> str:
    top = f"pkg_{index % _FOLDERS}"
    if index % 10 == 3:
        return f"{top}/build" if index % 20 == 3 else f".cache/{top}"
    return f"{top}/part_{index // _FOLDERS % 12}/src"


def _lines(chance: random.Random) -> list[str]:
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=k)) for k in (3, 5, 7, 9) * 250]
    shapes = (
        "def {0}_{1}({2}: str) -> int:",
        "    {0} = {1}.{2}({3})",
        "    return {0}({1}, {2})",
        "    if {0} is None or {1}[{2!r}] != {3}:",
        "# {0} {1} {2} {3} {4} {5} {6} {7}",
        "",
    )
    return [
        chance.choice(shapes).format(*chance.choices(words, k=8)) + "\n" for _ in range(_POOL_LINES)
    ]
