"""Sub-agents and the tools that ship."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement(
        "SUB-01", "N2", "Several named tasks are delegated in one call and come back by name."
    ),
    Requirement("SUB-02", "N2", "A sub-agent cannot delegate to sub-agents."),
    Requirement(
        "SUB-03", "N2", "A child's tools are the parent's without delegation, narrowed by a list."
    ),
    Requirement(
        "SUB-04",
        "N2",
        "Children run at the same time, each with its own conversation and database context.",
    ),
    Requirement("SUB-05", "N2", "One failing child does not fail the others."),
    Requirement(
        "SUB-06", "N2", "A child stops after 3 rounds and 3 children run at a time, by default."
    ),
    Requirement("SUB-07", "N2", "A child takes token limit and temperature from the conversation."),
    Requirement("SUB-08", "CB", "A background task returns its id at once and reports later."),
    Requirement(
        "SUB-09", "NC", "One or several tasks are delegated; results keep the order of the input."
    ),
    Requirement(
        "SUB-10",
        "NC",
        "A worker runs its local tools itself, others through the main process, and some not "
        "at all.",
    ),
    Requirement(
        "SUB-11",
        "NC",
        "Allowed names, roots, shell and read-only policy trim a child's tools with reasons.",
    ),
    Requirement("SUB-12", "NC", "Routes are kept with the run and shown again on replay."),
    Requirement(
        "SUB-13",
        "NC",
        "An enabled tool that no sub-agent may use has the route disabled and a reason.",
    ),
    Requirement("SUB-14", "JV", "Teams work together and a task is broadcast to all members."),
    Requirement("SUB-15", "N2", "Without a model client a delegated task fails with the reason."),
    Requirement("FIL-01", "N2", "A file is read in the encoding that the call names."),
    Requirement("FIL-02", "N2", "A file is written or appended to, and its parents are made."),
    Requirement("FIL-03", "N2", "A file is deleted, a directory is not."),
    Requirement("FIL-04", "N2", "A directory is listed, filtered by a pattern."),
    Requirement("FIL-05", "N2", "Whether a path exists and what it is can be asked."),
    Requirement("FIL-06", "N2", "Nested directories are made."),
    Requirement(
        "FIL-07", "NC CB", "Read, write and list work inside the project and are refused outside."
    ),
    Requirement("FIL-08", "CB", "A file is edited by text or by line number."),
    Requirement(
        "FIL-09", "NC", "An edit needs a unique match, and a patch over several files is atomic."
    ),
    Requirement("FIL-10", "NC JV", "Files are found by a pattern, exactly those that match."),
    Requirement(
        "FIL-11",
        "NC JV",
        "Content is searched with file and line number, without binary files, up to a limit.",
    ),
    Requirement("FIL-12", "CB", "The older search finds by name or by content."),
    Requirement("FIL-13", "JV", "Code is checked and findings are returned."),
    Requirement(
        "SHL-01",
        "NC JV",
        "A harmless command runs, a risky one asks, and policy can switch the shell off.",
    ),
    Requirement(
        "SHL-02",
        "CB",
        "A command that exceeds its timeout, 30 seconds by default, is ended with its process "
        "group.",
    ),
    Requirement(
        "SHL-03",
        "JV",
        "PowerShell runs where it is installed and is disabled with a reason elsewhere.",
    ),
    Requirement(
        "SYS-01", "JV", "Schedules are made, listed and deleted, fire, and survive a restart."
    ),
    Requirement("SYS-02", "JV", "Processes are listed, polled and ended."),
    Requirement("SYS-03", "JV", "A remote trigger sends a request."),
    Requirement("SYS-04", "JV", "Tools of MCP servers are called over pipes and HTTP."),
    Requirement("SYS-05", "JV", "A question reaches a person, and the answer returns."),
    Requirement("DEV-01", "JV", "A language server answers definition, references and hover."),
    Requirement("DEV-02", "JV", "Git state is read."),
    Requirement("LGY-01", "JV", "The five kept modules have catalog entries that run."),
    Requirement("COL-01", "JV", "A team of two runs both tasks and reports them together."),
    Requirement("COL-02", "JV", "A broadcast reaches every running child once."),
    Requirement(
        "PYX-01",
        "N2",
        "Python runs at the level lenient, standard or strict; standard is the default.",
    ),
    Requirement("PYX-02", "N2", "The levels end after 30, 10 and 5 seconds."),
    Requirement("PYX-03", "N2", "The lenient level restricts no module."),
    Requirement("PYX-04", "N2", "Each of the 41 modules of the standard level imports and works."),
    Requirement("PYX-05", "N2", "Each of the 21 modules of the strict level imports and works."),
    Requirement("PYX-06", "N2", "Any other module is refused with its name and the level."),
    Requirement("PYX-07", "N2", "Fourteen built-ins are refused in the standard level."),
    Requirement("PYX-08", "N2", "Eight more built-ins are refused in the strict level."),
    Requirement("PYX-09", "N2", "The configuration sets the default level and further modules."),
    Requirement("PYX-10", "N2", "Further modules are registered in code for one level."),
    Requirement("PYX-11", "N2", "The three examples of the design work."),
    Requirement(
        "PYX-12",
        "N2",
        "Code runs in a process of its own with a cleared environment, and cannot take the "
        "service down.",
    ),
    Requirement("PYX-13", "N2", "The seven known escapes do not reach the operating system."),
    Requirement(
        "PYX-14",
        "N2",
        "Success and failure have their documented keys; a syntax error starts no process.",
    ),
    Requirement(
        "WEB-01",
        "N1 N2 CB",
        "A web search returns five results by default, through a chosen engine.",
    ),
    Requirement("WEB-02", "N1 N2", "A page is fetched as text, links or structure."),
    Requirement(
        "WEB-03",
        "N1 N2",
        "Up to ten pages are fetched at once; one bad address does not fail the others.",
    ),
    Requirement("WEB-04", "CB", "A page is fetched as readable text with its final address."),
    Requirement(
        "WEB-05", "N1", "Search, fetch and extraction are services that a test can replace."
    ),
    Requirement(
        "DAT-01",
        "N1 N2",
        "Arithmetic is computed safely; names and calls are refused, and huge powers at once.",
    ),
    Requirement("DAT-02", "N1 N2", "Text is processed by six operations."),
    Requirement("DAT-03", "N1 N2", "JSON is processed by four operations."),
    Requirement(
        "WTH-01", "N1 N2", "The weather of a city is told, and simulated values are marked."
    ),
)
