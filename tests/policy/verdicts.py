"""Rules, calls and decisions in one line each."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.policy.decision import Decision
from app.policy.evaluator import decide
from app.policy.facts import CallFacts
from app.policy.grants import NO_GRANTS, GrantSet
from app.policy.rules.compile import load_rule
from app.policy.rules.rule import Rule
from app.policy.rules.rule_set import RuleSet
from app.toolkit.tool import Tool, ToolArgs, tool
from app.tools.files.write_file import write_file
from app.tools.shell.bash import bash

Body = dict[str, Any]


class FetchArgs(ToolArgs):
    """Arguments of a made-up tool."""

    url: str = ""
    tries: int = 1
    options: dict[str, Any] = Field(default_factory=dict)


@tool(toolset="web")
async def fetch(args: FetchArgs, ctx: Any) -> None:
    """Fetch something."""


@tool(toolset="shell", shell="powershell", name="pwsh")
async def pwsh(args: ToolArgs, ctx: Any) -> None:
    """Run PowerShell."""


TOOLS: dict[str, Tool] = {item.name: item for item in (bash, write_file, fetch, pwsh)}


def deny(why: str = "not here", **fields: Any) -> Body:
    return {"tool": "bash", "decision": "deny", "justification": why, **fields}


def ask(why: str = "show me", **fields: Any) -> Body:
    return {"tool": "bash", "decision": "ask", "justification": why, **fields}


def allow(**fields: Any) -> Body:
    return {"tool": "bash", "decision": "allow", **fields}


def argv(*words: Any) -> Body:
    return {"match": {"argv": list(words)}}


def rule_set(*bodies: Any) -> RuleSet:
    """Rules called r0, r1, … in order."""
    loaded = [load_rule(f"r{at}", body, TOOLS)[0] for at, body in enumerate(bodies)]
    return RuleSet([rule for rule in loaded if rule is not None], TOOLS)


def rule(body: Body) -> Rule:
    loaded, _, problems = load_rule("r0", body, TOOLS)
    assert problems == []
    assert loaded is not None
    return loaded


def facts(call: str | Body, name: str = "bash", **more: Any) -> CallFacts:
    raw = {"command": call} if isinstance(call, str) else call
    return CallFacts(TOOLS[name], raw, raw, **more)


def judge(
    call: str | Body,
    *bodies: Any,
    name: str = "bash",
    grants: GrantSet = NO_GRANTS,
    now: float = 0.0,
    **more: Any,
) -> Decision:
    return decide(facts(call, name, **more), rules=rule_set(*bodies), grants=grants, now=now)


def verdict(call: str | Body, *bodies: Any, **more: Any) -> str:
    return judge(call, *bodies, **more).verdict.value
