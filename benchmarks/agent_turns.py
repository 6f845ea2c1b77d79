"""A turn of an agent: one model request and one governed, recorded call of `add`.

The model is a script in this process, so only the service is measured. A run of many turns is
compared with a run of few: a turn must not cost more because the history is long.
`agent_turn_http` asks a model server through the provider's SDK instead, and is compared with the
SDK alone, which sends the same requests, already encoded.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from app.agents.content import user_content
from app.agents.models.protocol import (
    Completed,
    ModelEvent,
    ModelRequest,
    ModelTextDelta,
    TokenUsage,
)
from app.api.service import Service
from app.bootstrap.service import open_service
from app.config.settings import load_settings
from benchmarks import sample_tools as samples
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Measure,
    Result,
    Scale,
    Stopwatch,
    interleave,
    run,
)
from benchmarks.model import KEY, converse, scripted_model, sdk_alone

FEW, MANY, MOST = 10, 200, 800
TURNS = 800
MOST_ITERATIONS = 1000


class Script:
    """Model that calls `add` a number of times and then answers, without delay."""

    def __init__(self) -> None:
        self.left = 0
        self._numbers = count(1)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.left -= 1
        if self.left < 0:
            yield ModelTextDelta(0, "Done.")
            content = [{"type": "text", "text": "Done."}]
            yield Completed(content, "end_turn", TokenUsage(10, 5), request.model)
            return
        number = next(self._numbers)
        arguments = {"a": number, "b": 2, "tags": ["x", "y"]}
        use = {"type": "tool_use", "id": f"t{number}", "name": "add", "input": arguments}
        yield Completed([use], "tool_use", TokenUsage(10, 5), request.model)

    async def aclose(self) -> None:
        return None


@asynccontextmanager
async def _service(script: Script | None = None, **changes: object) -> AsyncIterator[Service]:
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        settings = load_settings(
            _env_file=None,
            data_dir=Path(folder),
            log_level="error",
            max_iterations=MOST_ITERATIONS,
            **changes,
        )
        settings.workspace_dir.mkdir(parents=True)
        async with open_service(settings, model=script) as service:
            service.registry.register(samples.add)
            yield service


async def compare(turns: int, scale: Scale, other: Measure | None = None) -> Compared:
    """Compare runs of `turns` with runs of few turns, or with `other`."""
    script = Script()
    async with _service(script) as service:

        async def subject() -> Figures:
            return await _runs(service, script, turns, scale)

        async def few() -> Figures:
            return await _runs(service, script, FEW, scale)

        return await interleave(scale.rounds, subject, other or few)


async def _runs(service: Service, script: Script, turns: int, scale: Scale) -> Figures:
    runs = number_of_runs(turns, scale)
    watch = Stopwatch()
    for _ in range(runs):
        script.left = turns
        await _run(service)
        if script.left != -1:
            raise RuntimeError("a run ended unexpectedly")
    await service.db.flush()
    return watch.per(runs * turns)


async def _run(service: Service) -> None:
    session = service.sessions.create(user_id="ann", project_id="default")
    await service.runs.send_message(session, user_content("go"))
    active = service.runs.active(session.id)
    assert active is not None
    if await active.done != "success":
        raise RuntimeError("a run ended unexpectedly")


async def _compare_with_sdk(scale: Scale) -> Compared:
    runs = number_of_runs(FEW, scale)
    async with (
        scripted_model(FEW) as model,
        _service(anthropic_api_key=KEY, anthropic_base_url=model.url) as service,
        sdk_alone(model) as client,
    ):

        async def subject() -> Figures:
            watch = Stopwatch()
            for _ in range(runs):
                await _run(service)
            await service.db.flush()
            figures = watch.per(runs * FEW)
            await model.ended(runs)
            return figures

        async def floor() -> Figures:
            bodies = await model.bodies()
            watch = Stopwatch()
            for _ in range(runs):
                await converse(client, bodies)
            figures = watch.per(runs * FEW)
            await model.ended(runs)
            return figures

        return await interleave(scale.rounds, subject, floor)


def number_of_runs(turns: int, scale: Scale) -> int:
    """Return how many runs of `turns` are one measurement."""
    return max(1, scale.count(TURNS) // turns)


def _growth(turns: int) -> Benchmark:
    name = f"agent_turn_{turns}"
    return Benchmark(
        (name,),
        f"a turn of a run of {turns} turns, the model a script; floor: of a run of {FEW}",
        lambda scale: [_result(name, turns, scale)],
    )


def _result(name: str, turns: int, scale: Scale) -> Result:
    return run(compare(turns, scale)).result(name, "CPU us/turn")


def _over_http(scale: Scale) -> list[Result]:
    return [run(_compare_with_sdk(scale)).result("agent_turn_http", "CPU us/turn")]


BENCHMARKS = (
    _growth(MANY),
    _growth(MOST),
    Benchmark(
        ("agent_turn_http",),
        f"a turn of a run of {FEW} turns, the model a server asked through the anthropic SDK;"
        " floor: the SDK alone with the same requests, already encoded",
        _over_http,
    ),
)
