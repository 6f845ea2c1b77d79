"""Which model is asked when one fails, and which never is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.agents.models.fallback import FAILURES_IN_A_ROW, REST_S, FallbackModels
from app.agents.models.protocol import (
    Completed,
    ModelEvent,
    ModelRequest,
    ModelTextDelta,
    TokenUsage,
)
from app.agents.models.routing import NoModel, RoutedModels
from app.core.clock import ManualClock
from app.core.errors import InvalidInput, ModelFailed
from app.core.models import split_model
from tests.agents.models.exchange import ASK, answer, ask

BUSY = ("overloaded_error", True)
WRONG = ("authentication_error", False)


@dataclass
class Provider:
    """Models that fail as told: name -> failures still to come; after the first delta if said."""

    failing: Mapping[str, list[tuple[str, bool]]] = field(default_factory=dict)
    late: bool = False
    asked: list[ModelRequest] = field(default_factory=list)
    closed: bool = False

    @property
    def names(self) -> list[str]:
        return [request.model for request in self.asked]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append(request)
        failures = self.failing.get(request.model, [])
        if self.late or not failures:
            yield ModelTextDelta(0, request.model)
        if failures:
            code, passing = failures.pop(0)
            raise ModelFailed(f"{request.model} broke.", provider_code=code, retryable=passing)
        yield Completed([], "end_turn", TokenUsage(), f"{request.model}-2026", asked="")

    async def aclose(self) -> None:
        self.closed = True


def models(
    failing: Mapping[str, list[tuple[str, bool]]], *, late: bool = False
) -> tuple[FallbackModels, Provider, ManualClock]:
    """The model `a` with the fallbacks `b` and `c`."""
    provider, clock = Provider(failing, late), ManualClock()
    routed = RoutedModels({"anthropic": provider, "openai": provider}, default="anthropic")
    return FallbackModels(routed, ["b", "c"], clock=clock), provider, clock


A = replace(ASK, model="a")

# failures by model -> who is asked, who answers
CASES: dict[str, tuple[dict[str, list[tuple[str, bool]]], list[str], str]] = {
    "nothing fails": ({}, ["a"], "a"),
    "the first is busy": ({"a": [BUSY]}, ["a", "b"], "b"),
    "two are busy": ({"a": [BUSY], "b": [BUSY]}, ["a", "b", "c"], "c"),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_next_model_answers_for_one_that_is_busy(case: str) -> None:
    failing, asked, answers = CASES[case]
    client, provider, _ = models(failing)

    first, completed = await ask(client, A)

    assert first == ModelTextDelta(0, answers)
    assert isinstance(completed, Completed)
    assert (completed.asked, completed.model) == (answers, f"{answers}-2026")
    assert provider.names == asked
    assert [replace(request, model="a") for request in provider.asked] == [A] * len(asked)


async def test_when_all_are_busy_the_first_failure_is_reported_with_the_others() -> None:
    client, _, _ = models({name: [BUSY] for name in "abc"})

    with pytest.raises(ModelFailed, match=r"a broke\. The fallbacks also failed: b, c\.") as caught:
        await ask(client, A)

    tried = [{"model": name, "provider_code": "overloaded_error"} for name in "abc"]
    assert caught.value.details["tried"] == tried


async def test_a_failure_that_lasts_is_reported_at_once() -> None:
    client, provider, _ = models({"a": [WRONG]})

    with pytest.raises(ModelFailed, match="a broke") as caught:
        await ask(client, A)

    assert provider.names == ["a"]
    assert "tried" not in caught.value.details


async def test_a_fallback_that_is_wrongly_set_up_ends_the_search() -> None:
    client, provider, _ = models({"a": [BUSY], "b": [WRONG]})

    with pytest.raises(ModelFailed, match="The fallbacks also failed: b") as caught:
        await ask(client, A)

    assert provider.names == ["a", "b"]
    assert caught.value.details["tried"][1]["provider_code"] == "authentication_error"


async def test_nobody_finishes_what_another_began_to_say() -> None:
    client, provider, _ = models({"a": [BUSY]}, late=True)

    async with aclosing(client.stream(A)) as events:
        assert await anext(events) == ModelTextDelta(0, "a")
        with pytest.raises(ModelFailed, match="a broke"):
            await anext(events)

    assert provider.names == ["a"]


async def test_a_model_that_fails_again_and_again_rests_for_a_while() -> None:
    client, provider, clock = models({"a": [BUSY] * (FAILURES_IN_A_ROW + 1)})
    for _ in range(FAILURES_IN_A_ROW):
        await ask(client, A)
    provider.asked.clear()

    await ask(client, A)
    clock.advance(REST_S + 1)
    await ask(client, A)
    await ask(client, A)
    clock.advance(REST_S + 1)
    await ask(client, A)

    # Rests; is tried once and rests again; is well.
    assert provider.names == ["b", "a", "b", "b", "a"]


async def test_an_answer_forgives_what_was_before() -> None:
    client, provider, _ = models({"a": [BUSY] * (FAILURES_IN_A_ROW - 1)})
    for _ in range(FAILURES_IN_A_ROW):
        await ask(client, A)
    provider.failing = {"a": [BUSY]}
    await ask(client, A)
    provider.asked.clear()

    await ask(client, A)

    assert provider.names == ["a"]


async def test_when_all_rest_all_are_asked() -> None:
    client, provider, _ = models({name: [BUSY] * FAILURES_IN_A_ROW for name in "abc"})
    for _ in range(FAILURES_IN_A_ROW):
        with pytest.raises(ModelFailed):
            await ask(client, A)

    assert (await answer(client, A)).asked == "a"
    await client.aclose()
    assert provider.closed


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("gpt-5", ("anthropic", "gpt-5")),
        ("openai:gpt-5", ("openai", "gpt-5")),
        ("anthropic:claude", ("anthropic", "claude")),
        ("llama3:8b", ("anthropic", "llama3:8b")),
        ("openai:llama3:8b", ("openai", "llama3:8b")),
        ("openai", ("anthropic", "openai")),
        ("OpenAI:gpt-5", ("anthropic", "OpenAI:gpt-5")),
    ],
)
def test_a_name_may_carry_its_provider(name: str, wanted: tuple[str, str]) -> None:
    assert split_model(name, "anthropic") == wanted


async def test_a_request_goes_to_the_provider_of_its_model() -> None:
    theirs, ours = Provider(), Provider()
    client = RoutedModels({"anthropic": ours, "openai": theirs}, default="anthropic")

    completed = await answer(client, replace(ASK, model="openai:gpt-5"))

    assert (theirs.names, ours.names) == (["gpt-5"], [])
    assert (completed.asked, completed.model) == ("openai:gpt-5", "gpt-5-2026")


async def test_a_provider_without_a_key_names_its_own() -> None:
    known: Any = {"anthropic": Provider(), "openai": NoModel("OPENAI_API_KEY")}
    client = RoutedModels(known, default="anthropic")

    with pytest.raises(ModelFailed, match="set OPENAI_API_KEY"):
        await ask(client, replace(ASK, model="openai:gpt-5"))
    with pytest.raises(InvalidInput, match="model is empty"):
        await ask(client, replace(ASK, model="openai:"))
