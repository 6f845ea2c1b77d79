"""What a worker process is told when it starts: nothing in it is secret."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Equipment:
    """Goes over the command line, which everybody on the machine may read.

    Attributes:
        roots: the folders of the workspace that may be read, relative to it; empty for all.
        calculator_functions: whether the operator lets `calculator` call functions.
    """

    roots: tuple[str, ...] = ()
    calculator_functions: bool = False

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Equipment:
        raw = json.loads(text)
        return cls(tuple(raw["roots"]), raw["calculator_functions"])
