"""How servers of the chat completions wire fail, and what is wrongly set."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import pytest

from app.agents.models.openai import OpenAIModel, OpenAISettings
from app.core.errors import ConfigurationError, ModelFailed
from tests.agents.models.chat_lab import chat_lab, raw
from tests.agents.models.exchange import ASK, KEY, answer, failure
from tests.support.scripted_anthropic.turns import HttpError, PlainAnswer, Turn, text
from tests.support.scripted_openai.server import ScriptedOpenAI

PAGE = "<html><body>nginx</body></html>"

# status, body -> provider_code, what the message holds, what it must not hold
BODIES: dict[str, tuple[int, Any, str, str]] = {
    "OpenAI": (
        401,
        {"error": {"message": "Incorrect key", "type": "invalid_request_error", "code": "x"}},
        "authentication_error",
        "Incorrect key",
    ),
    "out of credit": (
        429,
        {"error": {"message": "You exceeded", "type": "insufficient_quota", "code": None}},
        "billing_error",
        "You exceeded",
    ),
    "too long": (
        400,
        {"error": {"message": "maximum context", "code": "context_length_exceeded"}},
        "request_too_large",
        "maximum context",
    ),
    "vLLM, older": (
        404,
        {"object": "error", "message": "no such model", "type": "NotFoundError", "code": 404},
        "not_found_error",
        "no such model",
    ),
    "Ollama": (404, {"error": "model 'x' not found"}, "not_found_error", "model 'x' not found"),
    "FastAPI": (
        422,
        {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]},
        "invalid_request_error",
        "field required",
    ),
    "detail": (403, {"detail": "Not allowed here"}, "permission_error", "Not allowed here"),
    "a list": (400, [{"error": {"message": "bad"}}], "invalid_request_error", "bad"),
    "plain text": (400, "what?", "invalid_request_error", "what?"),
    "a page": (403, PAGE, "permission_error", "Check the permissions of the key"),
    "empty": (400, "", "invalid_request_error", "Change the request"),
    "nothing but depth": (
        400,
        "[" * 400 + "]" * 400,
        "invalid_request_error",
        "Change the request",
    ),
    "no words": (400, {"error": {"message": ["b"], "type": 3}}, "invalid_request_error", "b"),
}


@pytest.mark.parametrize("case", BODIES)
async def test_a_lasting_failure_is_reported_in_the_servers_words(case: str) -> None:
    status, body, code, words = BODIES[case]
    async with chat_lab() as lab:
        lab.provider.script(HttpError(status, "", "", body=body), Turn(text("never")))

        _, failed = await failure(lab.model)

        assert lab.provider.remaining == 1
    assert (failed.details["provider_code"], failed.details["status"]) == (code, status)
    assert failed.details["retryable"] is False
    assert words in str(failed)
    assert "<html" not in str(failed)


# what stands in the stream -> provider_code, whether it may pass
IN_STREAM: dict[str, tuple[Any, str, bool]] = {
    "server error": ({"error": {"message": "m", "type": "server_error"}}, "api_error", True),
    "a status": ({"error": {"message": "m", "code": 502}}, "api_error", True),
    "rate": ({"error": {"message": "m", "code": "rate_limit_exceeded"}}, "rate_limit_error", True),
    "busy": ({"error": {"message": "m", "type": "overloaded_error"}}, "overloaded_error", True),
    "text": ({"error": "out of memory"}, "api_error", True),
    "no wrapper": (
        {"object": "error", "message": "m", "code": 400},
        "invalid_request_error",
        False,
    ),
    "detail": ({"detail": "gone wrong"}, "api_error", True),
    "lasting": (
        {"error": {"message": "m", "type": "invalid_request_error"}},
        "invalid_request_error",
        False,
    ),
    "credit": ({"error": {"message": "m", "type": "insufficient_quota"}}, "billing_error", False),
    "key": ({"error": {"message": "m", "code": "invalid_api_key"}}, "authentication_error", False),
}


@pytest.mark.parametrize("case", IN_STREAM)
async def test_an_error_inside_the_stream_is_distinguished(case: str) -> None:
    chunk, code, passing = IN_STREAM[case]
    async with chat_lab(max_retries=0) as lab:
        lab.provider.script(raw(chunk))

        _, failed = await failure(lab.model)

    assert failed.details == {
        "provider_code": code,
        "status": 200,
        "retryable": passing,
        "request_id": "req_0001",
    }


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
async def test_an_answer_of_another_type_points_to_the_base_url(kind: str) -> None:
    async with chat_lab() as lab:
        lab.provider.script(PlainAnswer(PAGE, kind), Turn(text("never")))

        _, failed = await failure(lab.model)

        assert lab.provider.remaining == 1
    assert failed.details["provider_code"] == "not_a_stream"
    assert "OPENAI_BASE_URL" in str(failed)


async def test_the_field_of_the_output_limit_is_learned_once() -> None:
    async with chat_lab() as lab:
        lab.provider.unknown = frozenset({"max_tokens", "stream_options"})
        lab.provider.script(Turn(text("one")), Turn(text("two")))

        first, second = await answer(lab.model), await answer(lab.model)

        assert (first.content[0]["text"], second.content[0]["text"]) == ("one", "two")
        assert len(lab.provider.refused) == 2
        bodies = [received.body for received in lab.provider.requests]
    assert [body["max_completion_tokens"] for body in bodies] == [1000, 1000]
    assert [set(body) & {"max_tokens", "stream_options"} for body in bodies] == [set(), set()]
    assert lab.waits.seconds == []


async def test_what_the_operator_asked_for_is_never_left_out_quietly() -> None:
    async with chat_lab() as lab:
        lab.provider.unknown = frozenset({"temperature"})

        with pytest.raises(ModelFailed, match="'temperature' is not supported"):
            await answer(lab.model, replace(ASK, temperature=0.5))

        assert len(lab.provider.refused) == 1


async def test_a_limit_that_is_too_high_is_no_unknown_field() -> None:
    too_high = {"error": {"message": "max_tokens is too large: 1000. It supports at most 10"}}
    async with chat_lab() as lab:
        lab.provider.script(HttpError(400, "", "", body=too_high), Turn(text("never")))

        _, failed = await failure(lab.model)

        assert lab.provider.remaining == 1
    assert "too large: 1000" in str(failed)


async def test_a_server_that_refuses_every_field_is_not_asked_for_ever() -> None:
    confused = {
        "error": {"message": "unsupported: max_tokens max_completion_tokens stream_options"}
    }
    async with chat_lab() as lab:
        lab.provider.unknown = frozenset()
        lab.provider.script(*[HttpError(400, "", "", body=confused)] * 3, Turn(text("never")))

        await failure(lab.model)

        assert lab.provider.remaining == 1


async def test_a_server_that_wants_no_key_is_asked_without_one() -> None:
    async with ScriptedOpenAI(Turn(text("open"))) as provider:
        model = OpenAIModel(OpenAISettings(api_key="", base_url=provider.base_url))

        assert (await answer(model)).content == [{"type": "text", "text": "open"}]

        await model.aclose()
        assert KEY not in str(provider.requests[0].headers)


async def test_without_the_package_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    model = OpenAIModel(OpenAISettings(api_key=KEY))

    with pytest.raises(ConfigurationError, match=r"pip install 'tollgate\[openai\]'"):
        await answer(model)


@pytest.mark.parametrize("key", ["", " \n", "sk-\x00", "sk-é", "sk-a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as caught:
        OpenAISettings(api_key=key)

    assert not key.strip() or key not in str(caught.value)


@pytest.mark.parametrize("url", ["host.example", "ftp://host.example", "http://[::1"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAISettings(api_key=KEY, base_url=url)

    assert caught.value.details == {"setting": "OPENAI_BASE_URL"}


def test_settings_do_not_show_the_key() -> None:
    settings = OpenAISettings(api_key=f"{KEY}\n")

    assert settings.api_key == KEY
    assert KEY not in repr(settings)
