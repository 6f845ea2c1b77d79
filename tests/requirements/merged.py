"""Answers to conflicts between the seeds, and what users ask for."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement(
        "B-01",
        "merge",
        "The file tools have one canonical name each, and the other names are aliases.",
    ),
    Requirement("B-02", "merge", "The shell tool is `bash`, with its aliases."),
    Requirement("B-03", "merge", "The edit tool is `edit_file`; patch is a tool of its own."),
    Requirement(
        "B-04",
        "merge",
        "Delegation is one tool for one task, one for several, and one for teams, with aliases.",
    ),
    Requirement(
        "B-05",
        "merge",
        "A duplicate name raises unless it is to be replaced; aliases share the names.",
    ),
    Requirement(
        "B-06", "merge", "There is one memory with one set of canonical tools and aliases."
    ),
    Requirement("B-07", "merge", "A page is fetched by `web_fetch`, several by `crawl_batch`."),
    Requirement(
        "B-08", "merge", "A person is asked by `ask_user`, with aliases; escalation is separate."
    ),
    Requirement(
        "B-09",
        "merge",
        "Finding and searching are `find_files` and `grep`; the older search adapts to both.",
    ),
    Requirement(
        "B-10",
        "merge",
        "Only cacheable reads are cached, a write invalidates, and a failure is never cached.",
    ),
    Requirement(
        "B-11",
        "merge",
        "A duplicate is marked as skipped, names the first call and carries its data, in "
        "parallel too.",
    ),
    Requirement(
        "B-12",
        "merge",
        "A result has one envelope, a text for the model and a raw result for display.",
    ),
    Requirement("B-13", "merge", "An inner failure makes the whole result a failure."),
    Requirement(
        "B-14", "merge", "A project is a workspace root, injected by what the tool declares."
    ),
    Requirement("B-15", "merge", "The workspace restriction is on unless an admin widens it."),
    Requirement("B-16", "merge", "A sibling folder with the same prefix is outside the workspace."),
    Requirement(
        "B-17",
        "merge",
        "A command may name a timeout from 1 to 600 seconds, and its output is capped at "
        "10,000 characters.",
    ),
    Requirement(
        "B-18",
        "merge",
        "Iteration limits have defaults and are configurable within an admin's maximum.",
    ),
    Requirement("B-19", "merge", "The older file search understands both of its meanings."),
    Requirement(
        "B-20", "merge", "The standard level blocks only the built-ins that the design names."
    ),
    Requirement(
        "B-21", "merge", "The lenient level is governed and isolated, and still imports anything."
    ),
    Requirement(
        "B-22",
        "merge",
        "Modules are matched by dotted prefix, and one absent from this Python is reported as "
        "such.",
    ),
    Requirement("B-23", "merge", "A sub-agent runs in a worker process with a proxy."),
    Requirement("B-24", "merge", "A decision is allow, ask or deny, with a hard floor."),
    Requirement(
        "B-25", "merge", "The three tool events are sent, and the older pair derives from them."
    ),
    Requirement("B-26", "merge", "Streaming is an asynchronous generator with a callback."),
    Requirement(
        "B-27", "merge", "A web search without an engine stays in the catalog with a reason."
    ),
    Requirement(
        "B-28", "merge", "A failing weather provider is an error, never a silent simulation."
    ),
    Requirement(
        "B-29",
        "merge",
        "Asking a person is interactive and is not offered where nobody can answer.",
    ),
    Requirement(
        "B-30", "merge", "One neutral schema renders in the OpenAI and in the Anthropic form."
    ),
    Requirement("B-31", "merge", "The error and skip hooks are defined."),
    Requirement(
        "B-32",
        "merge",
        "A scheduled run uses its agent's policy, and what would ask is denied at once.",
    ),
    Requirement(
        "B-33",
        "merge",
        "A global switch wins over an agent's override, except for locked core tools.",
    ),
    Requirement(
        "B-34",
        "merge",
        "The audit is a database table, redacted and truncated, with an optional export.",
    ),
    Requirement("B-35", "merge", "The calculator has nine operators and bounded powers."),
    Requirement(
        "D-1",
        "users",
        "An approval that nobody can answer ends visibly, and its request says when it expires.",
    ),
    Requirement("D-2", "users", "An approval blocks and fails closed at every entry point."),
    Requirement(
        "D-3",
        "users",
        "An approval holds once, for the session or always, as chosen, and is bound to the "
        "exact arguments.",
    ),
    Requirement("D-4", "users", "A pending approval survives a reconnect and is answered once."),
    Requirement(
        "D-5", "users", "A declined call is told apart from a failed one, and the turn goes on."
    ),
    Requirement("D-6", "users", "A dangerous command asks instead of being refused outright."),
    Requirement("D-7", "users", "Operators edit the patterns that ask."),
    Requirement(
        "D-8", "users", "A dangerous command hidden in an interpreter's argument is found."
    ),
    Requirement(
        "D-9", "users", "A child's tools are restricted when it is started and cannot be widened."
    ),
    Requirement("D-10", "users", "A child without tools fails early with the reasons."),
    Requirement(
        "D-11",
        "users",
        "A sub-agent's end is always delivered, and its state can be asked and cancelled.",
    ),
    Requirement("D-12", "users", "Timeouts and iterations are set for each call within a maximum."),
    Requirement("D-13", "users", "Partial work is returned when time runs out."),
    Requirement("D-14", "users", "Equal delegations are recognised, and their number is limited."),
    Requirement(
        "D-15", "users", "Memory has no small hard cap, and concurrent writes do not collide."
    ),
    Requirement("D-16", "users", "Why a skill is not visible to an agent is shown."),
    Requirement("D-17", "users", "Skills are allowed for each agent."),
    Requirement(
        "D-18", "users", "Output is capped, call by call and in sum, and the rest can be read on."
    ),
    Requirement("D-19", "users", "A loop of equal calls is warned about and then refused."),
    Requirement(
        "D-20", "users", "Wrong names get a suggestion, and aliases of tools and parameters work."
    ),
    Requirement("D-21", "users", "The schemas that a model sees stay small."),
    Requirement("D-22", "users", "Hooks fire for every source of tools on every path."),
    Requirement("D-23", "users", "A schedule fires once, in its time zone, with a history."),
    Requirement("D-24", "users", "Secrets reach neither child processes nor output."),
    Requirement("D-25", "users", "No process outlives its call."),
    Requirement(
        "D-26",
        "users",
        "File tools check resolved paths, and nobody claims that text checks confine a shell.",
    ),
    Requirement(
        "D-27",
        "users",
        "MCP calls have timeouts, survive reconnects and report errors as failures.",
    ),
    Requirement("D-28", "users", "Requests to private addresses are refused, after redirects too."),
    Requirement(
        "D-29", "users", "A question to a person has one timeout, and a late answer is delivered."
    ),
    Requirement("D-30", "users", "Reads of a database cannot be turned into writes."),
)
