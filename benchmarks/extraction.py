"""Content extraction from web pages: accuracy and time.

The pages are documentation installed on this machine. Rules for their generators define the
content. `blind` are the same pages without the names (tags, classes, IDs, roles) that reveal it.

The floor is all text of the page; `benchmarks.peers` compares with trafilatura.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.scratch import ScratchSandbox
from app.tools.web import page_program
from app.tools.web.page_reader import read_html
from benchmarks.harness import Benchmark, Result, Scale, Skipped, run

_FOLDERS = ("/usr/share/doc", "/usr/local/share/doc", "~/.rustup/toolchains")
_PER_MAKER = 16
_MAX_BYTES = 400_000
_URL = "http://example.org/docs/page.html"
_WORD = re.compile(r"\w+")
_TELLING_TAG = re.compile(r"<(/?)(?:main|article|nav|header|footer|aside)\b", re.IGNORECASE)
_TELLING_NAME = re.compile(
    r"\s(?:class|id|role)\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Maker:
    """Generator of pages.

    Attributes:
        mark: text near the beginning of its pages, in lower case.
        content: selector of the content.
        around: selector of excluded parts inside it.
    """

    name: str
    mark: str
    content: str
    around: str


_MAKERS = (
    Maker("mdbook", "book generated using mdbook", "main", "nav"),
    Maker("rustdoc", 'content="rustdoc"', "#main-content", "button,rustdoc-toolbar"),
    Maker("makeinfo", "makeinfo", "body", ".header,.nav-panel"),
    Maker("gtk-doc", "libxml2 devhelp", "body", "table.navigation"),
    Maker("docbook", "docbook xsl", "body", ".navheader,.navfooter,.nav"),
    Maker("old docbook", "modular docbook", "body", ".NAVHEADER,.NAVFOOTER"),
)


@dataclass(frozen=True, slots=True)
class Page:
    """Page and the words of its content."""

    html: str
    blind: str
    words: Counter[str]
    all_words: Counter[str]


@cache
def pages() -> tuple[Page, ...]:
    """Return up to `_PER_MAKER` pages of each generator, spread over the available ones.

    Raises:
        Skipped: there are fewer than 20.
    """
    by_maker: dict[str, list[Path]] = {maker.name: [] for maker in _MAKERS}
    for path in _html_files():
        head = path.read_bytes()[:4000].decode("utf-8", "replace").lower()
        maker = next((maker for maker in _MAKERS if maker.mark in head), None)
        if maker is not None:
            by_maker[maker.name].append(path)
    found = []
    for maker in _MAKERS:
        paths = by_maker[maker.name]
        for path in paths[:: max(1, len(paths) // _PER_MAKER)][:_PER_MAKER]:
            page = _page(path, maker)
            if page is not None:
                found.append(page)
    if len(found) < 20:
        raise Skipped(f"only {len(found)} pages of known documentation are installed")
    return tuple(found)


def _html_files() -> list[Path]:
    """Return at most a few hundred per folder, so that the search is faster than the
    measurement.
    """
    found: list[Path] = []
    for name in _FOLDERS:
        for folder, folders, files in os.walk(Path(name).expanduser()):
            folders.sort()
            html = sorted(file for file in files if file.endswith(".html"))
            found += [Path(folder, file) for file in html[:20]]
            if len(found) > 4000:
                return found
    return [path for path in found if 2000 < path.stat().st_size < _MAX_BYTES]


def _page(path: Path, maker: Maker) -> Page | None:
    from selectolax.lexbor import LexborHTMLParser

    html = path.read_text(encoding="utf-8", errors="replace")
    tree = LexborHTMLParser(html)
    body, content = tree.body, tree.css_first(maker.content)
    if body is None or content is None:
        return None
    for node in body.css("script,style,noscript")[::-1]:
        node.decompose()
    all_words = _words(body.text(separator=" "))
    for node in content.css(maker.around)[::-1]:
        node.decompose()
    words = _words(content.text(separator=" "))
    if words.total() < 60:
        return None
    blind = _TELLING_NAME.sub("", _TELLING_TAG.sub(r"<\1div", html))
    return Page(html, blind, words, all_words)


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _f1(found: Counter[str], wanted: Counter[str]) -> float:
    """Return the F1 score of words with multiplicity: 100 for exactly the content."""
    common = (found & wanted).total()
    return 200 * common / (found.total() + wanted.total()) if common else 0.0


def extracted(html: str) -> str:
    """Return the text of the content."""
    order = {"mode": "text", "url": _URL, "max_chars": 1_000_000, "max_links": 0}
    return str(page_program.read(html, order)["text"])


def quality(texts: Sequence[str]) -> float:
    """Return the mean F1 score of one text for each of `pages()`."""
    wanted = pages()
    return statistics.fmean(
        _f1(_words(text), page.words) for text, page in zip(texts, wanted, strict=True)
    )


def milliseconds(htmls: Sequence[str], scale: Scale) -> float:
    """Return the median CPU time of a page over some rounds, without the first page."""
    extracted(htmls[0])
    rounds = []
    for _ in range(scale.rounds):
        begun = time.process_time()
        for html in htmls:
            extracted(html)
        rounds.append((time.process_time() - begun) * 1000 / len(htmls))
    return statistics.median(rounds)


def _found(scale: Scale) -> list[Result]:
    """Compare with all text of the page."""
    chosen = pages()
    whole = statistics.fmean(_f1(page.all_words, page.words) for page in chosen)
    plain = quality([extracted(page.html) for page in chosen])
    blind = quality([extracted(page.blind) for page in chosen])
    return [
        Result("extract_f1", plain, whole, "F1 of words", len(chosen)),
        Result("extract_f1_blind", blind, whole, "F1 of words", len(chosen)),
    ]


def _confined(scale: Scale) -> list[Result]:
    """Compare a page in a sandboxed process with one in this process."""
    chosen = pages()[: scale.count(20)]

    async def measure() -> float:
        async with Sandbox() as sandbox:
            await sandbox.start()
            rooms = ScratchSandbox(sandbox)
            times = []
            for page in chosen:
                begun = time.perf_counter()
                await read_html(page.html, _URL, "text", rooms, max_chars=1_000_000)
                times.append((time.perf_counter() - begun) * 1000)
        return statistics.median(times)

    floor = milliseconds([page.html for page in chosen], scale)
    return [Result("extract_confined", run(measure()), floor, "wall ms/page", len(chosen))]


BENCHMARKS = (
    Benchmark(
        ("extract_f1", "extract_f1_blind"),
        "The content of installed documentation, against all text of its pages.",
        _found,
    ),
    Benchmark(
        ("extract_confined",),
        "A page read in a sandboxed process, against reading it in this one.",
        _confined,
    ),
)
