"""Every measured line, by dimension."""

from __future__ import annotations

from typing import Any

from benchmarks.growth.content import AGENTS, HIT, MISS
from benchmarks.growth.line import (
    CallLine,
    CreateLine,
    Dimension,
    Growth,
    Line,
    PageLine,
    PathOf,
    PostLine,
    StartLine,
    SubscribeLine,
)
from benchmarks.growth.server import Place
from benchmarks.growth.tools import NOTE

PAGE = 100
EVENTS_RATIO = 2.5
"""Allowed ratio of reads of events between folders: each read also scans up to 2,048 rows that no
block contains yet, and how many there are is chance."""
_RULE = {
    "tool": "bash",
    "decision": "ask",
    "justification": "Releases are announced first; ask the release manager.",
}
SHELL_CALL = {"tool": "bash", "arguments": {"command": "git push origin main"}}


def rule(number: int) -> dict[str, Any]:
    """Return a rule unlike all others."""
    return {**_RULE, "match": {"argv": [f"release-{number}", "..."]}}


def agent(number: int) -> dict[str, Any]:
    """Return a profile with a selection and an override, like most."""
    return {
        "id": f"agent-{number}",
        "title": f"Agent {number}",
        "system_prompt": "Answer briefly, and record every decision as a note.",
        "selection": ["toolset:files", "toolset:notes"],
        "tools": {NOTE.name: {"hint": "One note per decision."}},
    }


def _fixed(path: str) -> PathOf:
    return lambda _: path


def _middle(place: Place) -> str:
    return f"/sessions?before={place.contents.middle}"


def _of_long(path: str) -> PathOf:
    """Return a path of the longest session; `{last}` is the position before its last page."""

    def of(place: Place) -> str:
        session_id, head = place.contents.longest
        return f"/sessions/{session_id}/{path.format(last=max(0, head - PAGE))}"

    return of


def _of_size(path: str) -> PathOf:
    """Return a path of the long session that has the place's number of events."""

    def of(place: Place) -> str:
        session_id, head = place.contents.long[place.size]
        return f"/sessions/{session_id}/{path.format(last=max(0, head - PAGE))}"

    return of


_SESSION_LISTS = (
    PageLine(
        name="sessions",
        about="`GET /sessions`, first page, administrator",
        path=_fixed("/sessions"),
    ),
    PageLine(
        name="sessions-all",
        about="`GET /sessions?kind=all`, first page, administrator",
        path=_fixed("/sessions?kind=all"),
    ),
    PageLine(
        name="sessions-middle",
        about="`GET /sessions?before=`, a page from the middle, administrator",
        path=_middle,
    ),
    PageLine(
        name="sessions-hit",
        about="`GET /sessions?q=` with ten hits in the newest sessions",
        path=_fixed(f"/sessions?q={HIT}&limit=10"),
        part=HIT.encode(),
    ),
    PageLine(
        name="sessions-miss",
        about="`GET /sessions?q=` without a hit",
        path=_fixed(f"/sessions?q={MISS}"),
        # It reads up to a thousand chats, and the smallest folder has three quarters of them.
        flat_ratio=2.0,
        part=b'"hits":[]',
    ),
    PageLine(
        name="sessions-user",
        about="`GET /sessions`, first page, ordinary user",
        path=_fixed("/sessions"),
        as_user=True,
    ),
)
_REPORTS = (
    PageLine(
        name="usage",
        about="`GET /admin/usage`, by agent",
        path=_fixed("/admin/usage"),
        part=AGENTS[0].encode(),
    ),
    PageLine(
        name="usage-calls",
        about="`GET /admin/usage/calls`, by tool",
        path=_fixed("/admin/usage/calls?by=tool"),
        part=NOTE.name.encode(),
    ),
    PageLine(
        name="fatigue",
        about="`GET /admin/rules/fatigue` of a year",
        path=_fixed("/admin/rules/fatigue?days=365"),
        expects=Growth.LINEAR,
    ),
    PageLine(
        name="confirmation-figures",
        about="`GET /admin/confirmations/figures`",
        path=_fixed("/admin/confirmations/figures"),
    ),
)
_AUDIT = (
    PageLine(
        name="audit",
        about="`GET /admin/audit`, first page",
        path=_fixed("/admin/audit"),
    ),
    PageLine(
        name="audit-tool",
        about="`GET /admin/audit?tool_name=`, first page",
        path=_fixed(f"/admin/audit?tool_name={NOTE.name}"),
        part=NOTE.name.encode(),
    ),
    PageLine(
        name="audit-session",
        about="`GET /admin/audit?session_id=` of a session from the middle",
        path=lambda place: f"/admin/audit?session_id={place.contents.middle}",
        part=NOTE.name.encode(),
    ),
    PageLine(
        name="audit-miss",
        about="`GET /admin/audit?tool_name=` without a hit",
        path=_fixed(f"/admin/audit?tool_name={MISS}"),
        part=b'"rows":[]',
    ),
    PostLine(
        name="audit-verify",
        about="`POST /admin/audit/verify`",
        path="/admin/audit/verify",
        expects=Growth.LINEAR,
    ),
)
_OTHER_LISTS = (
    PageLine(
        name="confirmations",
        about="`GET /confirmations`, first page",
        path=_fixed("/confirmations"),
    ),
    PageLine(
        name="confirmations-pending",
        about="`GET /confirmations?state=pending`, the inbox",
        path=_fixed("/confirmations?state=pending"),
    ),
    PageLine(
        name="schedules",
        about="`GET /admin/schedules?limit=10`, first page",
        path=_fixed("/admin/schedules?limit=10"),
    ),
)
_CALLS = (
    CallLine(name="call", about="`POST /tools/{name}/call`, one-off"),
    CallLine(
        name="call-in-session",
        about="`POST /tools/{name}/call` in one session",
        in_session=True,
    ),
    SubscribeLine(
        name="subscribe",
        about="WebSocket: subscribe to a long session at its end, and unsubscribe",
    ),
    StartLine(name="start", about="`tollgate serve` until ready", most=1),
)
_LONG_SESSION = (
    PageLine(
        name="long-snapshot",
        about="`GET /sessions/{id}/snapshot` of the longest session",
        path=_of_long("snapshot"),
    ),
    PageLine(
        name="long-first",
        about="`GET /sessions/{id}/events`, first 100 of the longest session",
        path=_of_long(f"events?limit={PAGE}"),
        flat_ratio=EVENTS_RATIO,
    ),
    PageLine(
        name="long-last",
        about="`GET /sessions/{id}/events`, last 100 of the longest session",
        path=_of_long(f"events?limit={PAGE}&after={{last}}"),
        flat_ratio=EVENTS_RATIO,
    ),
)
_RULES = (
    PageLine(
        name="rules",
        about="`GET /admin/rules`, first page",
        path=_fixed("/admin/rules"),
        along=Dimension.RULES,
        fills=True,
    ),
    CreateLine(
        name="rule-create",
        about="`POST /admin/rules`",
        path="/admin/rules",
        body=rule,
        along=Dimension.RULES,
    ),
    PostLine(
        name="rule-test",
        about="`POST /admin/rules/test`, which reports each rule of the tool",
        path="/admin/rules/test",
        body=SHELL_CALL,
        along=Dimension.RULES,
        expects=Growth.LINEAR,
    ),
    PostLine(
        name="rule-can-i",
        about="`POST /admin/can-i` for a command",
        path="/admin/can-i",
        body=SHELL_CALL,
        along=Dimension.RULES,
    ),
    CallLine(
        name="rule-call",
        about="`POST /tools/{name}/call`, one-off",
        along=Dimension.RULES,
    ),
)
_AGENTS = (
    PageLine(
        name="agents",
        about="`GET /admin/agents`, first page",
        path=_fixed("/admin/agents"),
        along=Dimension.AGENTS,
        fills=True,
    ),
    CreateLine(
        name="agent-create",
        about="`POST /admin/agents`",
        path="/admin/agents",
        body=agent,
        along=Dimension.AGENTS,
    ),
    CallLine(
        name="agent-call",
        about="`POST /tools/{name}/call`, one-off",
        along=Dimension.AGENTS,
    ),
)
_TOOLS = (
    PageLine(
        name="tools",
        about="`GET /tools`",
        path=_fixed("/tools"),
        along=Dimension.TOOLS,
        expects=Growth.LINEAR,
    ),
    PageLine(
        name="tool",
        about="`GET /tools/{name}`",
        path=_fixed(f"/tools/{NOTE.name}"),
        along=Dimension.TOOLS,
    ),
    PageLine(
        name="toolset",
        about="`GET /toolset`",
        path=_fixed("/toolset"),
        along=Dimension.TOOLS,
        expects=Growth.LINEAR,
    ),
    PageLine(
        name="admin-tools",
        about="`GET /admin/tools`, first page",
        path=_fixed("/admin/tools?limit=50"),
        along=Dimension.TOOLS,
    ),
    CallLine(
        name="tool-call",
        about="`POST /tools/{name}/call`, one-off",
        along=Dimension.TOOLS,
    ),
    StartLine(
        name="tool-start",
        about="`tollgate serve` until ready, with all plugins loaded",
        along=Dimension.TOOLS,
        expects=Growth.LINEAR,
        most=1,
    ),
)
_EVENTS = (
    PageLine(
        name="events-snapshot",
        about="`GET /sessions/{id}/snapshot`",
        path=_of_size("snapshot"),
        along=Dimension.EVENTS,
        expects=Growth.LINEAR,
    ),
    PageLine(
        name="events-first",
        about="`GET /sessions/{id}/events`, first 100",
        path=_of_size(f"events?limit={PAGE}"),
        along=Dimension.EVENTS,
    ),
    PageLine(
        name="events-last",
        about="`GET /sessions/{id}/events`, last 100",
        path=_of_size(f"events?limit={PAGE}&after={{last}}"),
        along=Dimension.EVENTS,
    ),
    PageLine(
        name="events-calls",
        about="`GET /sessions/{id}/calls`, first 30",
        path=_of_size("calls?limit=30"),
        along=Dimension.EVENTS,
    ),
)
LINES: tuple[Line, ...] = (
    *_SESSION_LISTS,
    *_REPORTS,
    *_AUDIT,
    *_OTHER_LISTS,
    *_CALLS,
    *_LONG_SESSION,
    *_RULES,
    *_AGENTS,
    *_TOOLS,
    *_EVENTS,
)
