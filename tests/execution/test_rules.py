"""Rules at work: on the next call, in every session, without a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config.settings import Settings
from app.core.errors import ConfigurationError, NotFound, VersionMismatch
from app.execution.calls import CallRequest
from app.governance.rules import RULES
from tests.execution.lab import Lab, counted, made, open_lab

NO_PUSH: dict[str, Any] = {
    "tool": "bash",
    "match": {"argv": ["git", "push", "..."]},
    "decision": "deny",
    "justification": "open a pull request instead",
}


def about(name: str, decision: str, **fields: Any) -> dict[str, Any]:
    return {"tool": name, "decision": decision, "justification": "because", **fields}


async def test_a_rule_speaks_from_the_next_call_on_and_not_after_its_end(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        assert (await lab.call("note")).success

        stored = await lab.runtime.rules.create(about("note", "deny"), actor="ann")
        refused = await lab.call("note", call_id="c2")
        assert refused.status == "denied"
        assert refused.result.code == "denied_by_rule"
        assert "because" in refused.text

        await lab.runtime.rules.change(
            stored.id, lambda body: {**body, "enabled": False}, actor="ann", expected=1
        )
        assert (await lab.call("note", call_id="c3")).success
        await lab.runtime.rules.remove(stored.id, actor="ann")
        assert (await lab.call("note", call_id="c4")).success
        assert len(ran) == 3


async def test_a_command_is_denied_whoever_spells_it(house: Lab):
    await house.runtime.rules.create(NO_PUSH, actor="ann")

    outcome = await house.call("bash", command="cd . && /usr/bin/git -C x push")

    assert (outcome.status, outcome.result.code) == ("denied", "denied_by_rule")
    rows = await house.rows("SELECT decision FROM tool_calls")
    kept = orjson.loads(rows[0][0])
    assert kept["verdict"] == "deny"
    assert kept["justification"] == "open a pull request instead"


async def test_a_rules_ask_is_put_to_a_person_also_where_the_hook_is_off(
    settings: Settings,
):
    quiet = settings.model_copy(update={"confirm_dangerous": False})
    async with open_lab(quiet) as house:
        await house.runtime.rules.create(about("calculator", "ask"), actor="ann")
        outcome = (
            await house.run(CallRequest("c1", "calculator", {"expression": "1"}), attended=False)
        )[0]

        assert outcome.status == "denied"
        assert outcome.result.code == "unattended"


async def test_an_allow_releases_the_question_of_the_risk_analysis(house: Lab):
    await house.runtime.rules.create(
        {"tool": "bash", "decision": "allow", "match": {"argv": ["rm", "-f", "gone"]}}, actor="ann"
    )

    assert (await house.call("bash", command="rm -f gone")).success


async def test_changes_are_audited_with_what_was_and_what_is(lab: Lab):
    stored = await lab.runtime.rules.create(about("note", "deny"), actor="ann")
    await lab.runtime.rules.change(stored.id, lambda b: {**b, "decision": "ask"}, actor="bob")
    with pytest.raises(VersionMismatch):
        await lab.runtime.rules.change(stored.id, lambda b: {}, actor="bob", expected=1)
    await lab.runtime.rules.remove(stored.id, actor="ann")

    rows = await lab.rows(
        "SELECT actor, subject, detail FROM audit WHERE kind = 'governance.rule' ORDER BY seq"
    )
    assert [(row[0], row[1]) for row in rows] == [
        ("ann", stored.id),
        ("bob", stored.id),
        ("ann", stored.id),
    ]
    details = [orjson.loads(row[2]) for row in rows]
    assert details[1]["before"]["decision"] == "deny"
    assert details[1]["after"]["decision"] == "ask"
    with pytest.raises(NotFound):
        lab.runtime.rules.require(stored.id)


async def test_what_matched_is_counted(lab: Lab):
    with counted() as (function, _):
        lab.add(made(function, name="note"))
        stored = await lab.runtime.rules.create(about("note", "deny"), actor="ann")
        other = await lab.runtime.rules.create(about("other", "deny"), actor="ann")
        await lab.call("note")
        await lab.call("note", call_id="c2")

    counts = await lab.runtime.rules.counted([stored.id, other.id])
    assert counts[stored.id][0] == 2
    assert counts[stored.id][1] is not None
    assert counts[other.id] == (0, None)


async def test_a_row_that_nobody_can_read_asks_and_leaves_the_rest(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"), made(function, name="other"))
        await lab.runtime.rules.create(about("other", "deny"), actor="ann")

        def spoil(transaction: Any) -> None:
            transaction.execute(
                "INSERT INTO rules (id, body, enabled, version, created_by, created_at,"
                " updated_at) VALUES ('bad', '{', 1, 1, 'x', '', '')"
            )

        await lab.runtime.db.transact(spoil)
        await lab.runtime.rules.load()

        asked = (await lab.run(CallRequest("c1", "note", {}), attended=False))[0]
        denied = await lab.call("other", call_id="c2")
        assert (asked.status, denied.result.code) == ("denied", "denied_by_rule")
        assert ran == []
    states = {item.stored.id: item.problems for item in lab.runtime.rule_sets.loaded()}
    assert states["bad"]


async def test_a_change_of_another_process_is_seen_when_it_is_looked_for(lab: Lab):
    def add(transaction: Any) -> None:
        transaction.execute(
            "INSERT INTO rules (id, body, enabled, version, created_by, created_at, updated_at)"
            " VALUES ('r', ?, 1, 1, 'x', '', '')",
            (orjson.dumps(about("note", "deny")).decode(),),
        )
        transaction.execute("INSERT INTO changes (subject, number) VALUES (?, 99)", (RULES,))

    await lab.runtime.db.transact(add)
    await lab.runtime.changes.poll()

    assert [stored.id for stored in lab.runtime.rules.snapshot] == ["r"]


async def test_a_new_tool_is_held_against_the_rules_that_are_there(lab: Lab):
    await lab.runtime.rules.create(about("toolset:late", "deny"), actor="ann")
    with counted() as (function, ran):
        lab.add(made(function, name="note", toolset="late"))

        assert (await lab.call("note")).status == "denied"
        assert ran == []


async def test_rules_of_a_file_count_and_cannot_be_changed(settings: Settings, tmp_path: Path):
    path = tmp_path / "rules.yml"
    path.write_text(
        "- {tool: calculator, decision: deny, justification: count yourself}\n"
        "- {tool: bash, decision: deny}\n"
    )
    async with open_lab(settings.model_copy(update={"rules_file": path})) as house:
        assert (await house.call("calculator", expression="1")).status == "denied"
        assert [item.problems != () for item in house.runtime.rule_sets.loaded()] == [False, True]
        with pytest.raises(NotFound, match="rules file"):
            await house.runtime.rules.remove("file:1", actor="ann")
        assert (await house.runtime.rules.counted(["file:1"]))["file:1"][0] == 1


@pytest.mark.parametrize("content", ["{", "tool: bash", "- &a [*a", None])
async def test_a_rules_file_that_cannot_be_read_stops_the_start(
    settings: Settings, tmp_path: Path, content: str | None
):
    path = tmp_path / "rules.yml"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigurationError):
        async with open_lab(settings.model_copy(update={"rules_file": path})):
            pass
