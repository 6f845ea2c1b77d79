"""Policy evaluation of one call: a pure function that returns a decision.

Precedence: floor > deny rule > ask > allow. A grant releases questions, never a denial; an allow
rule only releases questions of the risk analysis and the tool itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from app.policy.decision import ALLOW, Decision, RiskName
from app.policy.facts import CallFacts
from app.policy.grants import NO_GRANTS, WEAK_SANDBOX, GrantSet, may_release
from app.policy.own_files import with_losses, without_own_deletions
from app.policy.risk.assess import assess_command, assess_program
from app.policy.risk.collected import ANY_HOME
from app.policy.risk.model import (
    NOTHING_FOUND,
    CommandFinding,
    FileRun,
    Given,
    RiskLevel,
    RiskReport,
    ShellName,
    Verdict,
    worst_level,
    worst_verdict,
)
from app.policy.risk.paths import protected_write, reported_write
from app.policy.rules.call_view import CallView
from app.policy.rules.coverage import covering
from app.policy.rules.rule import Rule
from app.policy.rules.rule_set import NO_RULES, NOTHING, RuleSet, ToolRules
from app.policy.rules.words import MAYBE, NO
from app.policy.self_protection import SelfProtection
from app.toolkit.tool import Tool

_MOST_ROUNDS = 6

_RELEASABLE_CODES = frozenset({"git_code", "runs_later", "startup_file"})
_WRITES_PATH = re.compile(r"writes (.+), which .+", re.DOTALL)


def is_plain(tool: Tool, rules: RuleSet, *, asks: bool) -> bool:
    """Return whether `decide` could only return `ALLOW`: the fast path, before facts are
    collected.
    """
    may_ask = asks or tool.shell is not None or tool.asks is not None
    may_ask = may_ask or tool.edits_files or tool.sends
    return not may_ask and rules.for_tool(tool.name) is NOTHING


def decide(
    facts: CallFacts,
    *,
    rules: RuleSet = NO_RULES,
    grants: GrantSet = NO_GRANTS,
    now: float = 0.0,
    protection: SelfProtection | None = None,
) -> Decision:
    """Evaluate one call by its validated arguments.

    Args:
        now: Unix time, for expiry.
        protection: detects names of the service that a command must not access without approval.
    """
    tool = facts.tool
    concerned = rules.for_tool(tool.name)
    silent = not facts.asks and facts.secret_in is None and not concerned
    if silent and tool.shell is None and not tool.edits_files:
        return ALLOW
    hosts = _host_findings(facts)
    paths = _paths(facts) if tool.edits_files else ()
    report = _report(facts, protection, paths)
    if report is not None and report.verdict is Verdict.DENY:
        return _floor(report)
    if concerned:
        decision = _Weighing(facts, report, concerned, grants, now, hosts).decide()
    else:
        decision = _unruled(facts, report, hosts, grants, now)
    if paths and decision.verdict is Verdict.ASK:
        decision = replace(decision, resolved_targets=paths)
    reported = tuple(text for text in map(reported_write, paths) if text is not None)
    judged = report.judged if report is not None else ()
    if not (reported or judged):
        return decision
    return replace(decision, reported=reported, judged=judged)


def written_files(facts: CallFacts) -> tuple[str, ...]:
    """Return absolute paths of files that a shell command writes itself."""
    shell = facts.tool.shell
    if shell != "bash":
        return ()
    return assess_command(facts.command, shell=shell, cwd=facts.shell_cwd).written


def _unruled(
    facts: CallFacts,
    report: RiskReport | None,
    hosts: tuple[CommandFinding, ...],
    grants: GrantSet,
    now: float,
) -> Decision:
    """Decide without rules about the tool."""
    findings = (*(report.findings if report is not None else ()), *hosts)
    if not facts.asks and not findings:
        return ALLOW
    return _asking(facts, report, findings, grants, now, flagged=facts.asks)


class _Weighing:
    """Evaluation of one call against the rules about its tool."""

    def __init__(
        self,
        facts: CallFacts,
        report: RiskReport | None,
        concerned: ToolRules,
        grants: GrantSet,
        now: float,
        hosts: tuple[CommandFinding, ...],
    ) -> None:
        self._facts = facts
        self._report = report
        self._concerned = concerned
        self._grants = grants
        self._now = now
        # Rules check the arguments of tools that write files, as of any tool except shells.
        self._sight = CallView(facts, None if facts.tool.edits_files else report)
        self._denies: list[CommandFinding] = []
        # An allow rule is about the command, and its author has not seen these hosts.
        self._asks: list[CommandFinding] = list(hosts)
        self._allows: list[Rule] = []
        self._spoke: list[str] = []

    def decide(self) -> Decision:
        """Return the verdict with the contributing rules."""
        decision = self._decide()
        if self._spoke:
            return replace(decision, spoke=tuple(self._spoke))
        return decision

    def _decide(self) -> Decision:
        for rule in self._concerned.about(self._sight):
            if rule.in_force(self._facts, self._now):
                self._hear(rule)
        if self._denies:
            return self._denied()
        self._suspect()
        facts, report = self._facts, self._report
        risky = report.findings if report is not None else ()
        flagged, released = facts.asks, tuple[CommandFinding, ...]()
        covered = covering(self._sight, self._answering(risky)) if self._allows else ()
        if covered:
            self._spoke.extend(covered)
            flagged, released = flagged and facts.asks_by != "tool", risky
        remaining = (*self._asks, *(() if covered else risky))
        if not remaining and not flagged:
            return self._allowed(covered, released)
        decision = _asking(
            facts,
            report,
            remaining,
            self._grants,
            self._now,
            flagged=flagged,
            ruled=bool(self._asks),
        )
        if decision.verdict is Verdict.ASK:
            return replace(
                decision,
                covered_by=covered,
                released=released,
                justification=self._asks[0].why if self._asks else "",
            )
        return decision

    def _answering(self, risky: tuple[CommandFinding, ...]) -> list[Rule]:
        """Return the allow rules that may release: for a protected file only those with paths."""
        named_only = self._facts.tool.edits_files and risky
        return [rule for rule in self._allows if rule.paths or not named_only]

    def _hear(self, rule: Rule) -> None:
        if rule.broken:
            why = f"the rule {rule.id} is invalid, so it asks: {rule.broken}"
            self._asks.append(_said("invalid_rule", None, why, Verdict.ASK))
            return
        if rule.verdict is Verdict.ALLOW:
            self._allows.append(rule)
            return
        match, at = rule.match(self._sight)
        if match is NO:
            return
        self._spoke.append(rule.id)
        if match is MAYBE:
            why = (
                f"a rule may apply, which is only known when the command runs: {rule.justification}"
            )
            self._asks.append(_said("rule_unresolved", at, why, Verdict.ASK))
            return
        reasons = self._denies if rule.verdict is Verdict.DENY else self._asks
        reasons.append(_said(rule.id, at, rule.justification, rule.verdict))

    def _suspect(self) -> None:
        """Ask if a hidden command might match a rule."""
        report = self._report
        if report is None or not report.opaque or not self._concerned.tightening:
            return
        if not any(finding.code == "rule_unresolved" for finding in self._asks):
            why = "it runs code that cannot be checked against the rules beforehand"
            self._asks.append(_said("rule_unresolved", None, why, Verdict.ASK))

    def _denied(self) -> Decision:
        report, denies = self._report, tuple(self._denies)
        return Decision(
            Verdict.DENY,
            _joined(denies),
            ("denied_by_rule", *_codes(denies)),
            _risk(report, denies),
            denies,
            resolved_targets=report.resolved_targets if report else (),
            segments=report.segments if report else (),
            opaque=report.opaque if report else False,
            justification=denies[0].why,
        )

    def _allowed(self, covered: tuple[str, ...], released: tuple[CommandFinding, ...]) -> Decision:
        report = self._report
        asked = bool(released) or self._facts.asks
        if not covered or not asked:
            return ALLOW
        return Decision(
            Verdict.ALLOW,
            rule_ids=covered,
            risk=report.risk.value if report else "low",
            resolved_targets=report.resolved_targets if report else (),
            segments=report.segments if report else (),
            covered_by=covered,
            released=released,
        )


def _asking(
    facts: CallFacts,
    report: RiskReport | None,
    findings: tuple[CommandFinding, ...],
    grants: GrantSet,
    now: float,
    *,
    flagged: bool,
    ruled: bool = False,
) -> Decision:
    """Return the question, or the decision that releases it."""
    codes = _codes(findings)
    reason = _joined(findings)
    if flagged:
        codes = (*codes, "requires_confirmation")
        reason = reason or f"{facts.tool.name} always requires approval"
    if facts.asks_by == "sandbox":
        codes = (*codes, WEAK_SANDBOX)
        reason = f"{facts.tool.name} would run with a weaker sandbox than required; {reason}"
    decision = Decision(
        Verdict.ASK,
        reason,
        codes,
        _risk(report, findings),
        findings,
        flagged or ruled,
        report.resolved_targets if report else (),
        report.segments if report else (),
        opaque=report.opaque if report else False,
    )
    if not may_release(decision):
        return decision
    grant_id = grants.covering(facts, report, now, whole=flagged or ruled)
    if grant_id is None:
        return decision
    return replace(
        decision,
        verdict=Verdict.ALLOW,
        reason="",
        findings=(),
        asks=False,
        grant_id=grant_id,
        released=findings,
    )


def _floor(report: RiskReport) -> Decision:
    return Decision(
        Verdict.DENY,
        _joined(report.findings),
        _codes(sorted(report.findings, key=lambda found: found.verdict is not Verdict.DENY)),
        report.risk.value,
        report.findings,
        resolved_targets=report.resolved_targets,
        segments=report.segments,
        floor=True,
        opaque=report.opaque,
    )


def _said(code: str, segment: int | None, why: str, verdict: Verdict) -> CommandFinding:
    return CommandFinding(code, segment, why.removesuffix(": "), RiskLevel.MEDIUM, verdict)


def _codes(findings: Iterable[CommandFinding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.code for finding in findings))


def _joined(findings: Iterable[CommandFinding]) -> str:
    return "; ".join(dict.fromkeys(finding.why for finding in findings))


def _risk(report: RiskReport | None, findings: Iterable[CommandFinding]) -> RiskName:
    levels = [finding.level for finding in findings]
    level = worst_level(levels if report is None else [report.risk, *levels])
    return level.value


def _host_findings(facts: CallFacts) -> tuple[CommandFinding, ...]:
    """Ask for each host that the project does not allow."""
    if not facts.new_hosts:
        return ()
    why = f"asks for network access to {', '.join(facts.new_hosts)}"
    found = CommandFinding("network_host", None, why, RiskLevel.MEDIUM, Verdict.ASK)
    return (found,)


def _paths(facts: CallFacts) -> tuple[str, ...]:
    """Return the known paths named by a tool that changes files."""
    places = CallView(facts, None).argument_places
    return tuple(dict.fromkeys(place.path for place in places if place.path))


def _report(
    facts: CallFacts, protection: SelfProtection | None, paths: tuple[str, ...]
) -> RiskReport | None:
    """Return the risk report of the call; None for tools without analysis."""
    if facts.tool.shell is not None:
        return _assess(facts, protection)
    if facts.tool.edits_files:
        return _written_paths(facts, paths)
    report = NOTHING_FOUND
    if facts.secret_in is not None:
        why = f"{facts.tool.name} sends what looks like a secret in {facts.secret_in}"
        report = _with(
            report, CommandFinding("secret_sent", None, why, RiskLevel.HIGH, Verdict.ASK)
        )
    if facts.why_asks is not None:
        if facts.tool.language is not None:
            report = assess_program(facts.command, facts.tool.language, cwd=facts.cwd)
        found = CommandFinding("unrestricted", None, facts.why_asks, RiskLevel.HIGH, Verdict.ASK)
        report = _with(report, found)
    return report if report.findings else None


def _written_paths(facts: CallFacts, paths: tuple[str, ...]) -> RiskReport | None:
    """Return the risk report on files that a tool itself changes."""
    asked = [path for path in paths if not facts.is_released(path)]
    found = [hit for path in asked if (hit := protected_write(path, ANY_HOME)) is not None]
    if not found and facts.why_asks is None:
        return None
    report = NOTHING_FOUND
    for hit in found:
        report = _with(report, CommandFinding(hit.code, None, hit.why, hit.level, hit.verdict))
    if facts.why_asks is not None:
        own = CommandFinding("unrestricted", None, facts.why_asks, RiskLevel.HIGH, Verdict.ASK)
        report = _with(report, own)
    return report


def _assess(facts: CallFacts, protection: SelfProtection | None) -> RiskReport:
    assert facts.tool.shell is not None
    command = facts.command
    report = _with_files(facts, facts.tool.shell)
    if facts.tool.shell == "bash":
        report = without_own_deletions(report, facts.is_own)
        report = with_losses(report, facts.is_there, facts.is_own)
    report = without_released(report, facts.is_released)
    if protection is not None:
        report = _with(report, protection.finding(command, report.segments, facts.shell_cwd))
    if facts.why_asks is None:
        return report
    found = CommandFinding("typed_input", None, facts.why_asks, RiskLevel.MEDIUM, Verdict.ASK)
    return replace(_with(report, found), opaque=True)


def _with_files(facts: CallFacts, shell: ShellName) -> RiskReport:
    """Assess a command together with the files that a session wrote for it.

    One file may lead to the next: a target of `make` runs a script.
    """
    report = assess_command(facts.command, shell=shell, cwd=facts.shell_cwd)
    given, looked_at = tuple[Given, ...](), frozenset[FileRun]()
    for _ in range(_MOST_ROUNDS):
        if looked_at.issuperset(report.runs):
            break
        looked_at |= frozenset(report.runs)
        more = facts.written(report.runs)
        if {one.path for one in more} <= {one.path for one in given}:
            break
        given = more
        report = assess_command(facts.command, shell=shell, cwd=facts.shell_cwd, given=given)
    return report


def _with(report: RiskReport, found: CommandFinding | None) -> RiskReport:
    if found is None:
        return report
    return replace(
        report,
        verdict=worst_verdict((report.verdict, found.verdict)),
        risk=worst_level((report.risk, found.level)),
        findings=(*report.findings, found),
    )


def without_released(report: RiskReport, is_released: Callable[[str], bool]) -> RiskReport:
    """Return the report without questions about files that the project releases."""
    findings = tuple(found for found in report.findings if not _is_free(found, is_released))
    if len(findings) == len(report.findings):
        return report
    return replace(
        report,
        findings=findings,
        verdict=worst_verdict([found.verdict for found in findings]),
        risk=worst_level([found.level for found in findings]),
    )


def _is_free(found: CommandFinding, is_released: Callable[[str], bool]) -> bool:
    if found.code not in _RELEASABLE_CODES:
        return False
    named = _WRITES_PATH.fullmatch(found.why)
    if named is None or not is_released(named[1]):
        return False
    # The reason contains the path. It is certainly the only one if evaluating again gives the same
    # reason.
    hit = protected_write(named[1], ANY_HOME)
    return hit is not None and hit.why == found.why
