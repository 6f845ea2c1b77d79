"""Approval policies: groups, several people, escalation, substitutes, and limited approvals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.clock import ManualClock
from app.core.errors import (
    AlreadyApproved,
    ConfirmationAlreadyResolved,
    ConfirmationExpired,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
)
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.execution.wait_watcher import NoWatcher
from app.governance.approvals.approver import Approver
from app.governance.approvals.policies import ApprovalPolicy, PolicySelector, PolicyStep
from tests.execution.lab import WRITES, AnyArgs, Lab, bare_lab, made

pytestmark = pytest.mark.requirement("APR-6", "APR-7", "APR-8")

ADMIN = Approver("root", is_admin=True)
PAYMENTS = (PolicyStep(("payments",)),)


class Reports(NoWatcher):
    """Collects what changes while a confirmation is open."""

    def __init__(self) -> None:
        self.changes: list[str] = []

    def changed(self, item_id: str, change: Any, request: Any, occurrence: int) -> None:
        self.changes.append(f"{change} {occurrence}")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def ground(settings: Settings, clock: ManualClock) -> AsyncIterator[Lab]:
    """A gate whose tool asks, with the groups payments (bob, BOB, eve) and operations (olga)."""
    async with bare_lab(settings, clock=clock) as lab:
        ran: list[str] = []

        async def send(args: AnyArgs, ctx: Any) -> str:
            ran.append(args.text)
            return f"sent {args.text}"

        lab.add(made(send, requires_confirmation=True, **WRITES))
        lab.context["business"] = {"ran": ran}
        groups = lab.runtime.approvals.groups
        await groups.create("payments", name="Payments", members=["bob", "BOB", "eve"], actor="t")
        await groups.create("operations", name="Operations", members=["olga"], actor="t")
        yield lab


async def policy(lab: Lab, **fields: Any) -> ApprovalPolicy:
    given = {"id": "pol", "name": "Policy", "steps": PAYMENTS, **fields}
    return await lab.runtime.approvals.policies.create(ApprovalPolicy(**given), actor="t")


@asynccontextmanager
async def asking(lab: Lab, call_id: str = "c1") -> AsyncIterator[Any]:
    """A call that waits for its answer; it has ended afterwards."""
    running = asyncio.create_task(lab.run(CallRequest(call_id, "send", {"text": "hi"})))
    try:
        await lab.watcher.until("tool_confirmation_request", tool_call_id=call_id)
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def outcome(running: asyncio.Task[list[CallOutcome]]) -> str:
    return (await running)[0].status


def ran(lab: Lab) -> list[str]:
    return list(lab.context["business"]["ran"])


async def test_without_a_policy_the_owner_answers_and_a_colleague_does_not(ground: Lab):
    async with asking(ground) as running:
        with pytest.raises(Forbidden, match="not an approver"):
            await ground.answer("approve_once", by="bob")
        assert await ground.answer("approve_once", by="ann") == "approved"
        assert await outcome(running) == "success"


async def test_a_policy_names_the_approvers_and_the_owner_is_none_of_them(ground: Lab):
    await policy(ground)
    async with asking(ground) as running:
        asked = await ground.watcher.until("tool_confirmation_request")
        assert asked["approval"]["policy"] == "Policy"
        assert asked["approval"]["requester"] == "ann"
        for stranger in ("ann", "olga", Approver("eve", approves=False)):
            with pytest.raises(Forbidden, match="'Policy' names the approvers"):
                await ground.answer("approve_once", by=stranger)
        assert ran(ground) == []
        assert await ground.answer("approve_once", by="eve") == "approved"
        assert await outcome(running) == "success"


@pytest.mark.parametrize(
    ("by", "may"),
    [
        (Approver("zoe", approves=False, groups=frozenset({"payments"})), True),
        (Approver("zoe", approves=False, groups=frozenset({"operations"})), False),
        (Approver("zoe", groups=frozenset({"Payments"})), False),
        (Approver("eve", agents=frozenset({"other"})), False),
        (Approver("eve", projects=frozenset({"other"})), False),
        (Approver("eve", kind="agent"), False),
        (ADMIN, True),
    ],
    ids=str,
)
async def test_who_may_answer(ground: Lab, by: Approver, *, may: bool):
    await policy(ground)
    async with asking(ground) as running:
        if may:
            assert await ground.answer("approve_once", by=by) == "approved"
            assert await outcome(running) == "success"
        else:
            with pytest.raises(Forbidden):
                await ground.answer("approve_once", by=by)
            assert ran(ground) == []


@pytest.mark.parametrize(
    ("selector", "applies"),
    [
        ({"tools": ("se*",)}, True),
        ({"tools": ("bash",)}, False),
        ({"owners": ("ann",)}, True),
        ({"owners": ("bob",)}, False),
        ({"agents": ("default",)}, True),
        ({"agents": ("writer",)}, False),
        ({"projects": ("elsewhere",)}, False),
        ({"risks": ("critical",)}, False),
        ({"risks": ("low", "medium", "high")}, True),
    ],
    ids=str,
)
async def test_a_policy_applies_by_its_selector(ground: Lab, selector: Any, *, applies: bool):
    await policy(ground, applies_to=PolicySelector(**selector))
    async with asking(ground):
        asked = await ground.watcher.until("tool_confirmation_request")
        assert ("approval" in asked) is applies


async def test_the_first_enabled_policy_by_position_decides(ground: Lab):
    await policy(ground, id="late", name="Late", position=20)
    await policy(ground, id="off", name="Off", position=1, enabled=False)
    await policy(ground, id="early", name="Early", position=10)
    async with asking(ground):
        asked = await ground.watcher.until("tool_confirmation_request")
        assert asked["approval"]["policy"] == "Early"


async def test_two_people_must_approve_and_spellings_are_one_person(ground: Lab):
    await policy(ground, quorum=2)
    async with asking(ground) as running:
        asked = await ground.watcher.until("tool_confirmation_request")
        assert [option["option_id"] for option in asked["options"]] == ["decline", "approve_once"]
        assert asked["editable"] is False
        assert await ground.answer("approve_once", by="bob") == "recorded"
        for again in ("bob", "BOB"):
            with pytest.raises(AlreadyApproved, match="1 of 2 approvals"):
                await ground.answer("approve_once", by=again)
        vote = await ground.watcher.until("tool_confirmation_vote")
        assert (vote["by"], vote["approved_by"], vote["quorum"]) == ("bob", ["bob"], 2)
        assert ran(ground) == []
        with pytest.raises(InvalidInput, match="2 people"):
            await ground.answer("approve_once", by="eve", edited_args={"text": "other"})
        assert await ground.answer("approve_once", by="eve") == "approved"
        assert await outcome(running) == "success"
    ended = await ground.watcher.until("tool_confirmation_resolved")
    assert (ended["by"], ended["approved_by"]) == ("eve", ["bob", "eve"])
    kinds = await ground.rows("SELECT kind, actor FROM audit WHERE kind LIKE 'confirmation.%'")
    assert kinds == [
        ("confirmation.asked", "ann"),
        ("confirmation.vote", "bob"),
        ("confirmation.answered", "eve"),
    ]


async def test_one_decline_ends_a_request_that_several_must_approve(ground: Lab):
    await policy(ground, quorum=2)
    async with asking(ground) as running:
        asked = await ground.watcher.until("tool_confirmation_request")
        await ground.answer("approve_once", by="bob")
        assert await ground.answer("decline", by="eve") == "declined"
        assert await outcome(running) == "declined"
    with pytest.raises(ConfirmationAlreadyResolved, match="Already declined by eve"):
        await ground.answer("approve_once", asked, by="eve")
    assert ran(ground) == []


async def test_of_many_votes_at_once_each_person_counts_once(ground: Lab):
    await policy(ground, quorum=2)
    async with asking(ground) as running:
        votes = [ground.answer("approve_once", by=name) for name in ("bob", "BOB", "eve") * 4]
        results = await asyncio.gather(*votes, return_exceptions=True)
        assert [r for r in results if isinstance(r, str)] == ["recorded", "approved"]
        assert await outcome(running) == "success"
    assert ran(ground) == ["hi"]
    assert len(await ground.rows("SELECT * FROM confirmation_votes")) == 2


async def test_the_requester_may_not_answer_where_the_policy_says_so(ground: Lab):
    steps = (PolicyStep(("payments",), owner=True),)
    await policy(ground, steps=steps, not_requester=True)
    async with asking(ground):
        for requester in ("ann", "ANN", Approver("ann", is_admin=True)):
            with pytest.raises(Forbidden):
                await ground.answer("approve_once", by=requester)
        assert await ground.answer("decline", by="bob") == "declined"


async def test_the_next_group_may_answer_after_its_time(ground: Lab, clock: ManualClock):
    await policy(ground, steps=(*PAYMENTS, PolicyStep(("operations",), after_s=300)))
    reports = Reports()
    ground.runtime.confirmations.watch(reports)
    async with asking(ground) as running:
        clock.advance(299)
        ground.runtime.confirmations.check_due()
        with pytest.raises(Forbidden):
            await ground.answer("approve_once", by="olga")
        assert reports.changes == []
        clock.advance(1)
        ground.runtime.confirmations.check_due()
        assert reports.changes[0] == "escalated 1"
        assert await ground.answer("approve_once", by="olga") == "approved"
        assert await outcome(running) == "success"


async def test_reminders_come_at_half_and_nine_tenths_of_the_time(ground: Lab, clock: ManualClock):
    await policy(ground, expires_in_s=100)
    reports = Reports()
    ground.runtime.confirmations.watch(reports)
    async with asking(ground) as running:
        seen = []
        for _ in range(10):
            clock.advance(10)
            ground.runtime.confirmations.check_due()
            seen.append(len(reports.changes))
        assert reports.changes == ["reminder 1", "reminder 2"]
        assert seen == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
        assert await outcome(running) == "expired"


async def test_a_policy_can_let_requests_wait_without_end(ground: Lab, clock: ManualClock):
    await policy(ground, expires_in_s=0)
    async with asking(ground) as running:
        asked = await ground.watcher.until("tool_confirmation_request")
        assert "expires_at" not in asked
        clock.advance(10_000_000)
        ground.runtime.confirmations.check_due()
        assert await ground.answer("approve_once", by="bob") == "approved"
        assert await outcome(running) == "success"


async def test_a_late_vote_of_several_is_refused(ground: Lab, clock: ManualClock):
    await policy(ground, quorum=2, expires_in_s=60)
    async with asking(ground):
        await ground.answer("approve_once", by="bob")
        clock.advance(61)
        with pytest.raises(ConfirmationExpired):
            await ground.answer("approve_once", by="eve")
    assert ran(ground) == []


async def test_a_substitute_answers_in_the_time_and_counts_as_one_with_the_other(
    ground: Lab, clock: ManualClock
):
    substitutes = ground.runtime.approvals.substitutes
    await policy(ground, quorum=2)
    start = clock.time() + 100
    made_ = await substitutes.create(
        "bob", "zoe", starts_at=start, ends_at=start + 100, note="", actor="bob"
    )
    async with asking(ground) as running:
        with pytest.raises(Forbidden):
            await ground.answer("approve_once", by="zoe")
        clock.advance(100)
        assert await ground.answer("approve_once", by="zoe") == "recorded"
        vote = await ground.watcher.until("tool_confirmation_vote")
        assert (vote["by"], vote["on_behalf_of"]) == ("zoe", "bob")
        with pytest.raises(AlreadyApproved):
            await ground.answer("approve_once", by="bob")
        assert await ground.answer("approve_once", by="eve") == "approved"
        assert await outcome(running) == "success"
    async with asking(ground, "c2"):
        clock.advance(100)
        asked = await ground.watcher.until("tool_confirmation_request", tool_call_id="c2")
        with pytest.raises(Forbidden):
            await ground.answer("approve_once", asked, by="zoe")
    with pytest.raises(Conflict, match="has ended"):
        await substitutes.revoke(made_.id, actor="bob")


async def test_a_substitute_of_an_owner_answers_until_it_is_revoked(
    ground: Lab, clock: ManualClock
):
    substitutes = ground.runtime.approvals.substitutes
    end = clock.time() + 1000
    named = await substitutes.create(
        "ann", "zoe", starts_at=None, ends_at=end, note="", actor="ann"
    )
    async with asking(ground) as running:
        assert await ground.answer("approve_once", by="zoe") == "approved"
        assert await outcome(running) == "success"
    with pytest.raises(NotFound):
        await substitutes.revoke(named.id, actor="bob", only_of="bob")
    await substitutes.revoke(named.id, actor="zoe", only_of="zoe")
    async with asking(ground, "c2"):
        asked = await ground.watcher.until("tool_confirmation_request", tool_call_id="c2")
        with pytest.raises(Forbidden):
            await ground.answer("approve_once", asked, by="zoe")
    entries = await ground.rows(
        "SELECT actor, outcome FROM audit WHERE kind = 'governance.substitution'"
    )
    assert entries == [("ann", "created"), ("zoe", "revoked")]


async def test_a_substitute_cannot_answer_what_the_requester_may_not(
    ground: Lab, clock: ManualClock
):
    """Neither the requester for another, nor another for the requester."""
    substitutes = ground.runtime.approvals.substitutes
    await policy(ground, steps=(PolicyStep(("payments",), owner=True),), not_requester=True)
    end = clock.time() + 1000
    await substitutes.create("bob", "ann", starts_at=None, ends_at=end, note="", actor="bob")
    await substitutes.create("ann", "zoe", starts_at=None, ends_at=end, note="", actor="ann")
    async with asking(ground):
        for barred in ("ann", "zoe"):
            with pytest.raises(Forbidden):
                await ground.answer("approve_once", by=barred)
    assert ran(ground) == []


async def test_an_approval_for_later_calls_does_not_replace_several_people(ground: Lab):
    async with asking(ground) as running:
        await ground.answer("approve_session", by="ann")
        assert await outcome(running) == "success"
    strict = await policy(ground, quorum=2)
    async with asking(ground, "c2"):
        asked = await ground.watcher.until("tool_confirmation_request", tool_call_id="c2")
        assert asked["approval"]["quorum"] == 2
    await ground.runtime.approvals.policies.change(strict.id, {"enabled": False}, actor="t")
    results = await ground.run(CallRequest("c3", "send", {"text": "hi"}))
    assert results[0].status == "success"


async def test_an_approval_ends_after_its_uses(ground: Lab):
    async with asking(ground) as running:
        await ground.answer("approve_session", by="ann", max_uses=2)
        assert await outcome(running) == "success"
    for call_id in ("c2", "c3"):
        results = await ground.run(CallRequest(call_id, "send", {"text": "hi"}))
        assert results[0].status == "success"
    async with asking(ground, "c4"):
        pass
    assert len(ran(ground)) == 3


async def test_of_calls_at_once_an_approval_covers_only_its_uses(ground: Lab):
    async with asking(ground) as running:
        await ground.answer("approve_session", by="ann", max_uses=2)
        await running
    calls = [CallRequest(f"d{number}", "send", {"text": "hi"}) for number in range(5)]
    running_all = asyncio.gather(*(ground.run(call) for call in calls))
    await ground.watcher.until("tool_confirmation_request", 4)
    assert len(ran(ground)) == 3
    for asked in ground.watcher.of("tool_confirmation_request")[1:]:
        await ground.answer("decline", asked, by="ann")
    statuses = [results[0].status for results in await running_all]
    assert sorted(statuses) == ["declined"] * 3 + ["success"] * 2


async def test_an_approval_ends_after_a_shorter_time(ground: Lab, clock: ManualClock):
    async with asking(ground) as running:
        await ground.answer("approve_session", by="ann", expires_in_s=60)
        await running
    assert (await ground.run(CallRequest("c2", "send", {"text": "hi"})))[0].success
    clock.advance(61)
    async with asking(ground, "c3"):
        pass


async def test_limits_belong_to_standing_approvals(ground: Lab):
    async with asking(ground):
        for limit in ({"max_uses": 2}, {"expires_in_s": 60.0}):
            with pytest.raises(InvalidInput, match="limits a standing approval"):
                await ground.answer("approve_once", by="ann", **limit)


async def test_members_of_a_group_change_while_a_request_is_open(ground: Lab):
    groups = ground.runtime.approvals.groups
    await policy(ground)
    async with asking(ground) as running:
        await groups.change("payments", {"members": ["zoe"]}, actor="t")
        with pytest.raises(Forbidden):
            await ground.answer("approve_once", by="bob")
        assert await ground.answer("approve_once", by="zoe") == "approved"
        assert await outcome(running) == "success"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"steps": ()}, "steps"),
        ({"steps": (PolicyStep(),)}, "steps.0.groups"),
        ({"steps": (PolicyStep(("nobody",)),)}, "steps.0.groups"),
        ({"steps": (PolicyStep(("payments",), after_s=5),)}, "steps.0.after_s"),
        ({"steps": (*PAYMENTS, PolicyStep(("operations",)))}, "steps.1.after_s"),
    ],
    ids=str,
)
async def test_a_policy_that_nobody_could_answer_is_refused(ground: Lab, fields: Any, field: str):
    with pytest.raises(InvalidInput) as caught:
        await policy(ground, **fields)
    assert caught.value.details["field"] == field
    assert ground.runtime.approvals.policies.list_all() == []


async def test_a_group_that_a_policy_names_stays(ground: Lab):
    await policy(ground)
    with pytest.raises(Conflict, match="'Policy' names the group"):
        await ground.runtime.approvals.groups.remove("payments", actor="t")
    await ground.runtime.approvals.groups.remove("operations", actor="t")
