"""State of one call while it passes through the gate."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from app.catalog.catalog import CatalogEntry
from app.core.errors import InvalidArguments
from app.events.durable import CallStatus, Route
from app.execution.arguments import PreparedArguments, parse_object
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.targets import Targets
from app.execution.context import CallContext, Project
from app.execution.outcome import CallOutcome
from app.policy.decision import ALLOW, Decision
from app.resolver.settings import DEFAULT_SETTING, ToolSetting
from app.toolkit.tool import Tool

_ALLOW_JSON = orjson.dumps(ALLOW.to_dict()).decode()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of a call: status, machine code and message."""

    status: CallStatus
    code: str
    message: str
    details: dict[str, Any] | None = None


@dataclass(slots=True)
class Judgement:
    """What admission found about a call at one moment.

    Attributes:
        refusal: why the call must not run.
        setting: what operators chose for the tool.
        kept_cwd: where the session's shell was left, for a call that continues there.
        writes: absolute paths of files that its shell command writes by itself.
    """

    refusal: Refusal | None = None
    prepared: PreparedArguments | None = None
    decision: Decision | None = None
    setting: ToolSetting = DEFAULT_SETTING
    kept_cwd: str | None = None
    writes: tuple[str, ...] = ()


@dataclass(slots=True)
class CallConfirmation:
    """Confirmation of a call: reason codes, and who answered.

    Attributes:
        targets: affected targets, as shown to the person.
        answer: their answer.
        edits: reasons of hooks to ask about edited arguments, by their JSON.
    """

    id: str
    reasons: frozenset[str]
    by: str | None = None
    targets: Targets = field(default_factory=Targets)
    answer: ConfirmationResolution | None = None
    edits: dict[bytes, tuple[str, ...]] = field(default_factory=dict)


LEAST_SHOWN = 1000


@dataclass(frozen=True, slots=True)
class PartialOutput:
    """Partial result of a stopped call: its output, with sizes in pieces and bytes."""

    seconds: float = 0.0
    output: str = ""
    chunks: int = 0
    size: int = 0


NOT_BEGUN = PartialOutput()


@dataclass(slots=True)
class CallState:
    """Mutable state of one call. Only the executor changes it.

    Attributes:
        tool_name: canonical name, or the caller's spelling if there is no such tool.
        ids: JSON text of the IDs in every event of this call.
        duplicate_of: earlier, equal call of the same batch.
        done: future of the outcome; exists only if a duplicate waits for it.
        task: task that runs this call, used to cancel only this call.
        arguments_json: redacted arguments, as shown and stored.
        is_claimed: its row is already stored, because it has side effects.
        batch: batch of the call.
        asked: confirmation that it waits for, or that approved it.
        asked_again: reason for a second confirmation, as a sentence.
        writes: absolute paths of files that its shell command writes.
        kept_cwd: working directory of the session's shell, if the call continues there. It is
            evaluated and run in this folder, even if other calls move the shell.
        note: additional note for the model.
        setting: operator settings of the tool at admission.
        partial: output of a cancelled call so far.
        outcome: set when the end is recorded.
    """

    request: CallRequest
    index: int
    operation_id: str
    context: CallContext
    tool_name: str
    ids: str
    entry: CatalogEntry | None = None
    tool: Tool | None = None
    prepared: PreparedArguments | None = None
    decision: Decision | None = None
    refusal: Refusal | None = None
    duplicate_of: CallState | None = None
    done: asyncio.Future[CallOutcome] | None = None
    task: asyncio.Task[Any] | None = None
    cancel_requested: bool = False
    is_started: bool = False
    ask_reasons: Sequence[str] = ()
    partial: PartialOutput = NOT_BEGUN
    outcome: CallOutcome | None = None
    started_at: str = ""
    arguments_json: str = "{}"
    is_claimed: bool = False
    batch: ToolCallBatch | None = None
    asked: CallConfirmation | None = None
    asked_again: str = ""
    kept_cwd: str | None = None
    writes: tuple[str, ...] = ()
    note: str = ""
    setting: ToolSetting = DEFAULT_SETTING
    _key: tuple[str, bytes] | None = None

    def head(self) -> dict[str, Any]:
        """Return the IDs of `ids` as a mapping."""
        context = self.context
        head = {
            "run_id": context.run_id,
            "agent_id": context.agent_id,
            "tool_call_id": self.request.id,
            "operation_id": self.operation_id,
            "parent_tool_call_id": context.parent_tool_call_id,
        }
        return {key: value for key, value in head.items() if value}

    @property
    def route(self) -> Route:
        """Return the process type in which the call runs or would run."""
        if self.refusal is not None and self.refusal.status == "disabled":
            return "disabled"
        subagent = self.context.subagent
        if subagent is None:
            return "main"
        is_local = self.tool is not None and self.tool.route == "worker-local"
        local = is_local and self.tool_name in subagent.process.tools
        return "worker-local" if local else "main-process-proxy"

    @property
    def shown_arguments(self) -> Any:
        """Return the arguments that the call would run with, or the submitted ones if unknown."""
        if self.prepared is not None:
            return self.prepared.raw
        try:
            return parse_object(self.request.arguments)
        except InvalidArguments:
            return self.request.arguments

    @property
    def key(self) -> tuple[str, bytes]:
        """Return the comparison key of the call; equal calls have equal keys.

        An alias that reshapes results counts as a separate tool, as does a call in a narrowed
        workspace, which must not receive results of others.
        """
        if self._key is None:
            assert self.prepared is not None
            project = self.context.project
            self._key = call_key(self.entry, self.tool_name, self.prepared, project)
        return self._key

    @property
    def command_key(self) -> str:
        """Return a key that is equal for the same command in the same folder."""
        return command_key(self.key, self.cwd)

    @property
    def cwd(self) -> str | None:
        """Return the base folder of the call's relative paths; None without a project."""
        project = self.context.project
        return self.kept_cwd or (project.root if project else None)

    @property
    def leaves_a_trace(self) -> bool:
        """Whether something must be on disk before it runs: an effect, an approval's use."""
        assert self.tool is not None
        if self.tool.has_side_effects or self.asked is not None:
            return True
        return self.decision is not None and self.decision.grant_id is not None

    def runs_files(self, *, in_batch: bool) -> bool:
        """Whether it may run what has been written since it was judged."""
        if in_batch and self.tool is not None and self.tool.shell is not None:
            return True
        return self.decision is not None and bool(self.decision.judged)

    @property
    def standing(self) -> Judgement:
        """What was found about it last, where nothing speaks against it."""
        return Judgement(
            None, self.prepared, self.decision, self.setting, self.kept_cwd, self.writes
        )

    def judged(self, found: Judgement) -> CallState:
        """A copy that continues with what was found."""
        trial = copy.copy(self)
        trial.take(found)
        return trial

    def take(self, found: Judgement) -> None:
        """Continue with what was found now."""
        if found.prepared is not self.prepared:
            self.prepared, self._key = found.prepared, None
        self.refusal, self.decision = found.refusal, found.decision
        self.kept_cwd, self.writes = found.kept_cwd, found.writes

    def decision_json(self) -> str:
        if self.decision is ALLOW or self.decision is None:
            return _ALLOW_JSON
        return orjson.dumps(self.decision.to_dict()).decode()


def call_key(
    entry: CatalogEntry | None,
    tool_name: str,
    prepared: PreparedArguments,
    project: Project | None,
) -> tuple[str, bytes]:
    """See `CallState.key`."""
    alias, canonical = entry.alias if entry else None, prepared.canonical
    name = alias.name if alias is not None and alias.reshape is not None else tool_name
    if project is not None and project.roots:
        canonical = b"\0".join((canonical, *map(os.fsencode, project.roots)))
    return name, canonical


def command_key(key: tuple[str, bytes], cwd: str | None) -> str:
    """See `CallState.command_key`."""
    name, canonical = key
    return sha256(b"\0".join((name.encode(), os.fsencode(cwd or ""), canonical))).hexdigest()


@dataclass(slots=True)
class ToolCallBatch:
    """Calls of one model turn, or of one direct request.

    Attributes:
        is_kept: the batch is stored, so a restarted service can continue it.
        shown_chars: characters of results so far.
    """

    calls: list[CallState]
    max_workers: int | None = None
    is_kept: bool = False
    shown_chars: int = 0

    def __post_init__(self) -> None:
        for call in self.calls:
            call.batch = self

    def allot(self, size: int, *, limit: int, budget: int) -> int:
        """How much of the next result, of `size`, a model gets; `limit` at most.

        All results of the batch fit into `budget`: something is left for each call that has not
        ended.
        """
        if len(self.calls) > 1:
            others = sum([call.outcome is None for call in self.calls]) - 1
            budget -= max(0, others) * LEAST_SHOWN
        limit = min(limit, max(LEAST_SHOWN, budget - self.shown_chars))
        self.shown_chars += min(limit, size)
        return limit

    def let_go(self) -> None:
        """Drop the calls once all have ended, so that they are freed immediately.

        A call and its batch reference each other; without this, thirteen objects of every call wait
        for the garbage collector, a fifth of the cost of a call.
        """
        for call in self.calls:
            call.batch = None
