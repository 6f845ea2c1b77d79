"""The real SDK against a scripted provider: what goes wrong, and what is wrongly set."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.models.protocol import (
    Completed,
    ModelClient,
    ModelTextDelta,
)
from app.core.errors import ConfigurationError
from tests.agents.models.exchange import KEY, Waits, answer, ask, failure
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import (
    Gate,
    HttpError,
    PlainAnswer,
    RawData,
    ScriptItem,
    Step,
    Turn,
    cut,
    http_error,
    stream_error,
    text,
)

BEFORE_THE_FIRST_DELTA: dict[str, ScriptItem] = {
    "overloaded, first event": stream_error(),
    "overloaded, after the start": Turn(stream_error()),
    "cut": Turn(cut()),
    "torn": Turn(cut(abrupt=True)),
    "malformed": Turn(RawData("content_block_start", "{")),
    "not of its shape": Turn(RawData("content_block_delta", '{"type": "content_block_delta"}')),
    "429": http_error(429),
    "500": http_error(500),
    "529": http_error(529),
    "refused, but asked to retry": http_error(400, should_retry=True),
}


@pytest.mark.parametrize("case", BEFORE_THE_FIRST_DELTA)
async def test_a_passing_failure_before_the_first_delta_is_repeated(
    provider: ScriptedAnthropic, model: ModelClient, waits: Waits, case: str
) -> None:
    provider.script(BEFORE_THE_FIRST_DELTA[case], Turn(text("better")))

    events = await ask(model)

    assert events[0] == ModelTextDelta(0, "better")
    assert [type(event) for event in events].count(Completed) == 1
    assert len(provider.requests) == 2
    assert [0.25 <= seconds <= 0.5 for seconds in waits.seconds] == [True]


AFTER_THE_FIRST_DELTA: dict[str, tuple[Step, str]] = {
    "overloaded": (stream_error(), "overloaded_error"),
    "cut": (cut(), "stream_cut"),
    "torn": (cut(abrupt=True), "stream_cut"),
    "malformed": (RawData("content_block_delta", "{"), "malformed_stream"),
}


@pytest.mark.parametrize("case", AFTER_THE_FIRST_DELTA)
async def test_a_failure_after_the_first_delta_is_never_repeated(
    provider: ScriptedAnthropic, model: ModelClient, waits: Waits, case: str
) -> None:
    step, code = AFTER_THE_FIRST_DELTA[case]
    provider.script(Turn(text("par", step)), Turn(text("never asked for")))

    seen, failed = await failure(model)

    assert seen == [ModelTextDelta(0, "par")]
    assert failed.details == {
        "provider_code": code,
        "status": 200,
        "retryable": True,
        "request_id": "req_0001",
    }
    assert (provider.remaining, waits.seconds) == (1, [])


async def test_repetition_ends_after_the_retries_that_were_set(
    provider: ScriptedAnthropic, model: ModelClient, waits: Waits
) -> None:
    provider.script(http_error(529), stream_error(), http_error(529, message="Overloaded"))

    seen, failed = await failure(model)

    assert (seen, len(provider.requests), len(waits.seconds)) == ([], 3, 2)
    assert failed.code == "model_failed"
    assert str(failed) == ("The model provider is overloaded (529): Overloaded. Try again later.")
    assert failed.details == {
        "provider_code": "overloaded_error",
        "status": 529,
        "retryable": True,
        "request_id": "req_0003",
    }


async def test_a_short_retry_after_is_waited_for(
    provider: ScriptedAnthropic, model: ModelClient, waits: Waits
) -> None:
    provider.script(http_error(429, retry_after=7), Turn(text("ok")))

    await answer(model)

    assert waits.seconds == [7.0]


async def test_a_long_retry_after_fails_at_once_and_says_how_long(
    provider: ScriptedAnthropic, model: ModelClient, waits: Waits
) -> None:
    provider.script(http_error(429, retry_after=3600), Turn(text("never asked for")))

    _, failed = await failure(model)

    assert (waits.seconds, provider.remaining) == ([], 1)
    assert failed.details["retry_after_ms"] == 3_600_000


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (400, "invalid_request_error", "Change the request as the reason says."),
        (401, "authentication_error", "Check ANTHROPIC_API_KEY."),
        (403, "permission_error", "Check the permissions of the key and its workspace."),
        (404, "not_found_error", "Check the model's name and ANTHROPIC_BASE_URL."),
        (413, "request_too_large", "Start a new session"),
    ],
)
async def test_a_lasting_failure_is_not_repeated_and_says_what_to_do(
    provider: ScriptedAnthropic, model: ModelClient, status: int, code: str, advice: str
) -> None:
    provider.script(http_error(status, message=f"because of {KEY}"), Turn(text("never")))

    _, failed = await failure(model)

    assert advice in str(failed)
    assert "because of [redacted]" in str(failed)
    assert failed.details == {
        "provider_code": code,
        "status": status,
        "retryable": False,
        "request_id": "req_0001",
    }
    assert provider.remaining == 1


async def test_a_lasting_error_inside_a_stream_is_not_repeated(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(stream_error("invalid_request_error", "prompt is too long"))

    _, failed = await failure(model)

    assert "prompt is too long" in str(failed)
    assert failed.details["retryable"] is False


async def test_an_error_body_of_another_shape_is_reported_by_its_status(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    odd = HttpError(403, cast("str", {"a": 1}), cast("str", ["b"]))
    provider.script(odd)

    _, failed = await failure(model)

    assert failed.details["provider_code"] == "permission_error"


async def test_a_page_instead_of_a_stream_points_to_the_base_url(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(PlainAnswer("<html>welcome</html>"))

    _, failed = await failure(model)

    assert failed.details["provider_code"] == "not_a_stream"
    assert "ANTHROPIC_BASE_URL" in str(failed)


async def test_a_provider_that_cannot_be_reached_is_tried_again_and_then_reported(
    waits: Waits,
) -> None:
    async with ScriptedAnthropic() as gone:
        base_url = gone.base_url
    model = AnthropicModel(AnthropicSettings(api_key=KEY, base_url=base_url), sleep=waits)

    _, failed = await failure(model)
    await model.aclose()

    assert (failed.details["provider_code"], failed.details["status"]) == (
        "connection_failed",
        None,
    )
    assert failed.details["retryable"] is True
    assert len(waits.seconds) == 2
    assert "Check the network" in str(failed)


async def test_silence_longer_than_the_timeout_fails(provider: ScriptedAnthropic) -> None:
    gate = Gate()
    provider.script(Turn(text("par", gate)))
    settings = AnthropicSettings(
        api_key=KEY, base_url=provider.base_url, max_retries=0, timeout=0.2
    )
    model = AnthropicModel(settings)

    _, failed = await failure(model)
    await model.aclose()

    assert failed.details["provider_code"] == "timeout_error"
    assert failed.details["retryable"] is True


@pytest.mark.parametrize("key", ["", "  \n", "sk-\x00", "sk-é", "sk-a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY") as caught:
        AnthropicSettings(api_key=key)

    assert not key.strip() or key not in str(caught.value)


def test_settings_do_not_show_the_key() -> None:
    settings = AnthropicSettings(api_key=f"{KEY}\n")

    assert settings.api_key == KEY
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("fields", "setting"),
    [
        ({"base_url": "host.example"}, "ANTHROPIC_BASE_URL"),
        ({"base_url": "http://[::1"}, "ANTHROPIC_BASE_URL"),
        ({"base_url": "http://host.example:99999"}, "ANTHROPIC_BASE_URL"),
        ({"max_retries": -1}, "max_retries"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_a_setting_out_of_range_is_named(fields: dict[str, Any], setting: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        AnthropicSettings(api_key=KEY, **fields)

    assert caught.value.details == {"setting": setting}
