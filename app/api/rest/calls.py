"""Direct tool calls without a model, on the same governed path."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from app.agents.run import Run
from app.api.deps import Caller, ServiceDep
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.compiled_route import CompiledRoute
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.rest.schemas import BatchForm, BatchResult, CallForm, CallRecord, CallResult
from app.api.service import Service
from app.core.errors import Busy, Conflict, NotFound
from app.core.field_problems import FieldError
from app.core.text import scrub
from app.execution.calls import MAX_BATCH, CallRequest, parse_call, parse_calls
from app.execution.outcome import CallOutcome
from app.execution.projects import DEFAULT_PROJECT

router = routes_of("calls", route_class=CompiledRoute)


def _object_or_text(value: Any) -> Any:
    if not isinstance(value, dict | str):
        raise FieldError("must be an object, or the JSON text of one", code="object_or_text")
    return value


Arguments = Annotated[
    Any,
    AfterValidator(_object_or_text),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string"}]}),
]
Name = Annotated[str, Field(min_length=1, max_length=256)]


class DirectCall(Body):
    """Arguments of one call."""

    model_config = example(arguments={"expression": "6*7"})

    arguments: Arguments = Field(default_factory=dict)
    id: Identifier | None = Field(default=None, description="ID of the call; generated if omitted.")
    session_id: Identifier | None = Field(
        default=None, description="Session that records it; a new direct session if omitted."
    )
    cacheable: bool = Field(
        default=True,
        description="Whether an identical read may be answered from the session's cache.",
    )


class _Shape(BaseModel):
    """Base of calls in the formats of models, which may have unknown fields."""

    model_config = ConfigDict(strict=True)


class OpenAIFunction(_Shape):
    """`arguments` is JSON text, or the object itself."""

    name: Name
    arguments: Arguments = Field(default_factory=dict)


class OpenAICall(_Shape):
    """`{id, type: "function", function: {name, arguments}}`."""

    id: Identifier | None = None
    type: Literal["function"] = "function"
    function: OpenAIFunction


class AnthropicCall(_Shape):
    """`{type: "tool_use", id, name, input}`."""

    id: Identifier | None = None
    type: Literal["tool_use"]
    name: Name
    input: dict[str, Any] = Field(default_factory=dict)


class PlainCall(Body):
    """`{id?, name, arguments?}`."""

    id: Identifier | None = None
    name: Name
    arguments: Arguments = Field(default_factory=dict)


def _shape(value: Any) -> str:
    if isinstance(value, dict) and "function" in value:
        return "~openai"
    if isinstance(value, dict) and value.get("type") == "tool_use":
        return "~anthropic"
    return "~plain"


AnyCall = Annotated[
    Annotated[OpenAICall, Tag("~openai")]
    | Annotated[AnthropicCall, Tag("~anthropic")]
    | Annotated[PlainCall, Tag("~plain")],
    Discriminator(_shape),
]


class CallBatch(Body):
    """Calls to run together, in any combination of formats."""

    model_config = example(
        calls=[
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "calculator", "arguments": '{"expression":"6*7"}'},
            }
        ]
    )

    calls: list[AnyCall] = Field(min_length=1, max_length=MAX_BATCH)
    session_id: Identifier | None = Field(
        default=None, description="Session that records them; a new direct session if omitted."
    )
    max_workers: int | None = Field(
        default=None, ge=1, le=6, description="Maximum number of concurrent calls."
    )


@router.post(
    "/tools/{name}/call",
    summary="Call a tool",
    responses=problems(NotFound, Busy, Conflict, body=True),
)
async def call_tool(
    name: PathId,
    body: DirectCall,
    service: ServiceDep,
    principal: Caller,
    result: CallForm = "all",
) -> CallResult:
    """Scope `tools:call`. Waits for the end of the call.

    The response is 200 for every outcome of the call, even for an unknown tool: `status`
    distinguishes success, error, denied, disabled and others. HTTP errors only concern the request
    itself. If the client disconnects, the call continues and is recorded. Calls that need a
    confirmation are denied, unless a client is subscribed to the session and can answer.
    """
    request = parse_call({"id": body.id, "name": name, "arguments": body.arguments})
    run, outcomes = await _run(
        service, principal, [request], session_id=body.session_id, cacheable=body.cacheable
    )
    return CallResult.of(outcomes[0], run.session.id, run.id, result)


@router.post(
    "/tools/calls",
    summary="Call several tools",
    responses=problems(NotFound, Busy, Conflict, body=True),
)
async def call_tools(
    body: CallBatch, service: ServiceDep, principal: Caller, result: BatchForm = "all"
) -> BatchResult:
    """Scope `tools:call`. Runs calls in parallel; returns `role: tool` messages in their order.

    A failed call is a result and not an HTTP error. Identical calls run once.
    """
    requests = parse_calls([call.model_dump(exclude_unset=True) for call in body.calls])
    run, outcomes = await _run(
        service,
        principal,
        requests,
        session_id=body.session_id,
        max_workers=body.max_workers,
    )
    return BatchResult(
        messages=[scrub(outcome.tool_message()) for outcome in outcomes if result != "records"],
        records=[CallRecord.of_outcome(one, whole=result != "messages") for one in outcomes],
        session_id=run.session.id,
        run_id=run.id,
    )


async def _run(
    service: Service,
    principal: Principal,
    requests: Sequence[CallRequest],
    *,
    session_id: str | None,
    cacheable: bool = True,
    max_workers: int | None = None,
) -> tuple[Run, list[CallOutcome]]:
    """Run the calls and wait until they have ended and are stored."""
    if session_id is None:
        principal.require_agent(None)
        principal.require_project(DEFAULT_PROJECT)
        session = service.sessions.create(
            user_id=principal.user_id,
            kind="direct",
            title=service.redactor.text(f"Direct call: {requests[0].name[:60]}"),
            project_id=DEFAULT_PROJECT,
        )
    else:
        session = await service.session_for(principal, session_id)
    run = await service.runs.call_tools(
        session,
        requests,
        caller="rest",
        trigger="rest",
        attended=bool(session.log.subscribers),
        cacheable=cacheable,
        max_workers=max_workers,
        quota_subject=principal.quota_subject,
    )
    # The run belongs to the session, not to this request.
    await asyncio.shield(run.done)
    # Without retries: without storage, no call with side effects has run.
    await service.db.flush()
    if session_id is None and service.runs.active(session.id) is None:
        service.sessions.release(session)
    outcomes = [run.finished[item.id] for item in requests if item.id in run.finished]
    if len(outcomes) < len(requests):
        raise Conflict(
            "The run was stopped before every call started; see its events",
            run_id=run.id,
            session_id=session.id,
        )
    return run, outcomes
