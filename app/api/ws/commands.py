"""Commands of clients, as one discriminated union. Unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from app.core.field_problems import FieldError
from app.events.legacy import OlderStyle
from app.execution.confirmation.equal_requests import MAX_EQUAL

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\-]{1,128}$")]


class Command(BaseModel):
    """Base of commands. `id` makes repeats harmless; the one `ack` or `error` refers to it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    v: Literal[1] = 1
    id: Identifier


class SessionCommand(Command):
    session_id: Identifier


class Auth(BaseModel):
    """Credentials of a client that cannot send a header."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ticket: str | None = Field(default=None, max_length=256)
    token: str | None = Field(default=None, max_length=256)


class Capabilities(BaseModel):
    """Capabilities of a client."""

    model_config = ConfigDict(extra="forbid", strict=True)

    confirmations: bool = True
    questions: bool = True


class Hello(Command):
    """The first frame. It must arrive within ten seconds."""

    type: Literal["hello"]
    client: str = Field(
        default="", max_length=200, description="Name and version of the client, for the log."
    )
    auth: Auth | None = None
    capabilities: Capabilities = Capabilities()


class Subscribe(SessionCommand):
    """Receive the events of a session: every durable event with `seq > after`."""

    type: Literal["subscribe"]
    epoch: str | None = Field(default=None, max_length=128)
    after: int = Field(default=0, ge=0)
    ephemerals: bool = Field(default=True, description="Include live output.")
    older_events: OlderStyle | None = Field(
        default=None,
        description="Also send legacy events: `netaclaw` for `tool_call` and `tool_result`, "
        "`countbot` for `tool_start` and its successors.",
    )


class Unsubscribe(SessionCommand):
    """Stop receiving the events of a session."""

    type: Literal["unsubscribe"]


class UserMessage(SessionCommand):
    """Send a message, which starts a run. `ack.result` has its `run_id` and `message_id`."""

    type: Literal["user_message"]
    content: str | list[dict[str, Any]] = Field(
        description="Text, or blocks `{type: text, text}` and `{type: image, source}`."
    )
    agent_id: Identifier | None = None
    when_busy: Literal["reject", "queue", "steer"] = "reject"
    tools_enabled: bool = Field(
        default=True, description="False to let the model answer without tools in this run."
    )


class ToolCall(SessionCommand):
    """Call tools without a model, on the same governed path, in a run with the trigger `direct`.

    Send either one plain call (`name`, `arguments` and optionally `tool_call_id`), or `calls`: a
    batch in OpenAI, Anthropic or plain shape.
    """

    type: Literal["tool_call"]
    name: str | None = Field(default=None, max_length=256)
    arguments: dict[str, Any] | str | None = None
    tool_call_id: Identifier | None = None
    calls: list[dict[str, Any]] | None = Field(default=None, max_length=128)
    cacheable: bool = Field(
        default=True, description="Whether an identical read may be answered from the cache."
    )
    attended: bool = Field(
        default=True,
        description="Whether a person can answer confirmations; if not, calls that ask are denied "
        "immediately.",
    )

    @model_validator(mode="after")
    def _one_or_many(self) -> ToolCall:
        if (self.name is None) == (self.calls is None):
            raise FieldError(
                "send either `name` (one call) or `calls` (a batch)",
                code="one_of",
                needed="name, calls",
            )
        return self

    def raw_calls(self) -> list[dict[str, Any]]:
        """Return the calls in the form that `parse_calls` expects."""
        if self.calls is not None:
            return self.calls
        call: dict[str, Any] = {"name": self.name, "arguments": self.arguments or {}}
        if self.tool_call_id:
            call["id"] = self.tool_call_id
        return [call]


class ToolConfirmationResponse(SessionCommand):
    """Answer a `tool_confirmation_request` with the digest from the request.

    `edited_args` replaces all arguments of the call and requires `approve_once`.
    """

    type: Literal["tool_confirmation_response"]
    confirmation_id: Identifier
    option_id: Identifier
    digest: str = Field(min_length=1, max_length=128)
    message: str | None = Field(default=None, max_length=4000, description="Shown to the model.")
    edited_args: dict[str, Any] | None = None
    expires_in_s: float | None = Field(
        default=None, gt=0, description="Shorter lifetime of a standing approval, in seconds."
    )
    max_uses: int | None = Field(
        default=None, ge=1, le=1000, description="Number of calls that a standing approval covers."
    )
    also: dict[Identifier, Annotated[str, Field(max_length=128)]] = Field(
        default_factory=dict,
        max_length=MAX_EQUAL,
        description="Digests of further confirmations of the same run with equal reasons, by ID.",
    )


class QuestionResponse(SessionCommand):
    """Answer a `question_asked`.

    `ack.result.outcome` is `late` if the question had ended: the answer then becomes a message,
    and `ack.result` also has its `run_id` and `message_id`.
    """

    type: Literal["question_response"]
    question_id: Identifier
    outcome: Literal["answered", "declined"]
    answer: Any = Field(
        default=None,
        description="A text (ID or label of a choice, or free text), a list of choices, or "
        "`{choices, text}`; for several questions, an object of these by question ID.",
    )


class Cancel(SessionCommand):
    """Stop a run, one call, one operation, or delegated work (a batch or a task of it).

    `ack.result.already_finished` is true if it had already ended.
    """

    type: Literal["cancel"]
    target: Literal["run", "call", "operation", "delegation"]
    target_id: Identifier
    reason: str | None = Field(default=None, max_length=1000)


class SubscribeConditions(Command):
    """Receive a `service_condition` whenever a condition starts or ends. Scope `admin`.

    `ack.result.conditions` lists the current conditions with the fields of `service_condition`.
    """

    type: Literal["subscribe_conditions"]


class SubscribeInbox(Command):
    """Receive the pending requests of all sessions: confirmations with the scope `approve`,
    questions with `chat`. Administrators receive those of all users.

    The response is an `inbox` message. A repeated command replaces the subscription.
    """

    type: Literal["subscribe_inbox"]
    after: str | None = Field(
        default=None, max_length=128, description="`cursor` of the last message of the inbox."
    )


class UnsubscribeInbox(Command):
    """Stop receiving pending requests."""

    type: Literal["unsubscribe_inbox"]


class Ping(Command):
    """Check the connection; the response is an `ack`."""

    type: Literal["ping"]


ClientCommand: TypeAlias = Annotated[
    Hello
    | Subscribe
    | Unsubscribe
    | UserMessage
    | ToolCall
    | ToolConfirmationResponse
    | QuestionResponse
    | Cancel
    | SubscribeConditions
    | SubscribeInbox
    | UnsubscribeInbox
    | Ping,
    Field(discriminator="type"),
]

client_command: TypeAdapter[ClientCommand] = TypeAdapter(ClientCommand)
COMMAND_TYPES = frozenset(
    {
        "hello",
        "subscribe",
        "unsubscribe",
        "user_message",
        "tool_call",
        "tool_confirmation_response",
        "question_response",
        "cancel",
        "subscribe_conditions",
        "subscribe_inbox",
        "unsubscribe_inbox",
        "ping",
    }
)
