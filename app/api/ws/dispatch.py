"""Implementation of each command. All commands use the same services as REST."""

from __future__ import annotations

from typing import Any, Protocol

from app.agents.content import user_content
from app.api.approvers import approver_of, visible_confirmation
from app.api.delegations import stop_delegation
from app.api.principal import Principal
from app.api.questions import answer_question
from app.api.service import Service
from app.api.ws.commands import (
    Cancel,
    ClientCommand,
    Ping,
    QuestionResponse,
    Subscribe,
    SubscribeConditions,
    SubscribeInbox,
    ToolCall,
    ToolConfirmationResponse,
    Unsubscribe,
    UnsubscribeInbox,
    UserMessage,
)
from app.api.ws.inbox_subscription import InboxSubscription
from app.api.ws.outbox import Outbox
from app.api.ws.subscription import Subscription
from app.core.errors import InvalidInput, NotFound, RateLimited
from app.domain.owners import SessionOwner
from app.events.control import ServiceCondition, Subscribed
from app.execution.calls import parse_calls
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.interactions.replies import QuestionReply


class Client(Protocol):
    """Parts of the connection that a command can access."""

    subscriptions: dict[str, Subscription]
    inbox: InboxSubscription | None

    @property
    def principal(self) -> Principal: ...

    @property
    def outbox(self) -> Outbox: ...

    def watch_conditions(self) -> list[ServiceCondition]: ...


class Dispatcher:
    """Carries out one connection's commands."""

    def __init__(self, service: Service, connection: Client) -> None:
        self._service = service
        self._connection = connection
        self._principal = connection.principal

    async def carry_out(self, command: ClientCommand) -> dict[str, Any] | None:
        """Run a command and return the result for its `ack`; None if it has sent its own response.

        It does not await anything after the writes of the command.
        """
        match command:
            case UserMessage():
                return await self._user_message(command)
            case ToolCall():
                return await self._tool_call(command)
            case ToolConfirmationResponse():
                return await self._confirm(command)
            case QuestionResponse():
                return await self._answer(command)
            case Cancel():
                return await self._cancel(command)
            case Ping():
                return {}
            case _:
                return await self._listen(command)

    async def _listen(self, command: ClientCommand) -> dict[str, Any] | None:
        """Start or end a subscription."""
        match command:
            case Subscribe():
                await self._subscribe(command)
                return None
            case Unsubscribe():
                return self._unsubscribe(command)
            case SubscribeConditions():
                return self._subscribe_conditions()
            case SubscribeInbox():
                self._subscribe_inbox(command)
                return None
            case UnsubscribeInbox():
                return self._unsubscribe_inbox()
            case _:
                raise InvalidInput(f"{command.type} is not allowed in the current state")

    async def _subscribe(self, command: Subscribe) -> None:
        service, connection = self._service, self._connection
        self._principal.require("chat")
        session = await service.session_for(self._principal, command.session_id)
        former = connection.subscriptions.pop(session.id, None)
        if former is not None:
            former.stop()
        if len(connection.subscriptions) >= service.settings.max_subscriptions:
            limit = service.settings.max_subscriptions
            raise RateLimited(f"A connection can subscribe to at most {limit} sessions")
        subscription = Subscription(
            session.log,
            connection.outbox,
            ephemerals=command.ephemerals,
            older=command.older_events,
        )
        connection.subscriptions[session.id] = subscription
        answer = Subscribed(
            ref=command.id,
            session_id=session.id,
            epoch=session.epoch,
            head=session.log.committed,
            recovered=True,
            replay_from=command.after + 1,
            pending_confirmations=service.confirmations.pending(session.id),
            pending_questions=service.questions.pending(session.id),
            running_calls=service.executor.running(session.id),
        )
        await subscription.start(
            answer,
            epoch=command.epoch,
            after=command.after,
            archive=service.archive,
            limit=service.settings.replay_limit,
        )

    def _subscribe_conditions(self) -> dict[str, Any]:
        self._principal.require("admin")
        lasting = self._connection.watch_conditions()
        return {"conditions": [message.model_dump(exclude={"v", "type"}) for message in lasting]}

    def _subscribe_inbox(self, command: SubscribeInbox) -> None:
        if not self._principal.may_approve:
            self._principal.require("chat")
        self._unsubscribe_inbox()
        service = self._service
        subscription = InboxSubscription(
            service.inbox, service.approvals, self._principal, self._connection.outbox
        )
        subscription.start(command.id, command.after)
        self._connection.inbox = subscription

    def _unsubscribe_inbox(self) -> dict[str, Any]:
        if self._connection.inbox is not None:
            self._connection.inbox.stop()
            self._connection.inbox = None
        return {}

    def _unsubscribe(self, command: Unsubscribe) -> dict[str, Any]:
        subscription = self._connection.subscriptions.pop(command.session_id, None)
        if subscription is None:
            raise NotFound(f"Not subscribed to {command.session_id!r}")
        subscription.stop()
        return {}

    async def _user_message(self, command: UserMessage) -> dict[str, Any]:
        service = self._service
        principal = self._principal
        principal.require("chat")
        if command.agent_id is not None:
            principal.require_agent(command.agent_id)
        session = await service.session_for(principal, command.session_id)
        run_id, message_id = await service.runs.send_message(
            session,
            user_content(command.content),
            client_message_id=command.id,
            when_busy=command.when_busy,
            agent_id=command.agent_id,
            quota_subject=principal.quota_subject,
            tools_enabled=command.tools_enabled,
        )
        return {"run_id": run_id, "message_id": message_id}

    async def _tool_call(self, command: ToolCall) -> dict[str, Any]:
        service = self._service
        self._principal.require("tools:call")
        session = await service.session_for(self._principal, command.session_id)
        requests = parse_calls(command.raw_calls())
        run = await service.runs.call_tools(
            session,
            requests,
            caller="websocket",
            attended=command.attended,
            cacheable=command.cacheable,
            quota_subject=self._principal.quota_subject,
        )
        return {"run_id": run.id, "tool_call_ids": [request.id for request in requests]}

    async def _confirm(self, command: ToolConfirmationResponse) -> dict[str, Any]:
        service, principal = self._service, self._principal
        approver = approver_of(principal, edits=command.edited_args is not None)
        reply = ConfirmationReply(
            *(command.option_id, command.digest, command.message, command.edited_args),
            *(command.expires_in_s, command.max_uses),
        )
        confirmations, owner = service.confirmations, await self._owner(command)
        session_id = command.session_id
        confirmations.equal.check(command.confirmation_id, reply, command.also)
        outcome = await confirmations.answer(
            command.confirmation_id, reply, approver, session_id=session_id, owner=owner
        )
        if not command.also:
            return {"outcome": outcome}
        also = await confirmations.equal.answer(
            reply, command.also, approver, session_id=session_id, owner=owner
        )
        return {"outcome": outcome, "also": also}

    async def _owner(self, command: ToolConfirmationResponse) -> SessionOwner:
        """Return the owner of a session that the principal may use, or answer for."""
        service, principal = self._service, self._principal
        session = await service.sessions.get(command.session_id)
        if session is not None and principal.may_enter(session):
            return SessionOwner(session.user_id, session.project_id, session.agent_id)
        row, owner = await visible_confirmation(service, principal, command.confirmation_id)
        if row.session_id != command.session_id:
            raise NotFound(f"Session {command.session_id!r} not found")
        return owner

    async def _answer(self, command: QuestionResponse) -> dict[str, Any]:
        service, principal = self._service, self._principal
        principal.require("chat")
        session = await service.session_for(principal, command.session_id)
        return await answer_question(
            service,
            principal,
            session,
            command.question_id,
            QuestionReply(command.outcome, command.answer),
            client_message_id=command.id,
        )

    async def _cancel(self, command: Cancel) -> dict[str, Any]:
        service = self._service
        self._principal.require("chat")
        session = await service.session_for(self._principal, command.session_id)
        if command.target == "run":
            stopped = await service.runs.cancel(session.id, command.target_id)
        elif command.target == "delegation":
            stopped = await stop_delegation(service, session.id, command.target_id)
        else:
            stopped = service.executor.cancel(session.id, command.target_id)
        return {} if stopped else {"already_finished": True}
