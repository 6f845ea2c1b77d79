"""What users keep in the book of schedules, through the tool."""

from __future__ import annotations

from typing import Any

import pytest

from app.config.settings import Settings
from app.governance.agents import AgentProfile
from app.governance.limits import Limits, QuotaSubject
from tests.agents.schedules.schedule_lab import Desk, open_desk
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

HOUR = 3600


@pytest.mark.requirement("SYS-01")
async def test_a_schedule_is_made_listed_and_deleted_and_outlives_a_restart(settings: Settings):
    async with open_desk(settings) as desk:
        made = await desk.make(cron="0 9 * * mon", tz="Europe/Berlin", name="Weekly")
    async with open_desk(settings) as desk:
        (listed,) = (await desk.call()).result.data["schedules"]
        assert listed["id"] == made["id"]
        assert listed["next"] == [
            "2026-01-12T09:00+01:00",
            "2026-01-19T09:00+01:00",
            "2026-01-26T09:00+01:00",
        ]
        gone = await desk.call(action="delete", id=made["id"])
        assert gone.status == "success"
        assert (await desk.call()).result.data["total"] == 0
        await desk.pass_time(30 * 24 * HOUR)
        assert desk.provider.requests == []


async def test_times_without_a_zone_are_the_operators(settings: Settings):
    changed = settings.model_copy(deep=True)
    changed.schedules.timezone = "Asia/Shanghai"
    async with open_desk(changed) as desk:
        made = await desk.make(cron="30 18 * * *")
        assert (made["timezone"], made["next"][0]) == ("Asia/Shanghai", "2026-01-05T18:30+08:00")
        once = await desk.make(at="2026-01-06T12:00")
        assert once["next"] == ["2026-01-06T12:00+08:00"]


async def test_new_times_count_from_now(desk: Desk):
    made = await desk.make(every_seconds=HOUR, name="x")
    await desk.pass_time(HOUR / 2)
    changed = await desk.call(action="update", id=made["id"], every_seconds=2 * HOUR)
    assert changed.result.data["schedule"]["next"][0] == "2026-01-05T10:30+00:00"
    renamed = await desk.call(action="update", id=made["id"], name="y", prompt="Else")
    assert renamed.result.data["schedule"]["next"][0] == "2026-01-05T10:30+00:00"
    assert (renamed.result.data["schedule"]["name"], renamed.result.data["schedule"]["prompt"]) == (
        "y",
        "Else",
    )
    cron = await desk.call(action="update", id=made["id"], cron="0 12 * * *")
    assert cron.result.data["schedule"]["when"] == "0 12 * * *"


async def test_a_paused_schedule_stands_still_and_goes_on_with_its_next_time(desk: Desk):
    made = await desk.make(every_seconds=HOUR)
    paused = await desk.call(action="pause", id=made["id"])
    assert paused.result.data["schedule"]["next"] == []
    await desk.pass_time(2.5 * HOUR)
    assert await desk.history(made["id"]) == []
    resumed = await desk.call(action="resume", id=made["id"])
    assert resumed.result.data["schedule"]["next"][0] == "2026-01-05T11:00+00:00"
    await desk.pass_time(HOUR / 2)
    (slot,) = await desk.history(made["id"])
    assert (slot.status, slot.reason) == ("started", "")


async def test_a_run_begins_at_once_when_somebody_wants_it(desk: Desk):
    made = await desk.make(cron="0 0 1 1 *")
    begun = await desk.call(action="run_now", id=made["id"])
    assert begun.status == "success"
    (slot,) = await desk.history(made["id"])
    assert (slot.trigger, slot.run_status) == ("manual", "success")
    reported = await desk.call(action="history", id=made["id"])
    assert reported.result.data["history"][0]["run_id"] == slot.run_id
    assert slot.run_id in str(reported.result.text)


async def test_nobody_sees_or_changes_the_schedules_of_somebody_else(desk: Desk):
    made = await desk.make(every_seconds=HOUR)
    for action in ("get", "delete", "pause", "resume", "run_now", "history"):
        refused = await desk.call(action=action, id=made["id"], context={"user_id": "bob"})
        assert (refused.status, refused.result.code) == ("error", "not_found"), action
    update = await desk.call(
        action="update", id=made["id"], prompt="Mine", context={"user_id": "bob"}
    )
    assert update.result.code == "not_found"
    assert (await desk.call(context={"user_id": "bob"})).result.data["total"] == 0
    assert (await desk.call(action="get", id=made["id"])).status == "success"


@pytest.mark.parametrize("other", [{"agent_id": None}, {"project": None}])
async def test_a_call_sees_no_schedule_that_runs_with_other_rights(desk: Desk, other: Any):
    # The same user, but an agent with fewer tools, or a token for one project alone.
    await desk.service.agents.create(AgentProfile(id="strong"), actor="root")
    made = await desk.make(every_seconds=HOUR, prompt="Mine", context={"agent_id": "strong"})
    away = {"agent_id": "strong", **other}
    for action in ("get", "update", "delete", "pause", "resume", "run_now", "history"):
        wanted = {"prompt": "Delete everything"} if action == "update" else {}
        refused = await desk.call(action=action, id=made["id"], context=away, **wanted)
        assert (refused.status, refused.result.code) == ("error", "not_found"), action
    assert (await desk.call(context=away)).result.data["total"] == 0
    kept = await desk.call(action="get", id=made["id"], context={"agent_id": "strong"})
    assert kept.result.data["schedule"]["prompt"] == "Mine"


async def test_whoever_changes_a_schedule_is_whom_it_is_counted_for(desk: Desk):
    _, rich = await desk.service.tokens.create("ann", by="root")
    _, poor = await desk.service.tokens.create("ann", limits=Limits(concurrent=1), by="root")
    made = await desk.make(every_seconds=HOUR, context={"quota_subject": QuotaSubject(rich.id)})
    assert (await desk.schedules.get(None, made["id"])).token_id == rich.id
    context = {"quota_subject": QuotaSubject(poor.id)}
    await desk.call(action="update", id=made["id"], prompt="Much work", context=context)
    assert (await desk.schedules.get(None, made["id"])).token_id == poor.id


async def test_what_an_administrator_paused_goes_on_at_their_word_alone(desk: Desk):
    made = await desk.make(every_seconds=HOUR)
    await desk.schedules.pause(None, made["id"], paused=True, by="root")
    for action in ("resume", "run_now", "pause"):
        refused = await desk.call(action=action, id=made["id"])
        assert (refused.status, refused.result.code) == ("error", "held"), action
    await desk.call(action="update", id=made["id"], every_seconds=2 * HOUR)
    await desk.pass_time(4 * HOUR)
    assert await desk.history(made["id"]) == []
    await desk.schedules.pause(None, made["id"], paused=False, by="root")
    assert (await desk.call(action="run_now", id=made["id"])).status == "success"


async def test_a_run_that_begins_its_own_schedule_does_not_multiply(settings: Settings):
    waiting = Turn(tool_use("bash", {"command": "sleep 600"}))
    async with open_desk(settings, waiting, Turn(text("x"))) as desk:
        made = await desk.make(cron="0 0 1 1 *")
        assert (await desk.call(action="run_now", id=made["id"])).status == "success"
        await desk.provider.received(1)
        desk.clock.advance(1)
        again = await desk.call(action="run_now", id=made["id"])
        assert (again.status, again.result.code) == ("error", "already_begun")
        (slot,) = await desk.schedules.history(None, made["id"], 10)
        await desk.service.runs.cancel(slot.session_id, slot.run_id)


async def test_a_user_has_no_more_schedules_than_allowed(settings: Settings):
    bounded = settings.model_copy(deep=True)
    bounded.schedules.per_user = 2
    async with open_desk(bounded) as desk:
        for _ in range(2):
            await desk.make(every_seconds=HOUR)
        refused = await desk.call(action="create", prompt="x", every_seconds=HOUR)
        assert (refused.status, refused.result.code) == ("error", "too_many_schedules")
        theirs = await desk.call(
            action="create", prompt="x", every_seconds=HOUR, context={"user_id": "bob"}
        )
        assert theirs.status == "success"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "create", "prompt": "x"}, "one of cron, every_seconds and at"),
        (
            {"action": "create", "prompt": "x", "cron": "* * * * *", "at": "in 1h"},
            "not cron and at",
        ),
        ({"action": "create", "every_seconds": 3600}, "create requires prompt"),
        ({"action": "delete"}, "delete requires id"),
        ({"action": "update", "id": "x"}, "a field to change"),
        ({"action": "create", "prompt": "x", "cron": "0 9 * * *", "tz": "Mars"}, "time zone"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(desk: Desk, arguments, message):
    refused = await desk.call(**arguments)
    assert refused.status == "invalid_arguments"
    assert message in str(refused.result.error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cron": "0 0 9 * * *"}, "5 fields"),
        ({"cron": "99 * * * *"}, "Bad minute"),
        ({"every_seconds": 59}, "the minimum interval is 60 s"),
        ({"at": "2020-01-01"}, "has passed"),
        ({"at": "soon"}, "not a date or time"),
        ({"cron": "0 9 * * *", "expires_at": "later"}, "expires_at"),
        ({"at": "2026-03-29T02:30", "tz": "Europe/Berlin"}, "skip 2026-03-29T02:30"),
    ],
)
async def test_times_that_cannot_be_are_refused_and_nothing_is_kept(desk: Desk, arguments, message):
    refused = await desk.call(action="create", prompt="x", **arguments)
    assert (refused.status, refused.result.code) == ("error", "invalid_schedule")
    assert message in str(refused.result.error)
    assert (await desk.call()).result.data["total"] == 0


async def test_the_names_that_other_agents_know(desk: Desk):
    made = await desk.call("CronCreate", cron="0 9 * * *", prompt="Look", durable=True)
    assert set(made.result.data) == {"cron_id", "schedule", "prompt", "enabled", "created_at"}
    again = await desk.call("cron_create", schedule="0 10 * * *", prompt="x", description="Name")
    assert again.result.data["schedule"] == "0 10 * * *"
    listed = await desk.call("CronList")
    assert (listed.result.data["count"], listed.result.data["crons"][0]["enabled"]) == (2, True)
    gone = await desk.call("CronDelete", cron_id=made.result.data["cron_id"])
    assert gone.result.data == {"cron_id": made.result.data["cron_id"], "deleted": True}
    assert (await desk.call("ScheduleCronTool")).result.data["total"] == 1


async def test_the_next_time_only_of_a_cron_expression(desk: Desk):
    made = await desk.make(cron="0 9 * * *", recurring=False, tz="Europe/Berlin")
    assert (made["when"], made["recurring"], len(made["next"])) == ("0 9 * * *", False, 1)
    named = await desk.call(action="update", id=made["id"], name="Once")
    assert named.result.data["schedule"]["next"] == made["next"]
    moved = await desk.call(action="update", id=made["id"], cron="0 10 * * *")
    assert moved.result.data["schedule"]["recurring"] is False
    assert len(moved.result.data["schedule"]["next"]) == 1
    daily = await desk.call(action="update", id=made["id"], recurring=True)
    assert len(daily.result.data["schedule"]["next"]) == 3
    again = await desk.call(action="update", id=made["id"], recurring=False)
    assert "once, 0 10 * * *" in str(again.result.text)
    every = await desk.call(action="update", id=made["id"], every_seconds=HOUR)
    assert every.result.data["schedule"]["recurring"] is True
    refused = await desk.call(action="update", id=made["id"], recurring=False)
    assert "use `at`" in str(refused.result.error)
    for times in ({"every_seconds": HOUR}, {"at": "in 10m"}):
        wrong = await desk.call(action="create", prompt="x", recurring=False, **times)
        assert wrong.status == "invalid_arguments"


async def test_changes_are_in_the_audit(desk: Desk):
    made = await desk.make(every_seconds=HOUR)
    await desk.call(action="pause", id=made["id"])
    await desk.call(action="delete", id=made["id"])
    sql = "SELECT actor, subject, outcome FROM audit WHERE kind = 'schedule' ORDER BY seq"
    assert await desk.lab.rows(sql) == [
        ("ann", made["id"], "created"),
        ("ann", made["id"], "paused"),
        ("ann", made["id"], "deleted"),
    ]
