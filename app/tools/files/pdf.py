"""Text of a PDF.

Parsers of this large format are not safe for hostile files: the parser runs in the workspace's
sandbox, without network, with limits on time, memory and output, and receives the document through
a pipe.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.core.errors import ToolFailed
from app.core.text import clean
from app.toolkit.context import ToolContext
from app.tools.dev.program_run import Program, run
from app.tools.files import pdf_program

MAX_PDF_BYTES = 32 << 20
MAX_PAGES = 20
_WALL_S = 30
_MAX_OUTPUT = 4 << 20


@dataclass(frozen=True, slots=True)
class PdfPages:
    """Texts of pages from `first`, out of `total`; the last may be truncated."""

    path: str
    size: int
    total: int
    first: int
    last: int
    texts: tuple[str, ...]
    cut: bool
    sandbox: dict[str, Any]

    @property
    def end(self) -> int:
        return self.first + len(self.texts) - 1

    @property
    def truncated(self) -> bool:
        return self.cut or self.end < self.last

    def to_data(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "media_type": "application/pdf",
            "content": "\n\n".join(self.texts),
            "size": self.size,
            "total_pages": self.total,
            "first_page": self.first,
            "last_page": self.end,
            "truncated": self.truncated,
            "sandbox": self.sandbox,
        }

    def to_text(self) -> str:
        parts = [f"[PDF: {self.path} | Pages: {self.total} | Showing: {self.first}-{self.end}]"]
        for number, text in enumerate(self.texts, self.first):
            parts.append(f"[Page {number}]\n{text.strip() or '(no text: perhaps a scan)'}")
        if self.cut:
            parts.append(f"[Page {self.end} is truncated; read it alone with pages='{self.end}']")
        elif self.end < self.total:
            parts.append(f"[More follows: continue with pages='{self._following()}']")
        return "\n\n".join(parts)

    def _following(self) -> str:
        return f"{self.end + 1}-{min(self.end + MAX_PAGES, self.total)}"


async def read_pages(
    path: str, data: bytes, pages: tuple[int, int] | None, room: int, ctx: ToolContext
) -> PdfPages:
    """Return pages `(first, last)` from 1, by default the first `MAX_PAGES`.

    Raises:
        ToolFailed: `pdf_unreadable`, `page_out_of_range`, `timeout`, `limit_reached` or
            `sandbox_unavailable`.
    """
    first, last = pages or (1, MAX_PAGES)
    argv = (sys.executable, "-I", "-c", _source(), str(first), str(last), str(room + 1))
    program = Program(argv=argv, stdin=data, wall_s=_WALL_S, max_bytes=_MAX_OUTPUT)
    finished = await run(ctx.operations.processes, program)
    total, texts = _pages_of(path, finished.stdout)
    if first > total:
        raise ToolFailed(
            f"page {first} is past the end: {path!r} has {total} pages",
            code="page_out_of_range",
            path=path,
            total_pages=total,
        )
    shown, cut = _within(texts, room)
    sandbox = finished.exit.sandbox.to_dict()
    return PdfPages(path, len(data), total, first, min(last, total), shown, cut, sandbox)


def _pages_of(path: str, printed: bytes) -> tuple[int, list[str]]:
    """Return the output of the program, which its input may control."""
    try:
        answer = json.loads(printed)
        reason = answer.get("error")
        if reason is None:
            return int(answer["pages"]), [clean(str(text)) for text in answer["texts"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        reason = "the reader did not respond"
    raise ToolFailed(
        f"{path!r} cannot be read as a PDF: {clean(str(reason))[:200]}",
        code="pdf_unreadable",
        path=path,
    )


def _within(texts: list[str], room: int) -> tuple[tuple[str, ...], bool]:
    """Return whole pages as far as they fit; of a first one that is too long, its beginning."""
    kept: list[str] = []
    for text in texts:
        room -= len(text)
        if room < 0:
            return (tuple(kept), False) if kept else ((text[:room],), True)
        kept.append(text)
    return tuple(kept), False


@cache
def _source() -> str:
    return Path(pdf_program.__file__).read_text(encoding="utf-8")
