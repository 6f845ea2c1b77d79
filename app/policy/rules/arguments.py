"""Search of a call's arguments for texts that may be paths or addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_DEPTH = 16
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def texts_of(
    value: Any, names: re.Pattern[str], *, telling: bool = False, depth: int = 0
) -> Iterator[tuple[str | None, bool]]:
    """Yield each text, and whether it is under a name that matches `names`.

    Below `MAX_DEPTH` nothing is inspected: None represents unknown content.
    """
    if isinstance(value, str):
        yield value, telling
    elif depth > MAX_DEPTH:
        yield None, telling
    elif isinstance(value, Mapping):
        for key, item in value.items():
            named = names.search(_HUMP.sub("_", str(key))) is not None
            yield from texts_of(item, names, telling=named, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item, names, telling=telling, depth=depth + 1)
