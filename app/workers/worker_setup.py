"""Start parameters of a worker process; none is secret."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """Passed on the command line, which everyone on the machine can read.

    Attributes:
        roots: readable folders, relative to the workspace; empty for all.
        calculator_functions: whether `calculator` may call functions.
    """

    roots: tuple[str, ...] = ()
    calculator_functions: bool = False

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> WorkerSetup:
        raw = json.loads(text)
        return cls(tuple(raw["roots"]), raw["calculator_functions"])
