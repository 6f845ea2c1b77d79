"""Subscription to the inbox: pending requests that the principal of a connection may answer."""

from __future__ import annotations

from app.agents.inbox import Inbox, InboxChange, InboxItem
from app.api.approvers import may_decide
from app.api.principal import Principal
from app.api.ws.outbox import Outbox
from app.events.control import InboxChanged, InboxEntry, InboxReady
from app.events.envelope import Wire
from app.governance.approvals.rights import ApprovalRights

REASSIGNED = "reassigned"


class InboxSubscription:
    """Delivers the changes of the inbox that the principal may see to an outbox."""

    def __init__(
        self, inbox: Inbox, approvals: ApprovalRights, principal: Principal, outbox: Outbox
    ) -> None:
        self._inbox = inbox
        self._approvals = approvals
        self._principal = principal
        self._outbox = outbox
        # Items that the client has been sent: rights can change while they wait.
        self._sent: set[str] = set()

    def start(self, ref: str, after: str | None) -> None:
        """Send the list, or what was missed after a cursor, and from then on each change.

        Nothing is awaited in between, so that no change is missed or doubled.
        """
        inbox = self._inbox
        missed = None if after is None else inbox.after(after)
        visible = [item for item in inbox.items if self._may_see(item)]
        self._sent = {item.id for item in visible}
        entries = [] if missed is not None else [_entry(item) for item in visible]
        # Not the newest cursor: whoever loses the connection before the missed changes have
        # arrived would never get them.
        cursor = inbox.cursor if after is None or missed is None else after
        recovered = missed is not None
        self._send(InboxReady(ref=ref, cursor=cursor, recovered=recovered, entries=entries))
        for change in missed or ():
            if self._may_see(change.item):
                self._send(_message(change))
        inbox.listeners.add(self._deliver)
        self._approvals.listeners.add(self._review)

    def stop(self) -> None:
        """Stop the delivery of changes."""
        self._inbox.listeners.discard(self._deliver)
        self._approvals.listeners.discard(self._review)

    def _may_see(self, item: InboxItem) -> bool:
        return may_decide(self._approvals, self._principal, item.kind, item.case)

    def _deliver(self, change: InboxChange) -> None:
        item = change.item
        if change.state == "closed":
            # Also to those whose right ended meanwhile: their list still shows it.
            if item.id in self._sent or self._may_see(item):
                self._sent.discard(item.id)
                self._send(_message(change))
        elif self._may_see(item):
            self._sent.add(item.id)
            self._send(_message(change))

    def _review(self) -> None:
        """Send what the principal may decide since its rights changed, and take back the rest."""
        inbox = self._inbox
        for item in inbox.items:
            may_see, is_sent = self._may_see(item), item.id in self._sent
            if may_see and not is_sent:
                self._sent.add(item.id)
                self._send(_message(InboxChange(inbox.cursor, item.opened_at, item)))
            elif is_sent and not may_see:
                self._sent.discard(item.id)
                gone = InboxChange(inbox.cursor, item.opened_at, item, REASSIGNED)
                self._send(_message(gone))

    def _send(self, message: Wire) -> None:
        self._outbox.put(message.model_dump_json(exclude_none=True).encode())


def _message(change: InboxChange) -> InboxChanged:
    return InboxChanged(
        ts=change.at,
        cursor=change.cursor,
        state=change.state,
        reason=change.reason,
        entry=_entry(change.item),
        outcome=change.outcome,
        by=change.by,
    )


def _entry(item: InboxItem) -> InboxEntry:
    terms = item.terms
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
        approved_by=list(terms.approved_by) if terms else [],
        quorum=terms.quorum if terms else 1,
    )
