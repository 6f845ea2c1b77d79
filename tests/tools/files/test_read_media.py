"""`read_file` on images and PDF documents, in a real workspace with real processes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pypdf import PdfWriter

from app.operations.local.workspace import LocalWorkspace
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS
from app.toolkit.result import RawResult
from app.toolkit.services import Services
from app.tools.files.read_file import read_file
from tests.tools.calls import call

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x02\0\0\0"


def pdf(texts: Sequence[str], stream_filter: bytes = b"") -> bytes:
    """A document with one line of text on each page."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * index) for index in range(len(texts)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(texts)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, text in enumerate(texts):
        drawn = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode("latin-1")
        if stream_filter:
            drawn = zlib.compress(drawn)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * index)
        )
        objects.append(
            b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(drawn), stream_filter, drawn)
        )
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF" % (size, table, size, len(body))
    )


@dataclass
class Shelf:
    """Artifacts in a dictionary."""

    kept: dict[str, bytes] = field(default_factory=dict)

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        return self.kept[artifact_id]

    async def keep(
        self, name: str, media_type: str, data: bytes, *, session_id: str, operation_id: str | None
    ) -> str:
        self.kept["art_1"] = data
        return "art_1"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def here(tmp_path: Path, shelf: Shelf) -> Iterator[ToolContext]:
    with LocalWorkspace(tmp_path) as workspace:
        yield ToolContext(
            tool_call_id="call_1",
            operation_id="call_1",
            session_id="session_1",
            project_id="project_1",
            services=Services(**{ARTIFACTS: shelf}),
            bound_operations=workspace.operations,
        )


@pytest.mark.requirement("FIL-07")
async def test_an_image_is_shown_with_its_size_in_pixels(
    here: ToolContext, tmp_path: Path, shelf: Shelf
):
    (tmp_path / "logo.dat").write_bytes(PNG)
    result = await call(read_file, here, path="logo.dat")
    image = {
        "name": "logo.dat",
        "media_type": "image/png",
        "size": len(PNG),
        "artifact_id": "art_1",
    }
    assert result.data == {**image, "path": "logo.dat", "width": 640, "height": 480}
    assert result.raw_result == RawResult("image", {"images": [image]})
    assert result.for_model().startswith("[Image: logo.dat | image/png | 640 x 480 pixels | ")
    assert shelf.kept == {"art_1": PNG}


async def test_an_image_that_is_an_artifact_is_shown_where_it_lies(here: ToolContext, shelf: Shelf):
    shelf.kept["art_7"] = PNG
    result = await call(read_file, here, path="artifact:art_7")
    assert result.raw_result is not None
    assert result.raw_result.data["images"][0]["artifact_id"] == "art_7"
    assert list(shelf.kept) == ["art_7"]


async def test_several_files_of_all_kinds_have_their_own_outcome(here: ToolContext, tmp_path: Path):
    (tmp_path / "a.txt").write_text("words\n")
    (tmp_path / "b.png").write_bytes(PNG)
    (tmp_path / "c.pdf").write_bytes(pdf(["page text"]))
    (tmp_path / "d.bin").write_bytes(b"\0\1\2")
    result = await call(read_file, here, paths=["a.txt", "b.png", "c.pdf", "d.bin", "gone"])
    reported = [file.get("code") or file.get("media_type") for file in result.data["files"]]
    assert reported == [None, "image/png", "application/pdf", "binary_file", "file_not_found"]
    assert (result.data["read"], result.data["failed"]) == (3, 2)


async def test_pages_of_a_pdf_are_read_as_text(here: ToolContext, tmp_path: Path):
    texts = [f"This is page {number}" for number in range(1, 26)]
    (tmp_path / "doc.pdf").write_bytes(pdf(texts, b"/Filter /FlateDecode"))
    first = await call(read_file, here, path="doc.pdf")
    some = await call(read_file, here, path="doc.pdf", pages="24-25")
    assert (first.data["total_pages"], first.data["last_page"]) == (25, 20)
    assert first.for_model().endswith("[More follows: continue with pages='21-25']")
    assert some.data["content"] == "This is page 24\n\nThis is page 25"
    assert some.for_model() == (
        "[PDF: doc.pdf | Pages: 25 | Showing: 24-25]\n\n"
        "[Page 24]\nThis is page 24\n\n[Page 25]\nThis is page 25"
    )
    assert set(some.data["sandbox"]) == {"level", "layers", "missing", "kill"}


async def test_a_page_longer_than_the_room_is_cut(here: ToolContext, tmp_path: Path):
    (tmp_path / "doc.pdf").write_bytes(pdf(["x" * 200_000, "y"]))
    result = await call(read_file, here, path="doc.pdf")
    assert len(result.data["content"]) == 128_000
    assert (result.data["truncated"], result.data["last_page"]) == (True, 1)


@pytest.mark.parametrize(
    ("data", "arguments", "code", "message"),
    [
        (pdf(["a"]), {"pages": "2"}, "page_out_of_range", "has 1 pages"),
        (pdf(["a"]), {"start_line": 2}, "pages_needed", "use pages"),
        (b"%PDF-1.7\nnothing", {}, "pdf_unreadable", "cannot be read as a PDF: it is damaged"),
        (
            pdf(["a"]).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
            {},
            "pdf_unreadable",
            "cannot be read as a PDF",
        ),
    ],
    ids=["past-the-end", "by-line", "damaged", "a-loop"],
)
async def test_a_pdf_that_cannot_be_read_so_is_refused_with_its_reason(
    here: ToolContext, tmp_path: Path, data, arguments, code, message
):
    (tmp_path / "doc.pdf").write_bytes(data)
    result = await call(read_file, here, path="doc.pdf", **arguments)
    assert (result.success, result.code) == (False, code)
    assert message in (result.error or "")


async def test_a_page_that_unpacks_to_gigabytes_harms_nobody(here: ToolContext, tmp_path: Path):
    bomb = zlib.compress(zlib.compress(bytes(300 << 20), 9), 9)
    page = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (
        len(bomb),
        bomb,
    )
    whole = pdf(["a"])
    start = whole.index(b"5 0 obj\n") + 8
    end = whole.index(b"\nendobj", start)
    (tmp_path / "bomb.pdf").write_bytes(whole[:start] + page + whole[end:])
    result = await call(read_file, here, path="bomb.pdf")
    assert (result.success, result.code) in ((False, "pdf_unreadable"), (True, None))
    assert len(result.for_model()) < 1000


async def test_modules_that_lie_in_the_workspace_do_not_read_its_documents(
    here: ToolContext, tmp_path: Path
):
    for name in ("pypdf", "json", "io", "resource", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text("open('owned', 'w'); raise SystemExit")
    (tmp_path / "doc.pdf").write_bytes(pdf(["honest text"]))
    result = await call(read_file, here, path="doc.pdf")
    assert result.data["content"] == "honest text"
    assert not (tmp_path / "owned").exists()


async def test_an_encrypted_document_says_that_it_needs_a_password(
    here: ToolContext, tmp_path: Path
):
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    with (tmp_path / "doc.pdf").open("wb") as file:
        writer.write(file)
    result = await call(read_file, here, path="doc.pdf")
    assert (result.success, result.code) == (False, "pdf_unreadable")
    assert "it is encrypted and requires a password" in (result.error or "")
