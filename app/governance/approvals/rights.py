"""Whether a user may read or answer a request, by its terms at this moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.core.clock import Clock
from app.db.writer import DatabaseWriter
from app.governance.approvals.approver import ApprovalCase, Approver, user_key
from app.governance.approvals.groups import ApproverGroupStore
from app.governance.approvals.policies import ApprovalPolicyStore
from app.governance.approvals.substitutes import SubstitutionStore
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions


@dataclass(frozen=True, slots=True)
class ApprovalRights:
    """Stored approvers, and the rights that follow from them.

    Attributes:
        listeners: called when somebody's rights may have changed.
    """

    groups: ApproverGroupStore
    policies: ApprovalPolicyStore
    substitutes: SubstitutionStore
    clock: Clock
    listeners: set[Callable[[], None]]

    async def load(self) -> None:
        """Load everything that is stored."""
        await self.groups.load()
        await self.policies.load()
        await self.substitutes.load()

    def authority(self, approver: Approver, case: ApprovalCase) -> str | None:
        """Return the user on whose authority the approver answers; None if they may not.

        This is the approver, or the user for whom they are a substitute: both together are one
        vote. Rights are those of this moment, while the terms are those of the request.
        """
        if approver.kind != "person":
            return None
        if case.owner is None:
            return approver.user_id if approver.is_admin and case.terms is None else None
        if not approver.is_admin and not approver.reaches(case.owner):
            return None
        barred = self._barred(case)
        if user_key(approver.user_id) == barred:
            return None
        if approver.is_admin or self._is_named(approver, case):
            return approver.user_id
        if not approver.approves:
            return None
        for user_id in self.substitutes.represented(approver.user_id):
            if user_key(user_id) != barred and self._is_named(Approver(user_id), case):
                return user_id
        return None

    def groups_of(self, approver: Approver) -> frozenset[str]:
        """Return the groups for which the approver may answer, also as a substitute."""
        if not approver.approves:
            return approver.groups
        users = (approver.user_id, *self.substitutes.represented(approver.user_id))
        return approver.groups.union(*map(self.groups.of_user, users))

    def owners_of(self, approver: Approver) -> list[str]:
        """Return the users whose sessions the approver may answer for without a policy."""
        if not approver.approves:
            return []
        return [approver.user_id, *self.substitutes.represented(approver.user_id)]

    def _barred(self, case: ApprovalCase) -> str | None:
        terms = case.terms
        if terms is None or not terms.not_requester:
            return None
        return user_key(terms.requester or "")

    def _is_named(self, approver: Approver, case: ApprovalCase) -> bool:
        assert case.owner is not None
        owns = approver.approves and approver.user_id == case.owner.user_id
        if case.terms is None:
            return owns
        now = self.clock.time()
        if owns and case.terms.admits_owner(now):
            return True
        active = case.terms.active_groups(now)
        member = self.groups.of_user(approver.user_id) if approver.approves else frozenset[str]()
        return any(name in member or name in approver.groups for name in active)


def approvals_of(
    db: DatabaseWriter, clock: Clock, audit: AuditLog, changes: ConfigVersions
) -> ApprovalRights:
    """Bind the stores; `load` fills them."""
    listeners: set[Callable[[], None]] = set()

    def notify() -> None:
        for listener in tuple(listeners):
            listener()

    groups = ApproverGroupStore(db, clock, audit, changes, notify)
    policies = ApprovalPolicyStore(db, clock, audit, changes, groups)
    substitutes = SubstitutionStore(db, clock, audit, changes, notify)
    return ApprovalRights(groups, policies, substitutes, clock, listeners)
