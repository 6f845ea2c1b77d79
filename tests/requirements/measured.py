"""What running the predecessors' code has shown, and what must not come back."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement("F-1", "measured", "Every module that a level allows can really be imported."),
    Requirement("F-2", "measured", "The seeds' own examples of executed Python run."),
    Requirement("F-3", "measured", "The known ways out of the Python sandbox lead nowhere."),
    Requirement("F-4", "measured", "A read after a write gives the new content."),
    Requirement("F-5", "measured", "A failure is never replayed: the same call runs again."),
    Requirement("F-6", "measured", "An equal call of a batch runs once, in parallel too."),
    Requirement("F-7", "measured", "An inner failure is never reported as an outer success."),
    Requirement("F-8", "measured", "Arithmetic without end is refused at once."),
    Requirement(
        "F-9", "measured", "True is no integer, unknown keys are refused, all errors come at once."
    ),
    Requirement(
        "F-10", "measured", "Labelled commands ask, are blocked and pass as their label says."
    ),
    Requirement("F-11", "measured", "The sandbox levels differ exactly as the seeds list them."),
    Requirement("F-12", "measured", "No path is checked by its prefix, and no limit is fixed."),
)
