"""What a body is."""

from __future__ import annotations

import pytest

from app.tools.web.kinds import kind_of


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<p>x", "text/html; charset=x", "html"),
        (b"<p>x", "Application/XHTML+XML", "html"),
        (b"\n <!-- x --><!DOCTYPE html>", "", "html"),
        (b"<html>", "application/octet-stream", "html"),
        (b"<html>", "text/plain", "text"),
        (b"{}", "application/ld+json", "json"),
        (b"%PDF-1.4", "text/html", "pdf"),
        (b"junk%PDF-1.4", "application/pdf", "pdf"),
        (b"no pdf", "application/pdf", "binary"),
        (b"words", "", "text"),
        (b"words", "text/csv", "text"),
        (b"<rss/>", "application/rss+xml", "text"),
        (b"x = 1", "application/javascript", "text"),
        ("words".encode("utf-16"), "text/html", "html"),
        ("words".encode("utf-16-le"), "text/plain", "text"),
        (b"", "text/html", "html"),
        (b"\x00\x01\x02\x03" * 9, "text/html", "binary"),
        (b"some\x00words", "", "binary"),
        (b"PK\x03\x04", "text/html", "binary"),
        (b"\xff\xd8\xff\xe0", "text/html", "binary"),
        (b"words", "image/svg+xml", "text"),
        (b"words", "video/mp4", "binary"),
    ],
)
def test_a_body_is_what_it_begins_with_or_is_said_to_be(body: bytes, content_type: str, kind: str):
    assert kind_of(body, content_type)[0] == kind
