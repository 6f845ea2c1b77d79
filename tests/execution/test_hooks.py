"""Hooks around a call: they may tighten, never loosen, and a broken gate is shut."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.execution.calls import CallRequest
from app.execution.hooks.model import HookAction, HookConfig, HookContext, HookResult, HookType
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias
from tests.execution.lab import AnyArgs, Lab, bare_lab, counted, made, open_lab

PAIR = ["tool_call_started", "tool_call_completed"]
PRE, POST = HookType.PRE_TOOL_USE, HookType.POST_TOOL_USE


def hook(answer: Any, kind: HookType = PRE, name: str = "h", **options: Any) -> HookConfig:
    """A hook that gives `answer`, raises it, or returns what it makes of the context."""

    async def handler(context: HookContext) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer(context) if callable(answer) else answer

    return HookConfig(name, kind, handler, **options)


async def hang(_: HookContext) -> None:
    await asyncio.Event().wait()


def modify(**changes: Any):
    return lambda context: HookResult(
        HookAction.MODIFY, modified_args={**context.arguments, **changes}
    )


@pytest.mark.requirement("HOK-04", "HOK-07")
async def test_the_first_hook_that_denies_ends_it_and_the_model_reads_why(lab: Lab):
    later: list[Any] = []
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(hook(HookResult(HookAction.DENY, "not on Sundays"), name="a"))
        lab.runtime.hooks.register(hook(later.append, name="b"))
        outcome = await lab.call("note")
    assert (outcome.status, outcome.result.code) == ("denied", "hook_denied")
    assert (outcome.text, ran, later) == ("not on Sundays", [], [])
    assert lab.watcher.about("c1") == PAIR


BROKEN = [
    RuntimeError("boom"),
    SystemExit(1),
    asyncio.CancelledError(),
    "yes",
    HookResult("sure"),  # type: ignore[arg-type]
    HookResult(HookAction.MODIFY),
    HookResult(HookAction.MODIFY_RESULT, modified_result=1),
]


@pytest.mark.requirement("HOK-07", "HOK-12")
@pytest.mark.parametrize("answer", BROKEN, ids=repr)
async def test_a_gate_hook_that_breaks_or_talks_nonsense_denies(lab: Lab, answer: Any):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(hook(answer))
        outcome = await lab.call("note")
    assert (outcome.status, outcome.result.code, ran) == ("denied", "hook_failed", [])
    assert lab.watcher.about("c1") == PAIR


async def test_a_gate_hook_that_hangs_denies(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(HookConfig("slow", PRE, hang, timeout_s=0.02))
        outcome = await lab.call("note")
    assert (outcome.result.code, ran) == ("hook_failed", [])
    assert "did not respond within 0.02 s" in outcome.text


@pytest.mark.requirement("HOK-05")
async def test_modifying_hooks_compose_in_order_and_what_they_give_is_validated(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(hook(modify(text="first", number=1), name="a"))
        lab.runtime.hooks.register(
            hook(lambda c: modify(text=c.arguments["text"] + " second")(c), name="b")
        )
        assert (await lab.call("note")).status == "success"
        assert [(args.text, args.number) for args in ran] == [("first second", 1)]
        assert lab.watcher.of("tool_call_started")[0]["args"] == {
            "text": "first second",
            "number": 1,
        }
        lab.runtime.hooks.register(hook(modify(number="many"), name="c"))
        outcome = await lab.call("note", "c2")
    assert (outcome.status, len(ran)) == ("invalid_arguments", 1)


async def test_a_hook_cannot_change_arguments_behind_the_gate_s_back(lab: Lab):
    def tamper(context: HookContext) -> None:
        context.arguments["text"] = "tampered"

    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(hook(tamper))
        await lab.call("note", text="plain")
    assert ran[0].text == "plain"
    assert lab.watcher.of("tool_call_started")[0]["args"] == {"text": "plain"}


@pytest.mark.requirement("HOK-02", "HOK-03")
async def test_every_kind_of_hook_fires_at_its_moment_with_what_it_may_see(lab: Lab):
    seen: list[tuple[str, str, dict[str, Any], str, bool | None, str | None]] = []

    def note(kind: HookType):
        return lambda c: seen.append(
            (
                kind.value,
                c.tool_name,
                c.arguments,
                c.phase,
                c.result and c.result.success,
                c.reason,
            )
        )

    async def maybe(args: AnyArgs, ctx: Any) -> ToolResult:
        return ToolResult.ok("x") if args.number else ToolResult.fail("y")

    lab.add(made(maybe))
    for kind in HookType:
        lab.runtime.hooks.register(hook(note(kind), kind))
    requests = [
        CallRequest("c1", "maybe", {"number": 1}),
        CallRequest("c2", "maybe", {"number": 0}),
        CallRequest("c3", "maybe", {"number": 0}),
        CallRequest("c4", "maybe", {"number": "?"}),
    ]
    await lab.run(*requests, workers=1)
    assert seen == [
        ("pre_tool_use", "maybe", {"number": 1}, "PRE", None, None),
        ("post_tool_use", "maybe", {"number": 1}, "POST", True, None),
        ("pre_tool_use", "maybe", {"number": 0}, "PRE", None, None),
        ("tool_error", "maybe", {"number": 0}, "POST", False, None),
        ("post_tool_use", "maybe", {"number": 0}, "POST", False, None),
        ("tool_skip", "maybe", {"number": 0}, "POST", False, "duplicate"),
        ("tool_error", "maybe", {}, "POST", False, "invalid_arguments"),
    ]


@pytest.mark.requirement("HOK-09", "B-31")
async def test_the_error_hook_hears_of_a_timeout_and_cannot_hide_it(lab: Lab):
    codes: list[Any] = []

    async def slow(args: AnyArgs, ctx: Any) -> None:
        await asyncio.Event().wait()

    async def raises(args: AnyArgs, ctx: Any) -> None:
        raise ValueError("x")

    lab.add(made(slow, timeout_s=0.02), made(raises))

    async def hide(context: HookContext) -> HookResult:
        codes.append(context.result and context.result.code)
        return HookResult(HookAction.MODIFY_RESULT, modified_result="all is well")

    lab.runtime.hooks.register(HookConfig("hide", HookType.TOOL_ERROR, hide))
    assert (await lab.call("slow", "c1")).status == "timeout"
    assert (await lab.call("raises", "c2")).status == "error"
    assert codes == ["timeout", "internal"]


@pytest.mark.requirement("HOK-10", "B-31")
async def test_the_skip_hook_hears_of_duplicates_denials_and_disabled_tools(lab: Lab):
    reasons: list[Any] = []
    with counted() as (function, _):
        lab.add(made(function, name="note"), made(function, name="off"))
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        await lab.runtime.governance.set_enabled("off", enabled=False)
        lab.runtime.hooks.register(hook(lambda c: reasons.append(c.reason), HookType.TOOL_SKIP))
        lab.runtime.hooks.register(
            hook(HookResult(HookAction.DENY), filter_names=frozenset({"denied"}))
        )
        lab.add(made(function, name="denied"))
        requests = [CallRequest(f"c{n}", "note", {}) for n in (1, 2)]
        await lab.run(*requests, CallRequest("c3", "denied", {}), CallRequest("c4", "off", {}))
    assert sorted(reasons) == ["disabled_global", "duplicate", "hook_denied"]


@pytest.mark.requirement("HOK-06")
async def test_a_replaced_result_is_what_everybody_sees_also_in_files(lab: Lab):
    async def prints(args: AnyArgs, ctx: Any):
        for _ in range(100):
            yield "the secret recipe " * 40
        yield ToolResult.ok("the secret recipe")

    lab.add(made(prints))
    lab.runtime.hooks.register(
        hook(HookResult(HookAction.MODIFY_RESULT, modified_result="nothing to see"), POST)
    )
    outcome = await lab.call("prints")
    assert (outcome.text, outcome.artifact_id) == ("nothing to see", None)
    assert await lab.rows("SELECT text FROM tool_calls") == [("nothing to see",)]
    folder = lab.runtime.settings.data_dir / "artifacts"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (RuntimeError("boom"), "hook_failed"),
        (HookResult(HookAction.DENY, "not for you"), "hook_denied"),
    ],
    ids=["breaks", "denies"],
)
async def test_a_post_hook_that_breaks_or_denies_withholds_the_result(
    lab: Lab, answer: Any, code: str
):
    async def tells(args: AnyArgs, ctx: Any) -> str:
        return "private"

    lab.add(made(tells, cacheable=True))
    lab.runtime.hooks.register(hook(answer, POST))
    outcome = await lab.call("tells")
    assert (outcome.status, outcome.result.code) == ("error", code)
    assert "private" not in str(lab.watcher.events)


@pytest.mark.requirement("HOK-01", "HOK-08")
async def test_hooks_run_global_first_then_the_tool_s_own_then_the_built_in(lab: Lab):
    order: list[str] = []

    def note(name: str, **options: Any) -> HookConfig:
        return hook(lambda _: order.append(name), name=name, **options)

    with counted() as (function, _):
        lab.runtime.registry.register(made(function, name="note"), hooks=[note("brought")])
        lab.add(made(function, name="other"))
        lab.runtime.hooks.register(note("builtin", builtin=True))
        lab.runtime.hooks.register(note("own"), tool_name="note")
        lab.runtime.hooks.register(note("filtered", filter_names=frozenset({"other"})))
        lab.runtime.hooks.register(note("global"))
        await lab.call("note", "c1")
        assert order == ["global", "own", "brought", "builtin"]
        order.clear()
        await lab.call("other", "c2")
        assert order == ["global", "filtered", "builtin"]
        lab.runtime.hooks.unregister("global")
        order.clear()
        await lab.call("other", "c3")
        assert order == ["filtered", "builtin"]


@pytest.mark.requirement("HOK-11", "CNF-05")
@pytest.mark.parametrize("confirm", [True, False])
async def test_the_built_in_hook_asks_before_a_danger_unless_it_is_switched_off(
    settings: Settings, *, confirm: bool
):
    async with open_lab(settings.model_copy(update={"confirm_dangerous": confirm})) as lab:
        names = {registered.name for registered in lab.runtime.hooks.list_all()}
        assert ("confirm_dangerous_operations" in names) is confirm
        assert "log_calls" in names
        request = CallRequest("c1", "bash", {"command": "rm -rf build"})
        outcome = (await lab.run(request, attended=False))[0]
        assert outcome.status == ("denied" if confirm else "success")


async def test_a_hook_that_makes_a_call_dangerous_makes_it_ask(house: Lab):
    house.runtime.hooks.register(hook(modify(command="git push --force")))
    request = CallRequest("c1", "bash", {"command": "git status"})
    outcome = (await house.run(request, attended=False))[0]
    assert (outcome.status, outcome.result.code) == ("denied", "unattended")


async def test_a_hook_cannot_allow_what_the_floor_denies(house: Lab):
    house.runtime.hooks.register(hook(HookResult(HookAction.ALLOW)))
    outcome = await house.call("bash", command="rm -rf /")
    assert outcome.status == "denied"
    house.runtime.hooks.register(hook(modify(command="rm -rf /"), name="worse"))
    assert (await house.call("bash", "c2", command="ls")).status == "denied"


async def test_a_hook_s_ask_waits_for_a_person(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(hook(HookResult(HookAction.ASK, "second thoughts")))
        running = asyncio.create_task(lab.call("note"))
        asked = await lab.watcher.until("tool_confirmation_request")
        assert (asked["description"], ran) == ("second thoughts", [])
        await lab.answer("approve_once")
        assert (await running).status == "success"
    assert lab.watcher.of("tool_call_started")[0]["awaits_confirmation"] is True


async def test_names_that_callers_make_up_do_not_pile_up(settings: Settings):
    async with bare_lab(settings) as lab:
        await lab.run(*(CallRequest(f"c{n}", f"made_up_{n}", {}) for n in range(50)))
        assert {name for name, _ in lab.runtime.metrics.calls} == {"unknown"}


async def broken_hooks(lab: Lab, kind: HookType, on_error: Any, **changes: Any) -> Any:
    with counted() as (function, ran):
        lab.runtime.registry.register(made(function, name="note"), replace=True)
        lab.runtime.hooks.register(hook(RuntimeError("boom"), kind, on_error=on_error))
        outcome = (await lab.run(CallRequest("c1", "note", {}), **changes))[0]
    return outcome.result.code, len(ran)


@pytest.mark.parametrize(
    ("kind", "on_error", "came_to"),
    [
        (PRE, "deny", ("hook_failed", 0)),
        (PRE, "ask", ("unattended", 0)),
        (PRE, "allow", (None, 1)),
        (POST, "deny", ("hook_failed", 1)),
        (POST, "ask", ("hook_failed", 1)),
        (POST, "allow", (None, 1)),
        (HookType.TOOL_ERROR, "deny", (None, 1)),
    ],
)
async def test_what_a_broken_hook_comes_to_is_its_operator_s_choice(
    lab: Lab, kind: HookType, on_error: Any, came_to: Any
):
    assert await broken_hooks(lab, kind, on_error, attended=False) == came_to


async def test_a_broken_hook_is_an_infrastructure_error_and_nobody_s_decision(lab: Lab):
    await broken_hooks(lab, PRE, "allow")
    rows = await lab.rows(
        "SELECT actor, subject, tool_name, outcome FROM audit WHERE kind = 'hook.failed'"
    )
    stats = lab.runtime.hooks.stats(next(h for h in lab.runtime.hooks.list_all() if h.name == "h"))
    assert rows == [("system", "h", "note", "allowed")]
    assert (stats.calls, stats.failures, stats.denies) == (1, 1, 0)
    assert stats.last_failure == ("hook_raised", "Hook 'h' failed (RuntimeError)")
    assert lab.runtime.metrics.counters["hook_failures", "h"] == 1


async def test_order_decides_and_the_built_in_ones_stay_last(lab: Lab):
    order: list[str] = []

    def note(name: str, **options: Any) -> HookConfig:
        return hook(lambda _: order.append(name), name=name, **options)

    with counted() as (function, _):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(note("builtin", builtin=True, order=-5))
        lab.runtime.hooks.register(note("late", order=7))
        lab.runtime.hooks.register(note("own", order=-1), tool_name="note")
        lab.runtime.hooks.register(note("plain"))
        await lab.call("note")
    assert order == ["own", "plain", "late", "builtin"]


async def test_an_allow_from_a_later_hook_takes_no_question_away(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        lab.runtime.hooks.register(hook(HookResult(HookAction.ASK, "sure?"), name="a"))
        lab.runtime.hooks.register(hook(HookResult(HookAction.ALLOW), name="b"))
        outcome = (await lab.run(CallRequest("c1", "note", {}), attended=False))[0]
    assert (outcome.result.code, ran) == ("unattended", [])


async def test_no_hook_can_hide_from_the_next_one_what_was_found(house: Lab):
    seen: list[Any] = []

    def tamper(context: HookContext) -> None:
        context.decision = None
        context.arguments["command"] = "ls"
        context.tool_name = "calculator"

    house.runtime.hooks.register(hook(tamper, name="a"))
    house.runtime.hooks.register(hook(lambda c: seen.append(c.arguments), name="b"))
    request = CallRequest("c1", "bash", {"command": "rm -rf build"})
    outcome = (await house.run(request, attended=False))[0]
    assert (outcome.result.code, seen) == ("unattended", [{"command": "rm -rf build"}])


async def test_a_result_from_the_cache_is_reported_as_a_skip(lab: Lab):
    reasons: list[Any] = []
    with counted() as (function, _):
        lab.add(made(function, name="note", cacheable=True))
        lab.runtime.hooks.register(hook(lambda c: reasons.append(c.reason), HookType.TOOL_SKIP))
        await lab.call("note", "c1")
        assert (await lab.call("note", "c2")).cached
    assert reasons == ["cached"]


async def test_a_replaced_result_needs_no_shape_of_the_alias(lab: Lab):
    async def replace(context: HookContext) -> HookResult:
        return HookResult(HookAction.MODIFY_RESULT, modified_result="withheld")

    async def plain(args: AnyArgs, ctx: Any) -> dict[str, str]:
        return {"content": "x"}

    def shape(result: ToolResult) -> ToolResult:
        return ToolResult.ok({"shaped": result.data["content"]})

    lab.add(made(plain, aliases=(Alias("shapes", reshape=shape),)))
    assert (await lab.call("shapes", "c1")).result.data == {"shaped": "x"}
    lab.runtime.hooks.register(HookConfig("replace", HookType.POST_TOOL_USE, replace))
    outcome = await lab.call("shapes", "c2")
    assert (outcome.status, outcome.result.data) == ("success", "withheld")
