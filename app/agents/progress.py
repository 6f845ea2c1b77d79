"""How far a run has come, beside what its messages and its calls say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from app.governance.limits import NOBODY, QuotaSubject


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What another process needs to go on with a run.

    Attributes:
        payer: whom the run is counted for.
        attended: somebody is, or may come to be, there to confirm what asks.
        turns: what `Turns.progress` says: usage, stop reason, model requests so far.
        unheard: messages that stand before the last answer, and that it did not know.
        found: tools that the run has found by words.
        tools_enabled: whether its model may call tools.
        tries: how often it was taken up after a crash since its calls last finished.
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
        """Tokens and dollars so far, as the events carry them."""
        return dict(self.turns.get("usage", {}))

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped last."""
        reason: str | None = self.turns.get("stop_reason")
        return reason

    def tried_again(self) -> RunProgress:
        """The same, taken up once more."""
        return replace(self, tries=self.tries + 1)

    def stored(self) -> str:
        """As JSON text."""
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
        """Read what `stored` wrote.

        Raises:
            ValueError, KeyError, TypeError: it is not of this kind.
            InvalidInput: its limits cannot be read.
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
