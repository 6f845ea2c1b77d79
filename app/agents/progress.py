"""Stored progress of a run, in addition to its messages and calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from app.governance.limits import NOBODY, QuotaSubject


@dataclass(frozen=True, slots=True)
class RunProgress:
    """State that another process needs to continue a run.

    Attributes:
        quota_subject: subject that the run is counted for.
        attended: a client can, or may later, answer confirmations.
        turns: output of `LoopState.progress`: usage, stop reason, model requests so far.
        unheard: messages before the last response that the model had not seen.
        found: tools found by search.
        tools_enabled: whether its model may call tools.
        tries: restarts after a crash since its calls last finished.
    """

    quota_subject: QuotaSubject = NOBODY
    attended: bool = True
    turns: Mapping[str, Any] = field(default_factory=dict)
    unheard: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    tries: int = 0
    tools_enabled: bool = True

    @property
    def usage(self) -> dict[str, Any]:
        """Return tokens and dollars so far, in the form of events."""
        return dict(self.turns.get("usage", {}))

    @property
    def stop_reason(self) -> str | None:
        """Return the model's last stop reason."""
        reason: str | None = self.turns.get("stop_reason")
        return reason

    def tried_again(self) -> RunProgress:
        """Return a copy with one more restart."""
        return replace(self, tries=self.tries + 1)

    def stored(self) -> str:
        """Return the state as JSON text."""
        kept = {
            "payer": self.quota_subject.to_json(),
            "attended": self.attended,
            "turns": self.turns,
            "unheard": self.unheard,
            "found": self.found,
            "tries": self.tries,
            "tools_enabled": self.tools_enabled,
        }
        return orjson.dumps(kept).decode()

    @classmethod
    def read(cls, stored: str) -> RunProgress:
        """Parse the output of `stored`.

        Raises:
            ValueError, KeyError, TypeError: the text has another format.
            InvalidInput: its limits are invalid.
        """
        kept = orjson.loads(stored)
        return cls(
            QuotaSubject.from_json(kept["payer"]),
            kept["attended"],
            kept["turns"],
            tuple(kept["unheard"]),
            tuple(kept["found"]),
            kept["tries"],
            kept.get("tools_enabled", True),
        )
