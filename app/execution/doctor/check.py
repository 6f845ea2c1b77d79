"""One finding of `tollgate doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.execution.doctor.texts import FOUND, SUBJECTS

State = Literal["ok", "info", "warning", "broken"]


@dataclass(frozen=True, slots=True, init=False)
class Check:
    """One finding. `broken` means that the service cannot work as it is.

    Attributes:
        code: checked subject, a key of `SUBJECTS`.
        found_code: finding, a key of `FOUND`.
        values: values for the placeholders in both sentences.
    """

    code: str
    state: State
    found_code: str
    values: Mapping[str, str]

    def __init__(self, code: str, state: State, found_code: str, **values: object) -> None:
        """Create a check; codes missing from the tables are a programming error."""
        named = {name: str(value) for name, value in values.items()}
        texts = (*SUBJECTS[code], FOUND[found_code])
        for text in texts:
            text.format_map(named)
        for name, value in zip(self.__slots__, (code, state, found_code, named), strict=True):
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        return SUBJECTS[self.code].name.format_map(self.values)

    @property
    def found(self) -> str:
        return FOUND[self.found_code].format_map(self.values)

    @property
    def meaning(self) -> str:
        return SUBJECTS[self.code].meaning.format_map(self.values)

    @property
    def fix(self) -> str:
        """Return the fix; empty if none is needed."""
        return "" if self.state == "ok" else SUBJECTS[self.code].fix.format_map(self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return the codes, and the sentences in English."""
        return {
            "code": self.code,
            "found_code": self.found_code,
            "values": dict(self.values),
            "name": self.name,
            "state": self.state,
            "found": self.found,
            "meaning": self.meaning,
            "fix": self.fix,
        }
