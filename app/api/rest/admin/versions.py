"""Optimistic locking: an `ETag` on what is read, `If-Match` on what is changed."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header
from starlette.responses import Response

from app.core.errors import InvalidInput, VersionMismatch

_TAG = re.compile(r'^(?:W/)?"?(\d{1,18})"?$')


def expected_version(
    if_match: Annotated[
        str | None,
        Header(description="The `ETag` that was read; the change is refused when it is outdated."),
    ] = None,
) -> int | None:
    """The version that `If-Match` names; None without the header or with `*`.

    Raises:
        InvalidInput: the header is not an ETag of ours.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    found = _TAG.match(if_match.strip())
    if found is None:
        raise InvalidInput('If-Match must be the ETag that was read, such as "3"', field="If-Match")
    return int(found[1])


ExpectedVersion = Annotated[int | None, Depends(expected_version)]


def show_version(response: Response, version: int) -> None:
    """Send the version along as an `ETag`."""
    response.headers["ETag"] = f'"{version}"'


def check_version(expected: int | None, actual: int) -> None:
    """Compare inside the transaction that changes the row.

    Raises:
        VersionMismatch: it was changed since it was read.
    """
    if expected is not None and expected != actual:
        raise VersionMismatch(
            f"It was changed meanwhile: version {actual}, not {expected}; read it again",
            version=actual,
        )
