"""Parsing of pages in a sandbox: HTML with our program, PDF with that of `read_file`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from app.core.errors import ToolFailed
from app.core.text import clean
from app.domain.web import PageSandbox
from app.toolkit.context import ToolContext
from app.tools.dev.program_run import Program, run
from app.tools.files.pdf import PdfPages, read_pages
from app.tools.web import page_program

HtmlMode = Literal["markdown", "text", "links", "structured"]
MAX_LINKS = 1000
_WALL_S = 20.0
_ROOM = 64_000
_RESULTS = 8_000_000


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Content of a page.

    Attributes:
        text: beginning of the text; `length` is that of the whole.
        links: `text` and `href`, in the order of the page.
        headings: `level` 1 to 4 and `text`.
        leads_to: target of the page's own redirect, or empty.
    """

    title: str
    description: str
    canonical: str
    language: str
    text: str
    length: int
    links: tuple[dict[str, str], ...]
    headings: tuple[dict[str, Any], ...]
    leads_to: str = ""


async def read_html(
    html: str,
    url: str,
    mode: HtmlMode,
    rooms: PageSandbox,
    *,
    max_chars: int,
    max_links: int = MAX_LINKS,
    wall_s: float = _WALL_S,
) -> ReadPage:
    """Parse a page from `url`.

    Args:
        wall_s: timeout of the parser in seconds.

    Raises:
        ToolFailed: `page_unreadable`, `timeout`, `limit_reached`, `sandbox_unavailable`.
    """
    order = {"mode": mode, "url": url, "max_chars": max_chars, "max_links": max_links}
    # JSON writes a non-ASCII letter with at most twelve characters.
    most = 12 * (max_chars + 400 * max_links) + _ROOM
    return _page_of(url, await _printed(html, order, rooms, wall_s=wall_s, max_bytes=most))


async def read_results(html: str, rooms: PageSandbox) -> list[dict[str, str]]:
    """Return the entries of a search result page: `title`, `href` and `snippet`.

    Raises:
        ToolFailed: see `read_html`.
    """
    printed = await _printed(html, {"mode": "results"}, rooms, wall_s=_WALL_S, max_bytes=_RESULTS)
    try:
        return [
            {name: _text(found.get(name)) for name in ("title", "href", "snippet")}
            for found in json.loads(printed)["results"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ToolFailed(
            "The results cannot be parsed as a web page", code="page_unreadable"
        ) from None


async def _printed(
    html: str, order: Mapping[str, Any], rooms: PageSandbox, *, wall_s: float, max_bytes: int
) -> bytes:
    """Return the output of the page program."""
    program = Program(
        argv=(sys.executable, "-I", "-c", _source()),
        stdin=json.dumps(order).encode() + b"\n" + clean(html).encode(),
        wall_s=wall_s,
        max_bytes=max_bytes,
    )
    async with rooms.open() as room:
        finished = await run(room.processes, program)
    return finished.stdout


async def read_pdf(data: bytes, url: str, room: int, rooms: PageSandbox) -> PdfPages:
    """Return the first pages of a PDF, in the form of `read_file`.

    Raises:
        ToolFailed: see `read_pages`.
    """
    async with rooms.open() as operations:
        inside = ToolContext(tool_call_id="", operation_id="", bound_operations=operations)
        return await read_pages(url, data, None, room, inside)


def _page_of(url: str, printed: bytes) -> ReadPage:
    """Return the output of the program, which its input may control."""
    try:
        answer = json.loads(printed)
        return ReadPage(
            title=_text(answer.get("title")),
            description=_text(answer.get("description")),
            canonical=_text(answer.get("canonical")),
            language=_text(answer.get("language")),
            text=_text(answer.get("text")),
            length=int(answer.get("length", 0)),
            links=tuple(
                {"text": _text(link["text"]), "href": _text(link["href"])}
                for link in answer.get("links", ())
            ),
            headings=tuple(
                {"level": int(heading["level"]), "text": _text(heading["text"])}
                for heading in answer.get("headings", ())
            ),
            leads_to=_text(answer.get("leads_to")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ToolFailed(
            f"{url[:200]!r} cannot be parsed as a web page; extract_mode='raw' shows its source",
            code="page_unreadable",
        ) from None


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


@cache
def _source() -> str:
    return Path(page_program.__file__).read_text(encoding="utf-8")
