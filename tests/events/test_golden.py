"""Events that were written once load for ever.

The files are what a log holds today. A change that breaks one of them breaks every
session that anybody has stored: change the code, not the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from app.events.envelope import DurableEvent
from app.events.union import Durable, server_message

FILES = sorted((Path(__file__).parent / "golden").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_event_loads_and_keeps_every_field(path: Path):
    written = json.loads(path.read_text(encoding="utf-8"))
    event = server_message.validate_python(written)
    assert isinstance(event, DurableEvent)
    again = json.loads(event.model_dump_json(exclude_none=True))
    assert _part_of(written, again)


def _part_of(written: object, again: object) -> bool:
    """Whether everything that was written is there again; parts may have new fields."""
    if isinstance(written, dict) and isinstance(again, dict):
        return all(key in again and _part_of(value, again[key]) for key, value in written.items())
    if isinstance(written, list) and isinstance(again, list):
        return len(written) == len(again) and all(map(_part_of, written, again))
    return written == again


def test_every_durable_event_has_an_old_example():
    kinds = {kind.model_fields["type"].default for kind in get_args(Durable)}
    assert {path.name.partition(".")[0] for path in FILES} == kinds
