"""The blocks of the pages, and what the tests do with each: run it, check it, or say why not.

    .venv/bin/python -m tests.docs.blocks       a table with the blocks of each page

A comment above a block says what its language does not:

    <!-- not run: WHY -->       a reader cannot run it as it stands either
    <!-- run by: TEST -->       that test runs it, with what a page of its own cannot have
    <!-- until stopped -->      it runs until it is interrupted
    <!-- typed: TEXT -->        what the reader types into it
    <!-- as: KIND -->           what JSON or YAML is checked against; `test_blocks.py` has the kinds
    <!-- saved: FILE -->        the reader saves it in the folder; later blocks of the page need it
    <!-- file: FILE -->         it is that file of the project
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tests.docs.pages import markdown
from tests.support.source import ROOT

RUN = frozenset({"sh", "console", "http", "python"})
CHECKED = frozenset({"json", "yaml", "markdown", "dockerfile"})
DRAWN = "text"  # pictures and tables of characters; nothing that anybody could run
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<note>[^\n]+?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        page: its file, from the top of the project.
        line: of its fence.
        note, value: the comment above it, before and after its colon.
    """

    page: str
    line: int
    language: str
    text: str
    note: str = ""
    value: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def fate(self) -> str:
        """`run`, `checked`, `excused` or `drawn`; "" where nothing is done with it."""
        if self.note == "not run":
            return "excused" if len(self.value) > 10 else ""
        if self.note == "run by":
            return "run" if (ROOT / self.value).is_file() else ""
        if self.language in RUN:
            return "run"
        if self.language in CHECKED:
            return "checked"
        return "drawn" if self.language == DRAWN else ""


def blocks_of(page: str, text: str) -> list[Block]:
    """Every fenced block of a page."""
    found = []
    for match in _BLOCK.finditer(text):
        note, _, value = (match["note"] or "").partition(": ")
        inner = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("indent")) + 1
        found.append(Block(page, line, match["language"], inner, note, value))
    return found


def all_blocks() -> list[Block]:
    """Those of all pages but the list of changes."""
    return [
        block
        for page in markdown()
        if page.name != "CHANGELOG.md"
        for block in blocks_of(page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8"))
    ]


def main() -> None:
    """Print how many blocks of each page are run, checked, excused and drawn."""
    kinds = ("run", "checked", "excused", "drawn")
    counted: dict[str, Counter[str]] = {}
    blocks = all_blocks()
    for block in blocks:
        counted.setdefault(block.page, Counter())[block.fate] += 1
    counted["all"] = Counter(block.fate for block in blocks)
    print(f"{'page':<36}" + "".join(f"{kind:>9}" for kind in kinds))
    for page, fates in counted.items():
        print(f"{page:<36}" + "".join(f"{fates[kind] or '':>9}" for kind in kinds))
    print("\nNot run:")
    for block in blocks:
        if block.fate == "excused":
            print(f"  {block.place}: {block.value}")


if __name__ == "__main__":
    main()
