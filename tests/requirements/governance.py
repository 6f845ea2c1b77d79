"""Governance, hooks, streaming, events, confirmation and operations."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement(
        "GOV-01",
        "NC",
        "Implementation, operations, catalog, governance and runtime policy are five layers.",
    ),
    Requirement(
        "GOV-02", "NC", "The catalog holds schemas and base metadata and needs no database."
    ),
    Requirement(
        "GOV-03",
        "NC",
        "At start the catalog is synced to the database and keeps what an operator chose.",
    ),
    Requirement(
        "GOV-04",
        "NC",
        "A globally disabled tool is not offered, and a direct call is refused with the reason.",
    ),
    Requirement("GOV-05", "NC", "A core tool stays available under an agent's limited selection."),
    Requirement("GOV-06", "NC", "An agent's override shows a tool to that agent only."),
    Requirement(
        "GOV-07", "NC", "A tool's prompt hint stands in the prompt only while the tool is offered."
    ),
    Requirement(
        "GOV-08",
        "NC",
        "Only the resolver decides what is visible; importing a tool exposes nothing.",
    ),
    Requirement(
        "GOV-09",
        "NC",
        "The resolver answers names, hints, manifest, routes and disabled reasons; no tool is "
        "in neither.",
    ),
    Requirement(
        "GOV-10", "NC", "Every filtered tool has a reason with a machine code and a sentence."
    ),
    Requirement(
        "GOV-11", "NC", "Each tool has a route: worker-local, main-process-proxy or disabled."
    ),
    Requirement(
        "GOV-12",
        "NC",
        "The diagnostic shows whether a sub-agent may use a tool, its routing hint and what "
        "blocks it.",
    ),
    Requirement(
        "GOV-13",
        "NC",
        "The runtime diagnostic feeds both the tool page and the agent page in the same words.",
    ),
    Requirement(
        "GOV-14", "NC", "The resolver injects operations; without any, the local ones are used."
    ),
    Requirement(
        "GOV-15",
        "card",
        "An admin switches tools over REST, in force from the next turn without a restart.",
    ),
    Requirement(
        "HOK-01",
        "JV",
        "A hook has a name, a type, a handler and an optional list of tools it is for.",
    ),
    Requirement(
        "HOK-02", "JV", "Hooks before use, after use, on error and on skip fire at their moments."
    ),
    Requirement(
        "HOK-03", "JV", "A hook sees the tool's name, its arguments, the phase and the result."
    ),
    Requirement(
        "HOK-04", "JV", "The first denying hook stops the call, and its message reaches the model."
    ),
    Requirement(
        "HOK-05",
        "JV",
        "Hooks that modify arguments compose in order; what they leave is validated again.",
    ),
    Requirement(
        "HOK-06", "JV", "A hook after the call may replace the result, as the history shows."
    ),
    Requirement("HOK-07", "JV", "The five hook actions work, and an unknown one fails closed."),
    Requirement(
        "HOK-08", "JV", "Hooks of one tool and global hooks both run, in a documented order."
    ),
    Requirement(
        "HOK-09",
        "JV",
        "The error hook fires on exception, timeout and invalid arguments and cannot hide the "
        "error.",
    ),
    Requirement(
        "HOK-10", "JV", "The skip hook fires for a duplicate, a denial and a disabled tool."
    ),
    Requirement(
        "HOK-11",
        "JV",
        "Hooks that confirm dangerous operations and that log are built in and on by default.",
    ),
    Requirement(
        "HOK-12", "JV", "Hook handlers are asynchronous; one that raises before the call denies it."
    ),
    Requirement(
        "STR-01", "JV", "A streaming tool's chunks reach both the callback and the iterator."
    ),
    Requirement("STR-02", "JV", "Each chunk is one event."),
    Requirement("STR-03", "JV", "One done event comes last."),
    Requirement(
        "STR-04", "JV", "Streaming a tool that does not stream fails with an error that says so."
    ),
    Requirement("STR-05", "JV", "The manifest tells which tools stream."),
    Requirement("STR-06", "NC", "Streamed results are shown while the call runs."),
    Requirement(
        "EVT-01", "NC", "Each call sends started, then streamed, then completed, with the same ids."
    ),
    Requirement("EVT-02", "NC", "The older pair of call and result messages can be derived."),
    Requirement("EVT-03", "NC", "Every event of a call carries its operation id."),
    Requirement("EVT-04", "NC", "Long tools report stage, percent and message."),
    Requirement(
        "EVT-05",
        "NC",
        "Process events are pushed, sampled into the session and logged in full as JSON lines.",
    ),
    Requirement("EVT-06", "NC", "The timeline of a past call is replayed from stored data."),
    Requirement("EVT-07", "NC", "A compute skill with four stages shows them."),
    Requirement("EVT-08", "NC", "Events of a skill's child process are bridged."),
    Requirement(
        "EVT-09", "CB", "The older start, progress, complete and error events have a mapping."
    ),
    Requirement("CNF-01", "NC", "Each of the eight named shell patterns asks before it runs."),
    Requirement(
        "CNF-02", "NC", "The tool waits for the answer; nothing happens before an approval."
    ),
    Requirement(
        "CNF-03",
        "NC",
        "A declined call does not run, and the model is told that a person declined.",
    ),
    Requirement("CNF-04", "JV", "A tool that requires confirmation asks, whatever its kind."),
    Requirement("CNF-05", "JV", "The built-in confirmation hook can be switched off."),
    Requirement("CNF-06", "CB", "Commands on the hard floor are blocked."),
    Requirement("CNF-07", "all", "No answer and no client mean not run."),
    Requirement("OPS-01", "NC", "Reading, writing and listing files go through file operations."),
    Requirement(
        "OPS-02", "NC", "Edits of one file are serialised; of twenty at once none is lost."
    ),
    Requirement(
        "OPS-03", "NC", "Finding files and searching content go through search operations."
    ),
    Requirement("OPS-04", "NC", "The shell goes through process operations."),
    Requirement("OPS-05", "NC", "Every file tool runs on operations in memory."),
    Requirement("OPS-06", "NC", "Another back end fits behind the same protocol."),
)
