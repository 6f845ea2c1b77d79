"""Tool definitions, arguments, execution and context."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement(
        "REG-01",
        "N1 N2",
        "A tool has a name, a description, JSON Schema parameters, a handler and a category, "
        'which is "general" by default.',
    ),
    Requirement(
        "REG-02",
        "N1 N2 CB",
        "Every tool renders as an OpenAI function definition whose parameters are an object "
        "schema.",
    ),
    Requirement(
        "REG-03",
        "N1 N2",
        "A tool result holds success, data and error, and has `ok`, `fail` and `to_dict`.",
    ),
    Requirement(
        "REG-04",
        "N1 N2",
        "The registry registers, gets, lists and executes tools; getting an unknown one gives "
        "None.",
    ),
    Requirement(
        "REG-05", "N1", "One registry serves the whole process, bound in the composition root."
    ),
    Requirement(
        "REG-06",
        "N1",
        'Calling an unknown tool gives a failed result that says "Tool not found" and never '
        "raises.",
    ),
    Requirement(
        "REG-07",
        "N1",
        "A handler may return a tool result or anything else, which becomes the data of a "
        "successful one.",
    ),
    Requirement(
        "REG-08",
        "N1 N2",
        "An exception in a handler becomes a failed result; the other calls of the batch "
        "still return.",
    ),
    Requirement(
        "REG-09",
        "N1 N2",
        "A decorated function in a plugin file is a tool, with nothing else edited.",
    ),
    Requirement(
        "REG-10",
        "N1",
        "A name, a handler, a description and parameters register a tool without a decorator.",
    ),
    Requirement("REG-11", "N1", "Factories give the tools of one group."),
    Requirement(
        "REG-12", "N1 N2", "Loading the built-in tools twice neither fails nor duplicates."
    ),
    Requirement("REG-13", "N1 N2 NC", "The catalog filters by category and by toolset."),
    Requirement(
        "REG-14",
        "CB",
        "A class with name, description, parameters and execute is a tool; an incomplete one "
        "cannot be made.",
    ),
    Requirement("REG-15", "CB", "Registering a name twice is refused with an error that names it."),
    Requirement(
        "REG-16",
        "CB JV",
        "Tools are registered, unregistered and queried at run time; an unregistered one is "
        "not found.",
    ),
    Requirement("REG-17", "CB", "One call builds the whole registry for a workspace."),
    Requirement(
        "REG-18",
        "CB",
        "A tool whose dependency is not configured is not offered, and the reason is visible.",
    ),
    Requirement("REG-19", "JV", "Each catalog entry exposes the ten fields of the tool manifest."),
    Requirement("REG-20", "JV", "Every tool is of permission class READ, WRITE or EXTERNAL."),
    Requirement(
        "REG-21",
        "JV",
        "Every tool has a side-effect scope: NONE, LOCAL_STATE, DB_WRITE or NETWORK.",
    ),
    Requirement(
        "REG-22",
        "JV",
        "Registration takes a manifest, an executor and hooks of that tool, and those hooks fire.",
    ),
    Requirement(
        "REG-23",
        "JV",
        "Built-in, external, MCP and plugin tools run through one executor and carry their source.",
    ),
    Requirement(
        "REG-24", "NC", "A tool's execute takes arguments and may return a string or an object."
    ),
    Requirement(
        "REG-25", "NC", "A result may carry a structured raw result for text, JSON or an image."
    ),
    Requirement(
        "REG-26",
        "N1",
        "A request body for a model holds all enabled tools and lets the model choose.",
    ),
    Requirement(
        "REG-27",
        "N1 N2",
        "A tool is added by one function in one file; the documented sample runs and refuses "
        "writes.",
    ),
    Requirement(
        "REG-28", "N1", "The number of core classes stays small, with no layer that only passes on."
    ),
    Requirement(
        "REG-29", "N2", "A tool gets shared services by type; a missing one is a clean tool error."
    ),
    Requirement(
        "REG-30",
        "CB",
        "At least twelve built-in tools have validation, audit and run-time registration.",
    ),
    Requirement(
        "VAL-01", "CB", "Arguments are validated before the tool runs; invalid ones never reach it."
    ),
    Requirement(
        "VAL-02",
        "CB",
        "A value of the wrong type is refused with an error that names the parameter and the type.",
    ),
    Requirement("VAL-03", "CB", "A value outside an enumeration is refused with the choices."),
    Requirement("VAL-04", "CB", "A value outside its range or length is refused with the bound."),
    Requirement("VAL-05", "CB", "A missing required parameter is named."),
    Requirement(
        "VAL-06", "CB", "Errors inside objects and arrays carry a path such as a.b or a[0]."
    ),
    Requirement("VAL-07", "CB", "All errors of a call are reported together."),
    Requirement("VAL-08", "N2", "Arguments that are no JSON fail that call only."),
    Requirement(
        "VAL-09",
        "card",
        "The schema that the model sees is generated from the Pydantic model of the arguments.",
    ),
    Requirement(
        "EXE-01",
        "N1 N2",
        "A batch of OpenAI tool calls gives `role: tool` messages in order, with text unescaped.",
    ),
    Requirement("EXE-02", "N2", "One record of a tool call stands in the history and on the wire."),
    Requirement(
        "EXE-03",
        "N2",
        "Calls of a batch run in parallel up to a limit of 1 to 6, 4 by default, with ordered "
        "results.",
    ),
    Requirement("EXE-04", "N2", "Preparing a call is separate from running and recording it."),
    Requirement(
        "EXE-05",
        "N2",
        "An equal call within 300 seconds gets the cached result, unless the cache is off.",
    ),
    Requirement(
        "EXE-06", "N2", "An equal call in one batch is skipped and carries the result of the first."
    ),
    Requirement(
        "EXE-07",
        "N2",
        "An equal cacheable call in a session gets the cached result, never one from before a "
        "write.",
    ),
    Requirement(
        "EXE-08", "N2", "Nothing is retried automatically; a retry by the model really runs again."
    ),
    Requirement("EXE-09", "N2", "The cache is configured for the deployment and for each tool."),
    Requirement("EXE-10", "N2", "The record holds how long a call took."),
    Requirement("EXE-11", "JV", "Every source of tools passes through the one layered path."),
    Requirement("EXE-12", "NC", "One tool call leaves a history entry, events and an audit row."),
    Requirement("EXE-13", "JV", "Names and arguments of the seed tools keep working."),
    Requirement(
        "CTX-01", "N2", "Context is injected by the executor; without context nothing is injected."
    ),
    Requirement(
        "CTX-02",
        "N2",
        "The project of a file tool is injected and absent from the schema that the model sees.",
    ),
    Requirement(
        "CTX-03",
        "N2",
        "Sub-agents get the model, project, token limit and temperature of their conversation.",
    ),
    Requirement(
        "CTX-04", "N2", "Context is built from the session; a session without tools offers none."
    ),
    Requirement(
        "CTX-05", "N2", "An injected value that the model supplies itself is ignored or refused."
    ),
    Requirement(
        "CTX-06",
        "N2",
        'A file tool without a project fails with "project_id is required" and touches nothing.',
    ),
    Requirement(
        "CTX-07", "N2", 'A file tool with an unknown project fails with "Project not found".'
    ),
    Requirement(
        "CTX-08", "N2", "A path that leaves the project is refused, whatever trick it uses."
    ),
    Requirement(
        "CTX-09", "CB", "The workspace restriction is on by default and can be switched off."
    ),
    Requirement(
        "CTX-10",
        "NC",
        "Tools read channel and agent from the runtime context; the model does not see it.",
    ),
    Requirement("CTX-11", "NC", "The workspace roots of a sub-agent limit its file tools."),
)
