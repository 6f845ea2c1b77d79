"""Existing agents and projects: a token for unknown ones would be useless."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.core.errors import InvalidInput
from app.db.writer import DatabaseWriter, Transaction

DEFAULT = "default"
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names by ID."""

    agents: Mapping[str, str]
    projects: Mapping[str, str]

    def check(self, agents: Iterable[str] | None, projects: Iterable[str] | None) -> None:
        """Check that a token refers to existing names.

        Raises:
            InvalidInput: an ID is unknown; the message lists the existing ones.
        """
        for field, ids, known in (
            ("agents", agents, self.agents),
            ("projects", projects, self.projects),
        ):
            for one in ids or ():
                if one not in known:
                    raise _unknown(field, one, known)


async def known_names(db: DatabaseWriter) -> KnownNames:
    """Return the names in the database, and the built-in ones."""

    def read(transaction: Transaction) -> KnownNames:
        agents = transaction.fetch("SELECT id FROM agents ORDER BY id")
        projects = transaction.fetch("SELECT id, name FROM projects ORDER BY id")
        return KnownNames(
            {DEFAULT: DEFAULT, **{row[0]: row[0] for row in agents}},
            {DEFAULT: DEFAULT, **{row[0]: row[1] for row in projects}},
        )

    return await db.transact(read)


def _unknown(field: str, one: str, known: Mapping[str, str]) -> InvalidInput:
    kind = field.removesuffix("s")
    meant = [id_ for id_, name in known.items() if name.casefold() == one.casefold()]
    if meant:
        hint = f"the {kind} with this name has the ID {meant[0]!r}"
    else:
        shown = [repr(id_) for id_ in list(known)[:_SHOWN]]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        hint = f"existing ones are {', '.join(shown)}{more}"
    return InvalidInput(f"{field}: {kind} {one[:100]!r} does not exist; {hint}", field=field)
