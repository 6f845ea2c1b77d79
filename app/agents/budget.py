"""Token and cost budget of a session's model requests.

The sums are stored with the session, so that they survive a restart. They are checked before every
turn, never during one: a response, and a summary needed for it, may exceed the budget; the next
turn is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.agents.models.protocol import TokenUsage
from app.agents.sessions import Session
from app.config.sections import ModelPrice
from app.core.errors import BudgetExceeded, ConfigurationError
from app.core.metrics import Metrics
from app.db.statements import SET_USAGE
from app.db.writer import DatabaseWriter
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.limits import Limits, QuotaSubject
from app.resolver.resolver import Resolver

_PER = 1_000_000
_COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")


@dataclass(slots=True)
class Spending:
    """Usage of one run or sub-agent.

    Attributes:
        cost: dollars; None if one of the models has no price.
    """

    usage: TokenUsage = field(default_factory=TokenUsage)
    cost: float | None = 0.0

    def add(self, usage: TokenUsage, cost: float | None) -> None:
        """Add one response; `cost` is None if its model has no price."""
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def fields(self) -> dict[str, Any]:
        """Return the fields for `run_finished` and the rows of runs."""
        fields: dict[str, Any] = usage_fields(self.usage)
        # A price of 0 is a price; only a run without model requests has no cost.
        if self.cost is not None and tokens_of(fields):
            fields["cost"] = round(self.cost, 8)
        return fields

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Spending:
        """Restore from stored `fields`."""
        usage = TokenUsage(**{name: int(fields.get(name, 0)) for name in _COUNTED})
        is_free = not any(usage_fields(usage).values())
        return cls(usage, fields.get("cost", 0.0 if is_free else None))


class Budget:
    """Counts per session, against the tightest of the settings', the token's and the agent's
    limits.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        resolver: Resolver,
        audit: AuditLog,
        metrics: Metrics,
        *,
        limits: Limits,
        prices: Mapping[str, ModelPrice],
        fallbacks: Sequence[str] = (),
    ) -> None:
        """Count by `prices`; `limits` apply to every session, `fallbacks` are models that may
        answer instead of the requested one.
        """
        self._db = db
        self._resolver = resolver
        self._audit = audit
        self._metrics = metrics
        self._defaults = limits
        self._prices = prices
        self._fallbacks = fallbacks

    def check(
        self, session: Session, *, model: str, agent_id: str | None, quota_subject: QuotaSubject
    ) -> None:
        """Refuse the next model request if the session's budget is used up.

        Raises:
            BudgetExceeded: the budget is used up.
            ConfigurationError: the cost is limited, and the model has no price.
        """
        limits = self._limits(agent_id, quota_subject)
        most, cost = limits.tokens_per_session, limits.cost_per_session
        used = tokens_of(session.usage)
        if most is not None and used >= most:
            self._hit(session, agent_id, "token_budget", used, most)
            raise BudgetExceeded(
                f"This session has used {used} of its {most} tokens; start a new session, or ask "
                "an administrator for more",
                budget="token_budget",
                limit=most,
                used=used,
            )
        if cost is None:
            return
        # A fallback may answer instead of the model.
        for name in (model, *self._fallbacks):
            if name not in self._prices:
                raise ConfigurationError(
                    "cost_per_session is set, but model_prices has no price for "
                    f"{name!r}; set its price to use the model",
                    model=name,
                )
        spent = float(session.usage.get("cost", 0.0))
        if spent >= cost:
            self._hit(session, agent_id, "cost_budget", spent, cost)
            raise BudgetExceeded(
                f"This session has cost ${spent:.4f} of the allowed ${cost:g}; start a "
                "new session, or ask an administrator for more",
                budget="cost_budget",
                limit=cost,
                used=round(spent, 6),
            )

    def add(
        self, session: Session, *, model: str, usage: TokenUsage, spending: Spending | None = None
    ) -> None:
        """Count one response for its session.

        Args:
            spending: usage of the requesting run or sub-agent, counted there too.
        """
        counted = {name: getattr(usage, name) for name in _COUNTED}
        if not any(counted.values()):
            return
        total = session.usage
        for name, number in counted.items():
            total[name] = total.get(name, 0) + number
        price = self._prices.get(model)
        if spending is not None:
            spending.add(usage, None if price is None else cost_of(usage, price))
        if price is None:
            total["unpriced_tokens"] = total.get("unpriced_tokens", 0) + sum(counted.values())
        else:
            total["cost"] = total.get("cost", 0.0) + cost_of(usage, price)
        self._db.append(SET_USAGE, (orjson.dumps(total).decode(), session.id))

    def _limits(self, agent_id: str | None, quota_subject: QuotaSubject) -> Limits:
        profile = self._resolver.resolve(agent_id).agent
        limits = Limits.tightest(self._defaults, quota_subject.limits)
        return Limits.tightest(limits, profile.limits if profile else None)

    def _hit(
        self, session: Session, agent_id: str | None, code: str, used: float, limit: float
    ) -> None:
        self._metrics.count("limit_hits", code)
        self._audit.record(
            AuditEntry(
                "limit.hit",
                actor=session.user_id,
                subject=f"session:{session.id}",
                session_id=session.id,
                agent_id=agent_id,
                outcome="denied",
                detail={"code": code, "limit": limit, "used": used},
            )
        )


def usage_fields(usage: TokenUsage) -> dict[str, int]:
    """Return usage in the form of events."""
    return {name: getattr(usage, name) for name in _COUNTED}


def tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the sum of all tokens counted by a provider, including cached ones."""
    return sum(int(usage.get(name, 0)) for name in _COUNTED)


def cost_of(usage: TokenUsage, price: ModelPrice) -> float:
    """Return the cost in dollars."""
    dollars = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_creation_tokens * price.cache_creation
    )
    return dollars / _PER
