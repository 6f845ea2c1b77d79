"""All requirements, and which of them the tests prove."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tests.requirements import (
    agents,
    definitions,
    governance,
    measured,
    merged,
    people,
    product,
    workbench,
)
from tests.requirements.model import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    *definitions.REQUIREMENTS,
    *governance.REQUIREMENTS,
    *agents.REQUIREMENTS,
    *product.REQUIREMENTS,
    *merged.REQUIREMENTS,
    *measured.REQUIREMENTS,
    *people.REQUIREMENTS,
    *workbench.REQUIREMENTS,
)


@dataclass(frozen=True)
class Gaps:
    """Where the contract and the tests disagree; all three are empty when they agree."""

    unknown: tuple[str, ...]
    unproven: tuple[str, ...]
    open_but_tested: tuple[str, ...]


def gaps(
    requirements: Iterable[Requirement], still_open: Mapping[str, str], tested: Collection[str]
) -> Gaps:
    """Compare the contract with the ids that tests are marked with and those listed as open."""
    ids = [requirement.id for requirement in requirements]
    return Gaps(
        unknown=tuple(sorted({*tested, *still_open} - {*ids})),
        unproven=tuple(id_ for id_ in ids if id_ not in tested and id_ not in still_open),
        open_but_tested=tuple(id_ for id_ in ids if id_ in tested and id_ in still_open),
    )
