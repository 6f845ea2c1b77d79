"""Visible names of a part of a query, and their meanings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from app.knowledge.sources.guard.model import Column, SqlRefused, TableSchema, names, refused


def fold(name: str) -> str:
    """Return the form for comparison of names."""
    return name.lower()


@dataclass(frozen=True, slots=True)
class QuerySource:
    """Table, CTE or subquery in a FROM, under its name there."""

    alias: str
    columns: tuple[Column, ...]
    table: TableSchema | None = None

    def find(self, name: str) -> Column | None:
        """Find a column case-insensitively; of two that differ only in case, the exact one.

        Raises:
            SqlRefused: Several columns match.
        """
        found = [column for column in self.columns if fold(column.name) == fold(name)]
        if len(found) > 1:
            found = [column for column in found if column.name == name]
            if len(found) != 1:
                raise ambiguous(name)
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Visible:
    """Column of `SELECT *`: of one source, or merged from several (`alias` is None)."""

    column: Column
    alias: str | None


class Several(Enum):
    """Name shared by several columns of a select list."""

    SEVERAL = "several"


SEVERAL: Final = Several.SEVERAL

Output = tuple[str, Visible | None] | Several
"""Spelling of an alias, and its column if it is only a column."""


@dataclass
class QueryScope:
    """Names of one SELECT.

    Attributes:
        parent: The query around it, which a correlated subquery may use.
        ctes: Visible CTEs by folded name.
        sources: Entries of FROM, by folded alias.
        visible: The columns in the order of `SELECT *`, masked ones included.
        outputs: Meanings of the names of the select list, by folded name, once resolved.
        windows: The folded names of WINDOW.
    """

    parent: QueryScope | None
    ctes: Mapping[str, QuerySource]
    sources: dict[str, QuerySource] = field(default_factory=dict)
    visible: list[Visible] = field(default_factory=list)
    outputs: dict[str, Output] = field(default_factory=dict)
    windows: set[str] = field(default_factory=set)

    def add(self, source: QuerySource) -> None:
        """Add a source of FROM; its columns become visible with `see`.

        Raises:
            SqlRefused: Another one has the name.
        """
        key = fold(source.alias)
        if key in self.sources:
            message = f"Two tables are named {source.alias!r}: give each its own alias."
            raise refused("duplicate_name", message, source.alias)
        self.sources[key] = source

    def add_output(self, name: str, meaning: Visible | None) -> None:
        """Record a name of the select list; two different meanings of one name are `SEVERAL`."""
        known = self.outputs.get(fold(name))
        output = (name, meaning)
        same = known is None or (meaning is not None and known == output)
        self.outputs[fold(name)] = output if same else SEVERAL

    def source(self, alias: str) -> QuerySource | None:
        """Find a source by its alias, here or in the queries around."""
        scope: QueryScope | None = self
        while scope is not None:
            if found := scope.sources.get(fold(alias)):
                return found
            scope = scope.parent
        return None

    def own(self, name: str) -> Visible | None:
        """Find an unqualified column among the sources of this query.

        Raises:
            SqlRefused: Several sources have it, or it is masked.
        """
        return find_visible(self.visible, name)

    def column(self, name: str) -> Visible | None:
        """Find an unqualified column, here or in the surrounding queries, nearest first.

        Raises:
            SqlRefused: Several sources have it, it is masked, or its source cannot be named
                here because a nearer one has the same alias.
        """
        nearer: set[str] = set()
        scope: QueryScope | None = self
        while scope is not None:
            if found := scope.own(name):
                if found.alias is not None and fold(found.alias) in nearer:
                    raise ambiguous(name)
                return found
            nearer.update(scope.sources)
            scope = scope.parent
        return None


def find_visible(visible: Sequence[Visible], name: str) -> Visible | None:
    """Find the only column with the name.

    Raises:
        SqlRefused: Several match, or it is masked.
    """
    found = [one for one in visible if fold(one.column.name) == fold(name)]
    if len(found) > 1:
        if len({one.alias for one in found}) == 1:  # `Name` and `name` in one table
            found = [one for one in found if one.column.name == name]
        if len(found) != 1:
            raise ambiguous(name)
    if not found:
        return None
    if found[0].column.masked:
        raise masked(name)
    return found[0]


def masked(name: str) -> SqlRefused:
    message = f"The column {name!r} is masked and cannot be used: remove it."
    return refused("masked_column", message, name)


def ambiguous(name: str) -> SqlRefused:
    message = f"The name {name!r} is ambiguous: write table.column, or rename an alias."
    return refused("ambiguous_column", message, name)


def unknown(name: str, sources: Mapping[str, QuerySource], alias: str = "") -> SqlRefused:
    """Return the refusal of an unknown name, with the existing ones."""
    shown = f"{alias}.{name}" if alias else name
    wanted = [sources[fold(alias)]] if fold(alias) in sources else list(sources.values())
    there = [column.name for one in wanted for column in one.columns if not column.masked]
    hint = (
        f"available columns are {names(dict.fromkeys(there))}" if there else "no table is in FROM"
    )
    return refused("unknown_column", f"Column {shown!r} does not exist: {hint}.", shown)
