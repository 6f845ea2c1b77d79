"""Statistics of confirmations and their answers, to detect approval fatigue."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.confirmation_queries import Asked, ConfirmationArchive
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of

router = routes_of("admin", below="/admin")

# A rule is proposed above this share of approvals, from this number of answers on.
CLEAR_SHARE, CLEAR_AFTER = 0.95, 20
_FIGURES = {
    "asked": 40,
    "approved": 39,
    "declined": 1,
    "expired": 0,
    "cancelled": 0,
    "pending": 0,
    "approve_rate": 0.975,
    "propose_rule": True,
}


class Answers(BaseModel):
    """Number of answers by kind."""

    model_config = example(**_FIGURES)

    asked: int
    approved: int
    declined: int
    expired: int
    cancelled: int
    pending: int
    approve_rate: float | None = Field(description="Share of those answered by a person.")
    propose_rule: bool = Field(
        description="Approved often and almost always: consider a narrow rule that allows it."
    )

    @classmethod
    def of(cls, asked: Asked) -> Answers:
        answered = asked["approved"] + asked["declined"]
        rate = round(asked["approved"] / answered, 4) if answered else None
        clear = rate is not None and rate > CLEAR_SHARE and answered >= CLEAR_AFTER
        return cls(
            asked=asked.total(),
            approved=asked["approved"],
            declined=asked["declined"],
            expired=asked["expired"],
            cancelled=asked["cancelled"],
            pending=asked["pending"],
            approve_rate=rate,
            propose_rule=clear,
        )


class ConfirmationFigures(BaseModel):
    """Confirmation statistics by tool and by reason, over the latest confirmations."""

    model_config = example(
        calls=1000,
        asked_per_100_calls=4.0,
        tools={"bash": _FIGURES},
        reasons={"delete": _FIGURES},
    )

    calls: int = Field(description="Calls since the first of these confirmations.")
    asked_per_100_calls: float | None
    tools: dict[str, Answers]
    reasons: dict[str, Answers] = Field(
        description="By rule or finding; a confirmation can have several."
    )


@router.get("/confirmations/figures", summary="Get approval statistics", responses=problems())
async def confirmation_figures(
    service: ServiceDep,
    _: Admin,
    latest: Annotated[
        int, Query(ge=1, le=5000, description="Number of recent confirmations to analyse.")
    ] = 1000,
) -> ConfirmationFigures:
    """Scope `admin`."""
    figures = await ConfirmationArchive(service.database).figures(latest)
    share = round(100 * figures.asked / figures.calls, 2) if figures.calls else None
    return ConfirmationFigures(
        calls=figures.calls,
        asked_per_100_calls=share,
        tools={name: Answers.of(asked) for name, asked in figures.tools.items()},
        reasons={name: Answers.of(asked) for name, asked in figures.reasons.items()},
    )
