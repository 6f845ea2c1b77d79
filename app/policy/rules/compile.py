"""Compilation of a stored body to a rule: structure, matchers and examples, checked together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from app.core.errors import InvalidInput
from app.core.field_problems import Problem, field_problem, problem
from app.policy.facts import CallFacts
from app.policy.risk.assess import assess_command
from app.policy.risk.model import RiskReport, Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.coverage import covering
from app.policy.rules.definition import RuleDefinition
from app.policy.rules.rule import Rule, broken_rule, build_rule
from app.policy.rules.words import MAYBE, YES, WordMatch
from app.toolkit.schema import path_label
from app.toolkit.tool import Tool

MAX_PROBLEMS = 100
WORKSPACE = "/workspace"
"""Working directory of examples: absolute paths of the workspace start here."""


def read_definition(body: Any) -> RuleDefinition:
    """Return the definition in a JSON value.

    Raises:
        InvalidInput: with every problem as `{path, message, code}`.
    """
    try:
        return RuleDefinition.model_validate(body)
    except ValidationError as error:
        raise _invalid(_problems(error)) from None


def compile_rule(
    rule_id: str, definition: RuleDefinition, tools: Mapping[str, Tool] | None = None
) -> Rule:
    """Compile a rule and check its examples.

    Args:
        tools: the catalog's tools, which determine the shell of examples.

    Raises:
        InvalidInput: lists each failed example.
    """
    rule = build_rule(rule_id, definition)
    tool = stand_in(rule, definition, tools or {})
    problems = [
        problem
        for kind, wanted in (("match", True), ("not_match", False))
        for at, example in enumerate(getattr(definition.examples, kind))
        if (problem := _failure(rule, example, tool, f"examples.{kind}[{at}]", wanted=wanted))
    ]
    if problems:
        raise _invalid(problems)
    return rule


def load_rule(
    rule_id: str, body: Any, tools: Mapping[str, Tool] | None = None
) -> tuple[Rule | None, RuleDefinition | None, list[Problem]]:
    """Load a stored rule; never raises.

    An invalid ask or deny rule becomes a rule that asks for every call of its tools; an invalid
    allow rule has no effect.
    """
    definition: RuleDefinition | None = None
    try:
        definition = read_definition(body)
        return compile_rule(rule_id, definition, tools), definition, []
    except InvalidInput as error:
        problems = error.details["errors"]
        fields = body if isinstance(body, Mapping) else {}
        if fields.get("decision") == "allow":
            return None, definition, problems
        tool = fields.get("tool")
        named = tool if isinstance(tool, str) and 0 < len(tool) <= 128 else "*"
        broken = broken_rule(rule_id, named, error.message)
        if definition is not None:
            broken = replace(broken, scope=definition.scope, expires=definition.expires)
        return broken, definition, problems


def matches(rule: Rule, example: str | dict[str, Any], tool: Tool) -> WordMatch:
    """Return whether a rule matches one call, by its kind of matching, regardless of scope."""
    view = CallView(*example_call(example, tool))
    if rule.verdict is not Verdict.ALLOW:
        return rule.match(view)[0]
    report = view.report
    if report is None:
        return WordMatch(YES if rule.allows(view) else WordMatch.NO)
    needed = {at for at, segment in enumerate(report.segments) if not segment.wraps}
    hopeless = report.opaque or report.verdict is Verdict.DENY
    covered = needed and not hopeless and needed <= rule.covers(view)
    return YES if covered and (not report.findings or covering(view, [rule])) else WordMatch.NO


def example_call(example: str | dict[str, Any], tool: Tool) -> tuple[CallFacts, RiskReport | None]:
    """Return the facts of an example; a text is a command."""
    arguments = {tool.command_argument: example} if isinstance(example, str) else example
    facts = CallFacts(tool, arguments, arguments, cwd=WORKSPACE)
    if tool.shell is None:
        return facts, None
    return facts, assess_command(facts.command, shell=tool.shell, cwd=facts.shell_cwd)


def stand_in(rule: Rule, definition: RuleDefinition, tools: Mapping[str, Tool]) -> Tool:
    """Return the tool of the examples: the catalog's, or a matching placeholder."""
    examples = [*definition.examples.match, *definition.examples.not_match]
    commands = rule.reads_commands or any(isinstance(example, str) for example in examples)
    concerned = [tool for tool in tools.values() if rule.concerns(tool)]
    for tool in concerned:
        if (tool.shell is not None) is commands:
            return tool
    return Tool(
        name="example",
        description="Stands in for a tool in examples.",
        parameters={},
        validate=lambda raw: raw,
        function=_nothing,
        shell="bash" if commands else None,
    )


async def _nothing(args: Any, ctx: Any) -> None:
    del args, ctx


def _failure(
    rule: Rule, example: str | dict[str, Any], tool: Tool, path: str, *, wanted: bool
) -> Problem | None:
    found = matches(rule, example, tool)
    if found is (YES if wanted else WordMatch.NO):
        return None
    if found is MAYBE:
        message = "is known only when it runs"
    else:
        message = "is not matched" if wanted else "is matched"
    return problem(path, f"{_short(example)} {message}", "example_failed")


def _short(example: str | dict[str, Any]) -> str:
    text = repr(example)
    return text if len(text) <= 200 else text[:199] + "…"


def _problems(error: ValidationError) -> list[Problem]:
    found = error.errors(include_url=False, include_input=False)
    return [field_problem(_label(item["loc"]), item) for item in found[:MAX_PROBLEMS]]


def _label(location: tuple[int | str, ...]) -> str:
    return path_label(tuple(p for p in location if not (isinstance(p, str) and p.startswith("~"))))


def _invalid(problems: list[Problem]) -> InvalidInput:
    message = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems[:10])
    return InvalidInput(f"The rule is invalid: {message}", errors=problems)
