"""The project's pages, as the tests here read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.source import ROOT

_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(
    r"<!-- (file|lines of): (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")


@cache
def read(path: str) -> str:
    """A file of the project."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def markdown() -> tuple[Path, ...]:
    """Every page."""
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as renderers make them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links."""
    yield from _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))


def quoted() -> Iterator[tuple[Path, str, str, str]]:
    """Page, kind (`file` or `lines of`), quoted file and text of each quotation."""
    for page in markdown():
        for kind, name, text in _QUOTED.findall(page.read_text(encoding="utf-8")):
            yield page, kind, name, text


def section(path: str, title: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    found = re.search(
        rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", read(path), re.MULTILINE | re.DOTALL
    )
    assert found, f"{path} has no section {title!r}"
    return found[1]


def first_cells(text: str) -> list[str]:
    """The code in the first cell of each row of the tables in a text."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
