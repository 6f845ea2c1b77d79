"""Optimistic locking with `ETag` and `If-Match`."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header
from starlette.responses import Response

from app.core.errors import InvalidInput
from app.core.versions import check_version as check_version  # noqa: PLC0414 - re-exported

_TAG = re.compile(r'^(?:\*|(?:W/)?"?([0-9]{1,18})"?)$')


def expected_version(
    if_match: Annotated[
        str | None,
        Header(
            description="`ETag` of the version you read; the change is refused if it is outdated.",
            json_schema_extra={"pattern": _TAG.pattern, "examples": ['"3"']},
        ),
    ] = None,
) -> int | None:
    """Return the version in `If-Match`; None without the header or for `*`.

    Raises:
        InvalidInput: the header is not an ETag of this service.
    """
    if if_match is None:
        return None
    found = _TAG.match(if_match.strip())
    if found is None:
        raise InvalidInput(
            'If-Match must be the ETag of the version you read, such as "3"', field="If-Match"
        )
    return int(found[1]) if found[1] else None


ExpectedVersion = Annotated[int | None, Depends(expected_version)]


def show_version(response: Response, version: int) -> None:
    """Set the `ETag` of a response to a version."""
    response.headers["ETag"] = f'"{version}"'
