"""The steps of a page that says how to change the repository, as a reader follows them.

A step is one sentence of a fixed form, with the block below it:

    Create `FILE`:                          the block is the file
    In `FILE`, below `LINE`, add:           the block comes below that line, or `above` it
    In `FILE`, replace `OLD` with `NEW`.    no block; in one place
    Run …:                                  the block is run by a shell
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CODE = r"(?:`` (?P<{0}2>.+?) ``|`(?P<{0}>[^`]+)`)"
_FILE = _CODE.format("file")
_SENTENCES = (
    rf"Create {_FILE}:",
    rf"In {_FILE}, (?P<where>below|above) {_CODE.format('line')}, add:",
    rf"In {_FILE}, replace {_CODE.format('old')} with {_CODE.format('new')}\.",
    r"(?P<run>Run\b[^\n]*):",
)
_BLOCK = re.compile(
    r"\n\n(?:<!-- [^\n]+ -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One thing to do.

    Attributes:
        file: what is changed; "" for a step that runs something.
        where: `below` or `above` `line`, or "" for a new file.
        old: what `text` replaces; "" where nothing is replaced.
    """

    text: str
    file: str = ""
    where: str = ""
    line: str = ""
    old: str = ""

    def change(self, root: Path) -> None:
        """Do it in a copy of the repository.

        Raises:
            AssertionError: the file is not as the page says.
        """
        path = root / self.file
        if not self.where and not self.old:
            assert not path.exists(), (
                f"{self.file} exists: if the code has the page's example now, take another"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8")
        if self.old:
            assert text.count(self.old) == 1, f"{self.file} has {self.old!r} not once"
            path.write_text(text.replace(self.old, self.text), encoding="utf-8")
            return
        lines = text.splitlines(keepends=True)
        found = [at for at, line in enumerate(lines) if line.strip() == self.line]
        assert len(found) == 1, f"{self.file} has the line {self.line!r} {len(found)} times"
        lines.insert(found[0] + (self.where == "below"), self.text)
        path.write_text("".join(lines), encoding="utf-8")


def steps_of(page: str) -> Iterator[Step]:
    """The steps of a page, in order.

    Raises:
        AssertionError: a step has no block.
    """
    sentence = re.compile(
        "^(?:" + "|".join(map(_named, enumerate(_SENTENCES))) + ")$", re.MULTILINE
    )
    for found in sentence.finditer(page):
        parts = {
            re.sub(r"_\d2?$", "", key): text for key, text in found.groupdict().items() if text
        }
        if "old" in parts:
            yield Step(parts["new"], parts["file"], old=parts["old"])
            continue
        block = _BLOCK.match(page, found.end())
        assert block, f"no block below {found[0]!r}"
        file = parts.get("file", "")
        yield Step(block["text"], file, parts.get("where", ""), parts.get("line", ""))


def _named(numbered: tuple[int, str]) -> str:
    """A sentence whose groups have names of their own."""
    number, sentence = numbered
    return re.sub(r"\(\?P<(\w+?)(2?)>", rf"(?P<\1_{number}\2>", sentence)


def listed_files(page: str) -> dict[str, str]:
    """The table of files of a page: what changes in each."""
    table = page.split("## Files\n")[1].split("\n## ", maxsplit=1)[0]
    return {file: change.strip() for file, change in _ROW.findall(table)}
