"""Computes, stores and decides proposals of rules."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson

from app.agents.database_queries import DatabaseQueries
from app.agents.rule_proposals.rows import (
    ProposalRows,
    StoredProposal,
    all_of,
    closed,
    newest_against,
    require_open,
)
from app.catalog.catalog import Catalog
from app.catalog.registry import ToolRegistry
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Conflict, ProofOutdated, StorageUnavailable
from app.core.ids import new_id
from app.core.metrics import Metrics
from app.db.writer import Transaction
from app.execution.projects import Projects
from app.governance.rules import RuleStore
from app.policy.proposals.bodies import Draft, renewed
from app.policy.proposals.corpus import packaged
from app.policy.proposals.generalise import drafts
from app.policy.proposals.history import History
from app.policy.proposals.opposite import KnownRule, denials, removals
from app.policy.proposals.proof import Proof, ProofInputs, first_that_hold, prove
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.rule_set import RuleSet
from app.resolver.policy_sets import LoadedRule, RuleSetCache, rule_state
from app.resolver.resolver import Resolver

log = logging.getLogger(__name__)

FIRST_S = 300.0
EVERY_S = 3600.0
AGAIN_S = 60.0
MAX_OPEN = 50
_MOST_TRIES = 3
_SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class ProposalSources:
    """What proposals are computed from.

    Attributes:
        reading: queries of the database.
        calls: how many of the newest calls a proof replays.
    """

    reading: DatabaseQueries
    registry: ToolRegistry
    resolver: Resolver
    projects: Projects
    rules: RuleStore
    rule_sets: RuleSetCache
    metrics: Metrics
    calls: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything of one moment that a proof stands on.

    Attributes:
        rules_digest, position: what identifies it.
    """

    given: ProofInputs
    loaded: Sequence[LoadedRule]
    rules_digest: str
    position: str


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a pass has changed."""

    open: int
    added: int
    stale: int
    calls: int


class RuleProposals:
    """Proposals of this installation: recomputed on demand and in the background.

    Computing runs in another thread, and never while a call is decided.
    """

    def __init__(self, rows: ProposalRows, clock: Clock, sources: ProposalSources) -> None:
        self._rows = rows
        self._clock = clock
        self._sources = sources
        self._turn = asyncio.Lock()

    async def all(self) -> list[StoredProposal]:
        """Return every proposal, newest first."""
        return await self._rows.all()

    async def get(self, proposal_id: str) -> StoredProposal:
        """Return one proposal.

        Raises:
            NotFound: it does not exist.
        """
        return await self._rows.get(proposal_id)

    async def run(self) -> None:
        """Recompute soon after the start, then every hour; after a failure, a minute later."""
        wait_s = FIRST_S
        while True:
            await asyncio.sleep(wait_s)
            with ErrorBoundary() as held:
                await self.recompute()
            wait_s = EVERY_S if held.error is None else AGAIN_S
            if isinstance(held.error, StorageUnavailable):
                log.warning("cannot compute proposals of rules: %s", held.error)
            elif held.error is not None:
                log.error("cannot compute proposals of rules", exc_info=held.error)

    async def recompute(self) -> Recomputed:
        """Propose what the newest calls speak for, and withdraw what no longer holds."""
        async with self._turn:
            evidence = await self.evidence()
            now, known = self._clock.time(), await self._known(evidence)
            held = await asyncio.to_thread(_proposed, evidence.given, known, now)
            waiting = [p for p in await self.all() if p.state == "open"]
            again = await asyncio.to_thread(_proven_again, waiting, held, evidence.given, now)
            done = await self._rows.db.transact(
                lambda work: self._reconcile(work, held, again, evidence)
            )
        await self._measure()
        return done

    async def accept(self, proposal_id: str, *, actor: str) -> StoredProposal:
        """Prove a proposal once more, and apply it.

        Raises:
            NotFound: it does not exist.
            AlreadyFinished: it is not open.
            ProofOutdated: the proof does not hold any more; it is stale then.
            Conflict: requests were answered or rules changed during each of three proofs.
        """
        async with self._turn:
            for _ in range(_MOST_TRIES):
                found = await self._rows.db.transact(lambda work: require_open(work, proposal_id))
                newest = await self._newest_against(found)
                evidence = await self.evidence()
                now = self._clock.time()
                draft = renewed(draft_of(found, evidence.given.history), now)
                proof = await asyncio.to_thread(prove, draft, evidence.given)
                proven = self._with_proof(found, draft, proof, evidence)
                problems = [*proof.problems, *_changed_rule(found, evidence.loaded)]
                if found.requested_by and not proof.questions and proof.overridden_by:
                    problems.append(_overridden(proof))
                if problems:
                    await self._withdraw(proven, actor)
                    raise ProofOutdated(
                        f"The proof does not hold any more: {'; '.join(problems)}",
                        proposal_id=proposal_id,
                        problems=problems,
                    )
                if digest_of(self._sources.rule_sets.loaded()) != evidence.rules_digest:
                    continue
                if (accepted := await self._apply(proven, newest, actor)) is not None:
                    return accepted
        raise Conflict("Requests were answered or rules changed meanwhile; accept it again")

    async def dismiss(self, proposal_id: str, *, actor: str) -> StoredProposal:
        """Decide against a proposal: the same rule is not proposed again.

        Raises:
            NotFound: it does not exist.
            AlreadyFinished: it is not open.
        """
        moment = isoformat(self._clock.now())

        def decide(work: Transaction) -> StoredProposal:
            found = require_open(work, proposal_id)
            return self._rows.decide(work, closed(found, "dismissed"), actor=actor, moment=moment)

        return await self._rows.db.transact(decide)

    async def propose(
        self, draft: Draft, *, reason: str, requested_by: dict[str, Any], actor: str
    ) -> StoredProposal:
        """Prove and store a rule that an agent asked for; an equal open one is returned as it is.

        Raises:
            ProofOutdated: the rule would let through what people declined, or a corpus case.
        """
        async with self._turn:
            evidence = await self.evidence()
            proof = await asyncio.to_thread(prove, draft, evidence.given)
            if not proof.holds:
                raise ProofOutdated(
                    f"The rule cannot be proposed: {'; '.join(proof.problems)}",
                    problems=proof.problems,
                )

            def store(work: Transaction) -> StoredProposal:
                blank = self._fresh(draft, proof, evidence)
                new = replace(blank, reason=reason, requested_by=requested_by)
                for known in all_of(work):
                    if known.content_key == new.content_key and known.state == "open":
                        return known
                self._rows.add(work, new, actor=actor)
                return new

            return await self._rows.db.transact(store)

    async def evidence(self) -> Evidence:
        """Read the newest calls, answers and rules."""
        from app.agents.rule_proposals.recorded_calls import read_records, recorded

        sources = self._sources
        catalog = sources.registry.snapshot()
        records = await read_records(
            sources.reading.database, catalog, sources.resolver, sources.projects, sources.calls
        )
        rules, loaded = sources.rule_sets.current(), sources.rule_sets.loaded()
        now = self._clock.time()
        position = f"{records.newest_call}/{records.newest_answer}"
        given = await asyncio.to_thread(
            lambda: _inputs(*recorded(records), rules, catalog, now, position)
        )
        return Evidence(given, loaded, digest_of(loaded), position)

    # -- internal ---------------------------------------------------------------------

    async def _measure(self) -> None:
        """Set the gauges of how often people were asked, and how they answered, in a day."""
        from app.agents.decision_replay import fatigue

        since = isoformat(self._clock.now() - timedelta(days=1))
        found = await fatigue(self._sources.reading.database, since)
        measured = {
            "prompts_per_100_calls": found.prompts_per_100_calls,
            "prompt_answer_median_seconds": found.times.median_s,
            "prompt_answer_p90_seconds": found.times.p90_s,
            "prompts_approved_fast_share": found.times.fast_share,
        }
        for name, value in measured.items():
            if value is not None:
                self._sources.metrics.gauges[name] = value

    async def _known(self, evidence: Evidence) -> list[KnownRule]:
        """Return the rules in force, with their last use."""
        now = self._clock.time()
        active = [item for item in evidence.loaded if rule_state(item, now) == "active"]
        counted = await self._sources.rules.counted(item.stored.id for item in active)
        return [
            KnownRule(
                item.stored.id,
                item.definition,
                max(counted.get(item.stored.id, (0, None))[1] or "", item.stored.updated_at),
                is_removable=item.stored.source == "database",
            )
            for item in active
            if item.definition is not None
        ]

    def _reconcile(
        self,
        work: Transaction,
        held: Sequence[tuple[Draft, Proof]],
        again: Sequence[tuple[StoredProposal, Draft, Proof]],
        evidence: Evidence,
    ) -> Recomputed:
        moment = isoformat(self._clock.now())
        stored = all_of(work)
        stale = 0
        for found, draft, proof in again:
            proven = self._with_proof(found, draft, proof, evidence)
            if proof.holds and not _changed_rule(found, evidence.loaded):
                self._rows.prove(work, proven)
            elif any(item.id == found.id and item.state == "open" for item in stored):
                shut = closed(proven, "stale")
                self._rows.decide(work, shut, actor=_SYSTEM, moment=moment)
                stale += 1
        # What a person has decided, or still sees, is not proposed a second time.
        taken = {p.content_key for p in stored if p.state in ("open", "dismissed")}
        room = MAX_OPEN - sum(p.state == "open" for p in stored) + stale
        new = [pair for pair in held if pair[0].key not in taken][: max(0, room)]
        for draft, proof in new:
            self._rows.add(work, self._fresh(draft, proof, evidence), actor=_SYSTEM)
        still_open = sum(p.state == "open" for p in all_of(work))
        return Recomputed(still_open, len(new), stale, len(evidence.given.history.calls))

    def _fresh(self, draft: Draft, proof: Proof, evidence: Evidence) -> StoredProposal:
        moment = isoformat(self._clock.now())
        blank = StoredProposal(
            new_id("rpr"), draft.kind, draft.body, {}, [], "open", draft.key, "", "", moment, moment
        )
        return self._with_proof(blank, draft, proof, evidence)

    def _with_proof(
        self, found: StoredProposal, draft: Draft, proof: Proof, evidence: Evidence
    ) -> StoredProposal:
        return replace(
            found,
            body=draft.body,
            proof=proof.to_json(),
            evidence=[item.operation_id for item in draft.evidence] or found.evidence,
            why=draft.why,
            rule_id=draft.rule_id,
            rules_digest=evidence.rules_digest,
            history_position=evidence.position,
            proven_at=isoformat(self._clock.now()),
        )

    async def _withdraw(self, proven: StoredProposal, actor: str) -> None:
        moment = isoformat(self._clock.now())

        def decide(work: Transaction) -> StoredProposal:
            return self._rows.decide(work, closed(proven, "stale"), actor=actor, moment=moment)

        await self._rows.db.transact(decide)

    async def _newest_against(self, proposal: StoredProposal) -> str:
        return await self._rows.db.transact(lambda work: newest_against(work, proposal.kind))

    async def _apply(
        self, proven: StoredProposal, newest: str, actor: str
    ) -> StoredProposal | None:
        """Change the rules and close the proposal together; None if the proof is too old.

        Args:
            newest: the newest answer that may speak against it, from before it was proven.
        """
        moment = isoformat(self._clock.now())
        rules = self._sources.rules
        done: list[StoredProposal] = []

        def decide(work: Transaction, rule_id: str) -> None:
            if newest_against(work, proven.kind) != newest:
                raise _AnsweredMeanwhile
            accepted = closed(proven, "accepted", rule_id=rule_id)
            done[:] = [self._rows.decide(work, accepted, actor=actor, moment=moment)]

        try:
            if proven.kind == "remove":
                assert proven.rule_id is not None
                await rules.remove(proven.rule_id, actor=actor, also=decide)
            else:
                definition = read_definition(proven.body)
                compile_rule("new", definition, self._sources.registry.snapshot().tools)
                await rules.create(definition.to_json(), actor=actor, also=decide)
        except _AnsweredMeanwhile:
            return None
        return done[0]


class _AnsweredMeanwhile(Exception):
    """Somebody answered a request after the proof."""


def _proposed(
    given: ProofInputs, known: Sequence[KnownRule], now: float
) -> list[tuple[Draft, Proof]]:
    """Return the proposals that hold: those that save most first."""
    history = given.history
    candidates = [*drafts(history, now), *denials(history), *removals(known, now)]
    return list(first_that_hold(candidates, given, MAX_OPEN))


def _proven_again(
    waiting: Sequence[StoredProposal],
    held: Sequence[tuple[Draft, Proof]],
    given: ProofInputs,
    now: float,
) -> list[tuple[StoredProposal, Draft, Proof]]:
    """Prove the open proposals with the present history; newer evidence replaces the old."""
    proven = {draft.key: (draft, proof) for draft, proof in held}
    found = []
    for proposal in waiting:
        known = proven.get(proposal.content_key)
        if known is None or proposal.requested_by is not None:
            draft = renewed(draft_of(proposal, given.history), now)
            known = draft, prove(draft, given)
        found.append((proposal, *known))
    return found


def draft_of(proposal: StoredProposal, history: History) -> Draft:
    """Return a stored proposal as a draft, with the evidence that is still in the history."""
    named = set(proposal.evidence)
    calls = tuple(item for item in history.calls if item.operation_id in named)
    requested = (proposal.requested_by or {}).get("operation_id")
    return Draft(
        proposal.kind,
        proposal.body,
        calls,
        proposal.why,
        rule_id=proposal.rule_id,
        asked_for=requested,
    )


def digest_of(loaded: Sequence[LoadedRule]) -> str:
    """Return a digest of all rules, with their order and state."""
    said = [[item.stored.id, item.stored.enabled, item.stored.body] for item in loaded]
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()


def _inputs(
    calls: Sequence[Any],
    not_judged: int,
    rules: RuleSet,
    catalog: Catalog,
    now: float,
    position: str,
) -> ProofInputs:
    history = History(calls, rules, now, position=position, not_judged=not_judged)
    return ProofInputs(history, packaged(), dict(catalog.tools))


def _changed_rule(proposal: StoredProposal, loaded: Sequence[LoadedRule]) -> list[str]:
    """Return why a rule can no longer be removed as proposed."""
    if proposal.kind != "remove":
        return []
    for item in loaded:
        if item.stored.id == proposal.rule_id:
            same = item.definition is not None and item.definition.to_json() == proposal.body
            return [] if same else [f"the rule {proposal.rule_id} has been changed"]
    return [f"the rule {proposal.rule_id} no longer exists"]


def _overridden(proof: Proof) -> str:
    return f"the call is denied or asked about by {', '.join(proof.overridden_by)}"
