"""Knowledge, databases, the audit, pages, configuration and the layout."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement("SKL-01", "NC", "A skill and its files are read, never from outside its folder."),
    Requirement("SKL-02", "NC", "Skills are created, edited, deleted and validated."),
    Requirement(
        "SKL-03",
        "NC",
        "A compute skill runs in a child process with progress, result and artifact.",
    ),
    Requirement("SKL-04", "NC", "A neutral compute skill ships as an example."),
    Requirement("MEM-01", "NC", "What one session saves another recalls."),
    Requirement("MEM-02", "CB", "Memory is written, searched and read by lines."),
    Requirement("IMG-01", "NC", "Generated images are stored and reload."),
    Requirement("INT-01", "NC", "A person is asked, and a case is escalated to an admin."),
    Requirement("TOD-01", "NC", "The task list belongs to one session."),
    Requirement("WXD-01", "NC", "A text for a chat group becomes a task of the desktop agent."),
    Requirement("WXD-02", "NC", "The channel of the context wins over the argument."),
    Requirement(
        "WXD-03", "NC", "The model channel comes from the running agent, not from an argument."
    ),
    Requirement("WXD-04", "NC", "A channel that does not allow replies is refused."),
    Requirement(
        "WXD-05", "NC", "The text is marked by suffix, by zero-width characters or not at all."
    ),
    Requirement(
        "WXD-06", "NC", "A desktop task waits up to 60 seconds for its agent and then expires."
    ),
    Requirement("WXD-07", "NC", "Sub-agents use the desktop only through the main process."),
    Requirement("MED-01", "CB", "A screenshot is stored in the workspace and shown as an image."),
    Requirement("MED-02", "CB", "A media file is sent to the channel."),
    Requirement(
        "SQL-01", "NC", "Data sources are listed without host, user, password or connection string."
    ),
    Requirement(
        "SQL-02", "NC", "The schema of allowed tables is shown with keys, indexes and masked marks."
    ),
    Requirement(
        "SQL-03", "NC", "A sample holds only unmasked columns, under their original names."
    ),
    Requirement("SQL-04", "NC", "Only guarded reads of allowed tables run."),
    Requirement("SQL-05", "NC", "One trailing semicolon is accepted, several statements are not."),
    Requirement("SQL-06", "NC", "A masked column cannot be read by any detour."),
    Requirement("SQL-07", "NC", "Rows are limited by the server."),
    Requirement("SQL-08", "NC", "Every query, allowed or refused, is audited."),
    Requirement("SQL-09", "NC", "Credentials never reach a worker."),
    Requirement("SQL-10", "NC", "Data sources are administered with encrypted credentials."),
    Requirement("SQL-11", "NC", "The guard holds against the documented evasions."),
    Requirement(
        "AUD-01", "CB", "Every call is recorded with tool, arguments, session, status and duration."
    ),
    Requirement("AUD-02", "CB", "The audit is filtered by session."),
    Requirement("AUD-03", "NC", "A call and its result stand in the session's history in order."),
    Requirement(
        "UI-01",
        "NC",
        "Tool cards are rendered by a registry, and an unknown tool gets a default card.",
    ),
    Requirement("UI-02", "NC", "A changed route shows without a change of the pages."),
    Requirement("UI-03", "NC", "Two pages show the same status and reason of one tool."),
    Requirement("UI-04", "NC", "A call shows as running and then as text, JSON or an image."),
    Requirement("UI-05", "N2", "History shows the function name of the record."),
    Requirement(
        "CFG-01", "N2", "The seeds' keys of config.yml work and have environment equivalents."
    ),
    Requirement(
        "CFG-02",
        "card",
        "The eight named files and folders exist, and the service starts from them.",
    ),
    Requirement(
        "FS-01", "N1 N2", "Every module of the NanoClaw layout has a documented place here."
    ),
    Requirement("FS-02", "JV", "Every module of the Jarvis layout has a documented place here."),
    Requirement("FS-03", "NC", "Every module of the NetaClaw layout has a documented place here."),
    Requirement("FS-04", "CB", "One function builds the whole registry."),
    Requirement("DOC-01", "NC", "The twelve named subjects have documentation pages."),
    Requirement("DOC-02", "JV", "Every tool and parameter is documented from its schema."),
    Requirement("TST-01", "JV", "The five acceptance criteria of Jarvis phase 6 hold."),
    Requirement("TST-02", "JV", "Every tool has a test of success and one of failure."),
    Requirement(
        "TST-03",
        "NC",
        "File, search and shell tools are tested without touching disk or processes.",
    ),
    Requirement("MAP-01", "JV", "The mapping of the claw-code names is documented."),
)
