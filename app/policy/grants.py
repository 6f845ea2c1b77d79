"""Standing approvals: their coverage, and whether a call is covered.

A pattern never covers more than what a person saw. A wider one, such as "every `git push`", would
cover unseen variants (`git push --force`): use rules for that.

    {"kind": "segments", "segments": [{"argv", "cwd"}], "rest"}   commands in a plain list
    {"kind": "command", "command", "cwd", "rest"}                 a whole script, verbatim
    {"kind": "arguments", "arguments", "cwd"}                     any other tool

`rest` of the first two also contains the content of files written by a session and run by the
commands (`files`): if it changes, the pattern no longer covers the call.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from app.policy.decision import Decision
from app.policy.facts import CallFacts
from app.policy.risk.call import names
from app.policy.risk.model import RiskReport, Segment, Verdict

PatternKind = Literal["segments", "command", "arguments"]

MAX_PATTERN_BYTES = 8_000
"""Longer texts cannot be shown completely, so they cannot be approved for later calls."""

WEAK_SANDBOX = "weak_sandbox"
_NEVER = frozenset({"service_access", "rule_unresolved", "invalid_rule", WEAK_SANDBOX})
_NOT_AND = re.compile(r"\|\||;|\n")
_SEPARATORS = re.compile(r"&&|\|\||;|\n")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
# Commands that change later commands of the same script invisibly.
_STATEFUL = frozenset(
    names(
        "alias bind builtin command coproc declare enable eval exec export fc getopts hash let "
        "local mapfile popd pushd read readarray readonly set shopt source . trap typeset ulimit "
        "umask unalias unset"
    )
)
_HOSTS = "allow_hosts"
_UNBOUND = frozenset({"command", "working_dir", "timeout"})


@dataclass(frozen=True, slots=True)
class Grant:
    """Stored approval. `scope` is run, session, agent or always."""

    id: str
    tool_name: str
    scope: str
    scope_id: str | None
    pattern: Mapping[str, Any]
    expires_at: float | None = None


class GrantSet:
    """Current grants, by tool. Immutable."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._by_tool: dict[str, tuple[tuple[Grant, bytes, frozenset[bytes]], ...]] = {}
        for grant in grants:
            known = self._by_tool.get(grant.tool_name, ())
            entry = (grant, _whole(grant.pattern), _pieces(grant.pattern))
            self._by_tool[grant.tool_name] = (*known, entry)

    def covering(
        self, facts: CallFacts, report: RiskReport | None, now: float, *, whole: bool = False
    ) -> str | None:
        """Return the ID of a grant that answers every question about this call.

        Args:
            whole: a flag or rule asks about the whole call, so an unapproved command is not covered
                by being harmless.
        """
        candidates = self._by_tool.get(facts.tool.name)
        if not candidates or (report is not None and not may_last(report)):
            return None
        wanted = _whole(_exact(facts, report))
        pieces = _needed(facts, report, whole=whole) if report is not None else frozenset()
        for grant, exact, known in candidates:
            if not _in_force(grant, facts, now):
                continue
            if exact == wanted or (pieces and pieces <= known):
                return grant.id
        return None


NO_GRANTS = GrantSet()


def may_release(decision: Decision) -> bool:
    """Return whether a stored answer may replace a person's here."""
    if decision.floor or decision.opaque or decision.verdict is Verdict.DENY:
        return False
    return _NEVER.isdisjoint(decision.rule_ids)


def may_last(report: RiskReport | Decision) -> bool:
    """Return whether an answer about this command may apply to later ones at all."""
    return (
        report.verdict is not Verdict.DENY
        and not report.opaque
        and not any(finding.code in _NEVER for finding in report.findings)
        and all(word is not None for segment in report.segments for word in segment.argv)
        and all(segment.cwd is not None for segment in report.segments)
    )


def pattern_for(facts: CallFacts, decision: Decision) -> dict[str, Any] | None:
    """Return the coverage of a standing approval of this call; None if none may be offered."""
    if decision.verdict is not Verdict.ASK or not may_release(decision):
        return None
    pattern = _exact(facts, decision)
    if facts.tool.shell is not None:
        if not decision.segments or not may_last(decision):
            return None
        if commands := _asking(facts, decision, whole=decision.asks):
            named = [{"argv": list(item.argv), "cwd": item.cwd} for item in commands]
            pattern = {"kind": "segments", "segments": named, "rest": _rest(facts, decision)}
    return pattern if len(_canonical(pattern)) <= MAX_PATTERN_BYTES else None


def describe_pattern(pattern: Mapping[str, Any]) -> str:
    """Return one sentence for the approver."""
    kind = pattern.get("kind")
    if kind == "segments":
        commands = [f"`{shlex.join(s['argv'])}` in {s['cwd']}" for s in pattern["segments"]]
        return ", ".join(commands) + ", also together with commands that need no approval"
    if kind == "command":
        return f"only this exact command in {pattern['cwd']}: {pattern['command']}"
    return f"only these exact arguments: {_canonical(pattern.get('arguments')).decode()}"


def plain_list(command: str, segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return the commands of a script that is a plain list; otherwise nothing.

    A plain list has no pipe, redirection, variable, wrapper or block: exactly its literal words
    run, without other inputs.
    """
    pieces = _texts(command)
    if len(pieces) != len(segments):
        return ()
    # After `cd a;` and `cd a ||` a command may run in an unintended folder.
    if any(s.argv[:1] == ("cd",) for s in segments) and _NOT_AND.search(command):
        return ()
    try:
        words = [tuple(shlex.split(piece)) for piece in pieces]
    except ValueError:
        return ()
    same = words == [segment.argv for segment in segments]
    return tuple(segments) if same and not any(map(_is_stateful, words)) else ()


def _texts(command: str) -> list[str]:
    # Quoted text cannot contain the separators being searched.
    bare = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), command)
    ends = [(found.start(), found.end()) for found in _SEPARATORS.finditer(bare)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(command)]
    pieces = [command[start:stop] for start, stop in zip(starts, stops, strict=True)]
    return [piece for piece in pieces if piece.strip()]


def _has_glob(text: str) -> bool:
    """Return whether the shell expands a word to names: `rm *`, but not `rm '*'`."""
    return _GLOB.search(_QUOTED.sub("", text)) is not None


def _is_stateful(words: tuple[str, ...]) -> bool:
    """Return whether a command may change what later words mean: `printf -v PATH .`."""
    assigns = words[0] in ("printf", "wait") and any(word.startswith("-") for word in words[1:])
    return assigns or words[0] in _STATEFUL


def _exact(facts: CallFacts, report: RiskReport | Decision | None) -> dict[str, Any]:
    if facts.tool.shell is None:
        return {"kind": "arguments", "arguments": dict(facts.values), "cwd": facts.cwd}
    return {
        "kind": "command",
        "command": facts.command,
        "cwd": facts.shell_cwd,
        "rest": _rest(facts, report),
    }


def _asking(facts: CallFacts, report: RiskReport | Decision, *, whole: bool) -> tuple[Segment, ...]:
    """Return the commands that an approval must name; none if their words do not determine what
    runs.

    This applies to scripts that are not a plain list, and to globs: a command's words are the same
    for the file `*` and for all files.
    """
    commands = plain_list(facts.command, report.segments)
    places = {finding.segment for finding in report.findings}
    if not commands or (None in places and not whole):
        return ()
    chosen = [at for at in range(len(commands)) if whole or at in places]
    texts = _texts(facts.command)
    if any(_has_glob(texts[at]) for at in chosen):
        return ()
    return tuple(commands[at] for at in chosen)


def _needed(facts: CallFacts, report: RiskReport, *, whole: bool) -> frozenset[bytes]:
    """Return `_asking` as bytes."""
    if any(finding.segment is None for finding in report.findings):
        return frozenset()
    rest = _rest(facts, report)
    chosen = _asking(facts, report, whole=whole)
    return frozenset(_piece(item.argv, item.cwd, rest) for item in chosen)


def _pieces(pattern: Mapping[str, Any]) -> frozenset[bytes]:
    if pattern.get("kind") != "segments":
        return frozenset()
    rest = pattern.get("rest", {})
    return frozenset(_piece(s.get("argv"), s.get("cwd"), rest) for s in pattern.get("segments", ()))


def _piece(argv: Any, cwd: Any, rest: Any) -> bytes:
    return _canonical([list(argv or ()), cwd, rest])


def _whole(pattern: Mapping[str, Any]) -> bytes:
    return _canonical(pattern)


def _rest(facts: CallFacts, report: RiskReport | Decision | None) -> dict[str, Any]:
    """Return what else affects a shell command: other arguments, and files that it runs."""
    rest = {key: value for key, value in facts.values.items() if key not in _UNBOUND}
    if not rest.get(_HOSTS):
        rest.pop(_HOSTS, None)  # an empty list is no part of an approval that is older than it
    if report is not None and report.judged:
        rest["files"] = dict(report.judged)
    return rest


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)


def _in_force(grant: Grant, facts: CallFacts, now: float) -> bool:
    if grant.expires_at is not None and grant.expires_at <= now:
        return False
    bound = {"run": facts.run_id, "session": facts.session_id, "agent": facts.agent_id}
    if grant.scope in bound:
        return grant.scope_id is not None and grant.scope_id == bound[grant.scope]
    return grant.scope == "always"
