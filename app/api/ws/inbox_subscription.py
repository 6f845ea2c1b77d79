"""Subscription to the inbox: pending requests that the principal of a connection may answer."""

from __future__ import annotations

from app.agents.inbox import Inbox, InboxChange, InboxItem
from app.api.approvers import may_decide
from app.api.principal import Principal
from app.api.ws.outbox import Outbox
from app.events.control import InboxChanged, InboxEntry, InboxReady
from app.events.envelope import Wire


class InboxSubscription:
    """Delivers the changes of the inbox that the principal may see to an outbox."""

    def __init__(self, inbox: Inbox, principal: Principal, outbox: Outbox) -> None:
        self._inbox = inbox
        self._principal = principal
        self._outbox = outbox

    def start(self, ref: str, after: str | None) -> None:
        """Send the list, or what was missed after a cursor, and from then on each change.

        Nothing is awaited in between, so that no change is missed or doubled.
        """
        inbox = self._inbox
        missed = None if after is None else inbox.after(after)
        entries = [] if missed is not None else [_entry(item) for item in self._visible()]
        # Not the newest cursor: whoever loses the connection before the missed changes have
        # arrived would never get them.
        cursor = inbox.cursor if after is None or missed is None else after
        recovered = missed is not None
        self._send(InboxReady(ref=ref, cursor=cursor, recovered=recovered, entries=entries))
        for change in missed or ():
            self._deliver(change)
        inbox.listeners.add(self._deliver)

    def stop(self) -> None:
        """Stop the delivery of changes."""
        self._inbox.listeners.discard(self._deliver)

    def _visible(self) -> list[InboxItem]:
        return [item for item in self._inbox.items if self._may_see(item)]

    def _may_see(self, item: InboxItem) -> bool:
        return may_decide(self._principal, item.kind, item.owner)

    def _deliver(self, change: InboxChange) -> None:
        if self._may_see(change.item):
            self._send(
                InboxChanged(
                    ts=change.at,
                    cursor=change.cursor,
                    state=change.state,
                    entry=_entry(change.item),
                    outcome=change.outcome,
                    by=change.by,
                )
            )

    def _send(self, message: Wire) -> None:
        self._outbox.put(message.model_dump_json(exclude_none=True).encode())


def _entry(item: InboxItem) -> InboxEntry:
    return InboxEntry(
        kind=item.kind,
        id=item.id,
        session_id=item.session_id,
        run_id=item.run_id,
        agent_id=item.agent_id,
        tool_call_id=item.tool_call_id,
        tool_name=item.tool_name,
        title=item.title,
        risk=item.risk,
        opened_at=item.opened_at,
        expires_at=item.expires_at,
    )
