"""The report is written by code nobody has read: whatever it says is only text, or nothing."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress

import pytest

from app.operations.sandbox.workers import MAX_REPORT_BYTES, Report, ReportPipe, parse_report
from tests.operations.conftest import open_descriptors


def test_value_and_error_are_taken():
    assert parse_report(b'{"value": "42", "error": null}') == Report("42", None)
    assert parse_report(b'{"value": null, "error": "E:\\n two"}') == Report(None, "E: two")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"value": ' + b"9" * 5000 + b"}",
        b'{"value": {"a": 1}, "error": ["x"]}',
    ],
    ids=["empty", "cut", "list", "text", "binary", "deep", "huge number", "wrong types"],
)
def test_anything_else_is_an_empty_report(data: bytes):
    assert parse_report(data) == Report()


def test_texts_are_bounded_and_encodable():
    report = parse_report(json.dumps({"value": "x" * 200_000, "error": "\ud800"}).encode())

    assert report.value is not None
    assert len(report.value) == 100_000
    assert report.error == "?"


async def test_a_report_is_read_to_its_end():
    theirs = open_descriptors()
    end, start = os.pipe()
    pipe = ReportPipe(end)
    os.write(start, b'{"value": "1",')
    os.write(start, b' "error": null}')
    os.close(start)

    assert pipe.finish() == Report("1")
    assert open_descriptors() == theirs


async def test_a_report_over_the_bound_is_none_and_its_writer_stops():
    end, start = os.pipe()
    os.set_blocking(start, False)
    pipe = ReportPipe(end)
    written = 0

    with suppress(BrokenPipeError):
        while written < 4 * MAX_REPORT_BYTES:
            try:
                written += os.write(start, b"x" * 65_536)
            except BlockingIOError:
                await asyncio.sleep(0)
    os.close(start)

    assert pipe.finish() == Report()
    assert written <= 2 * MAX_REPORT_BYTES
