"""Paths in a large patch, without full parsing: fast enough for the event loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter

from app.core.errors import TollgateError
from app.tools.files.patch_model import MAX_FILES, invalid_patch, plain_path
from app.tools.files.patch_unified import name_of
from app.tools.files.patch_v4a import bare_name

_V4A = re.compile(r"^\*\*\* ?(?:(?:Add|Update|Delete|Move) File|Move to): *(.+)", re.MULTILINE)
_UNIFIED = re.compile(r"^(?:--- |\+\+\+ |rename from |rename to |diff --git )(.+)", re.MULTILINE)
_MOST = 4 * MAX_FILES


def named_in(text: str, *, is_v4a: bool) -> list[str]:
    """Return every path in a header of the patch, and possibly others.

    A content line that looks like a header counts as one, and a name with the prefix `a/` counts
    with and without it: a rule must miss no path.

    Raises:
        ToolFailed: `invalid_patch`: it names more paths than a patch may touch.
    """
    headers = dict.fromkeys(map(itemgetter(1), (_V4A if is_v4a else _UNIFIED).finditer(text)))
    if len(headers) > _MOST:
        raise invalid_patch("It names too many files")
    read = _v4a if is_v4a else _unified
    return list(dict.fromkeys(name for header in headers for name in read(header)))


def _v4a(header: str) -> Iterator[str]:
    whole = bare_name(header)
    for name in (whole, *whole.split(" -> ", 1)):
        yield from _plain(bare_name(name))


def _unified(header: str) -> Iterator[str]:
    header = header.removesuffix("\r")
    half = len(header) // 2
    quoted = header.find('" ', 1) if header.startswith('"') else -1
    names = [header, header[:half], header[half + 1 :]]
    if quoted > 0:
        names += [header[: quoted + 1], header[quoted + 2 :]]
    for raw in names:
        try:
            name = name_of(raw)
        except ValueError:
            continue
        if name is not None:
            yield from _plain(name)
            yield from _plain(re.sub("^[ab]/", "", name))


def _plain(name: str) -> Iterator[str]:
    try:
        yield plain_path(name)
    except TollgateError:
        return
