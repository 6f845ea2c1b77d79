"""`tollgate rules …`: manages rules. A running service applies changes within a second."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from app.catalog.builtin import register_all_tools
from app.cli.installation import open_database
from app.cli.options import print_json
from app.cli.service_errors import CommandRefused
from app.cli.target import Place, RemoteService, tell_change
from app.config.settings import Settings
from app.core.clock import SystemClock
from app.core.errors import InvalidInput
from app.core.escaping import visible
from app.governance.rule_file import parse_rules, read_rule_file
from app.governance.rules import RuleFile, RuleStore, file_rules
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.definition import RuleDefinition
from app.resolver.policy_sets import LoadedRule, RuleSetCache, rule_state

ACTOR = "cli"
_STATES = {"active": "on", "disabled": "off", "invalid": "INVALID"}


@dataclass(frozen=True, slots=True)
class Rules:
    """Stored rules and their evaluation."""

    store: RuleStore
    rule_sets: RuleSetCache


@asynccontextmanager
async def open_rules(settings: Settings) -> AsyncIterator[Rules]:
    """Open the rules of this installation; creates or migrates its database.

    Raises:
        StorageUnavailable: The data folder is not writable.
        ConfigurationError: The rules file cannot be read.
    """
    async with open_database(settings) as opened:
        path = settings.rules_file
        entries = file_rules(read_rule_file(path)) if path else ()
        store = RuleStore(opened.db, opened.clock, opened.audit, from_file=entries)
        await store.load()
        catalog = register_all_tools(plugin_dir=settings.plugins_dir).snapshot()
        yield Rules(store, RuleSetCache(store, lambda: catalog))


async def list_rules(place: Place, *, as_json: bool) -> int:
    """Print every rule with its errors and warnings."""
    rows = await _listed(place)
    if as_json:
        print_json({"rules": rows})
        return 0
    for row in rows:
        for line in _lines(row):
            typer.echo(line)
    if not rows:
        typer.echo(
            "No rules. Add some with `tollgate rules add FILE`; see docs/rules.md.", err=True
        )
    return 0


async def test_rules(place: Place, *, as_json: bool) -> int:
    """Run the examples of every stored rule; return 1 if a rule is invalid."""
    return _tested(await _listed(place), as_json=as_json)


def test_file(path: Path, plugins: Path | None, *, as_json: bool) -> int:
    """Run the examples of a file's rules; return 1 if a rule is invalid.

    Args:
        plugins: Folder of plugins whose tools the rules may also name.

    Raises:
        InvalidInput, ConfigurationError: The file contains no rules.
    """
    entries = file_rules(_read(path))
    catalog = register_all_tools(plugin_dir=plugins).snapshot()
    loaded = RuleSetCache(RuleFile(entries), lambda: catalog).loaded()
    return _tested([_row(item) for item in loaded], as_json=as_json)


def _tested(rows: list[dict[str, Any]], *, as_json: bool) -> int:
    failed = [row for row in rows if row["problems"]]
    if as_json:
        listed = [
            {"id": row["id"], "ok": not row["problems"], "problems": row["problems"]}
            for row in rows
        ]
        document = {"ok": not failed, "rules": listed}
        print_json(document)
        return 1 if failed else 0
    for row in rows:
        typer.echo(
            f"{row['id']}  {'FAILED' if row['problems'] else f'ok, {_examples(row)} examples'}"
        )
        for problem in row["problems"]:
            typer.echo(f"    {visible(problem['path'])}: {visible(problem['message'])}")
    typer.echo(f"{len(rows) - len(failed)} of {len(rows)} rules passed", err=True)
    return 1 if failed else 0


async def add_rules(place: Place, path: Path) -> int:
    """Store the rules of a file, all of them or none.

    Raises:
        InvalidInput: A rule is invalid, or its examples fail.
    """
    entries = _read(path)
    if not entries:
        raise InvalidInput(f"{path} contains no rule")
    if isinstance(place, RemoteService):
        await _add_served(place, entries)
    else:
        await _add_stored(place.settings, entries)
    tell_change(place)
    return 0


async def _add_served(service: RemoteService, entries: list[Any]) -> None:
    # All are parsed before the first is stored; errors only the service knows, about its plugins,
    # come from it.
    bodies = [_numbered(number, entry).to_json() for number, entry in enumerate(entries, start=1)]
    made: list[str] = []
    try:
        for body in bodies:
            rule = await service.send("POST", "admin", "rules", body=body)
            made.append(rule["id"])
    except CommandRefused as error:
        for rule_id in made:
            await service.send("DELETE", "admin", "rules", rule_id)
        raise InvalidInput(f"rule {len(made) + 1}: {error.message}") from None
    for row in await _listed(service):
        if row["id"] in made:
            typer.echo(row["id"])
        for warning in row["warnings"]:
            typer.echo(f"warning: {row['id']}: {visible(warning['message'])}", err=True)


async def _add_stored(settings: Settings, entries: list[Any]) -> None:
    catalog = register_all_tools(plugin_dir=settings.plugins_dir).snapshot()
    definitions = []
    for number, entry in enumerate(entries, start=1):
        definition = _numbered(number, entry)
        try:
            compile_rule("new", definition, catalog.tools)
        except InvalidInput as error:
            raise InvalidInput(f"rule {number}: {error.message}") from None
        definitions.append(definition)
    async with open_rules(settings) as rules:
        for definition in definitions:
            stored = await rules.store.create(definition.to_json(), actor=ACTOR)
            typer.echo(stored.id)
        warnings = rules.rule_sets.review(SystemClock().time())()
        for rule_id, found in warnings.items():
            for warning in found:
                typer.echo(f"warning: {rule_id}: {visible(warning['message'])}", err=True)


def _numbered(number: int, entry: Any) -> RuleDefinition:
    try:
        return read_definition(entry)
    except InvalidInput as error:
        raise InvalidInput(f"rule {number}: {error.message}") from None


async def remove_rule(place: Place, rule_id: str) -> int:
    """Delete one rule.

    Raises:
        NotFound: The database has no such rule.
    """
    if isinstance(place, RemoteService):
        await place.send("DELETE", "admin", "rules", rule_id)
    else:
        async with open_rules(place.settings) as rules:
            await rules.store.remove(rule_id, actor=ACTOR)
    typer.echo(f"Deleted {visible(rule_id)} {place.name}.", err=True)
    return 0


async def _listed(place: Place) -> list[dict[str, Any]]:
    """Return every rule in the form of the REST API."""
    if isinstance(place, RemoteService):
        return await place.pages("rules", "admin", "rules", limit=500)
    async with open_rules(place.settings) as rules:
        loaded = rules.rule_sets.loaded()
        counted = await rules.store.counted(item.stored.id for item in loaded)
        warnings = rules.rule_sets.review(SystemClock().time())()
    return [
        _row(item, warnings.get(item.stored.id, []), counted.get(item.stored.id, (0, None)))
        for item in loaded
    ]


def _row(
    item: LoadedRule,
    warnings: Sequence[Mapping[str, str]] = (),
    counted: tuple[int, str | None] = (0, None),
) -> dict[str, Any]:
    stored = item.stored
    return {
        "id": stored.id,
        "definition": stored.body,
        "source": stored.source,
        "state": rule_state(item, SystemClock().time()),
        "version": stored.version,
        "created_by": stored.created_by,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
        "problems": list(item.problems),
        "warnings": list(warnings),
        "hits": counted[0],
        "last_hit_at": counted[1],
    }


def _read(path: Path) -> list[Any]:
    """Read the rules of a file, or of standard input for `-`; a single rule becomes a list."""
    if str(path) == "-":
        return parse_rules(sys.stdin.buffer.read(), "standard input", single=True)
    return read_rule_file(path, single=True)


def _examples(row: Mapping[str, Any]) -> int:
    body = row["definition"] if isinstance(row["definition"], dict) else {}
    examples = body.get("examples") or {}
    return sum(len(examples.get(kind) or ()) for kind in ("match", "not_match"))


def _lines(row: Mapping[str, Any]) -> list[str]:
    body = row["definition"] if isinstance(row["definition"], dict) else {}
    state = _STATES.get(row["state"], row["state"])
    wanted = json.dumps(body.get("match", {}), ensure_ascii=False)
    scope = str(body.get("scope", "global"))
    lines = [
        f"{row['id']}  {state:7}  {visible(str(body.get('decision', '?'))):5}  "
        f"{visible(str(body.get('tool', '?')))}  {visible(wanted)}  {visible(scope)}"
    ]
    if body.get("justification"):
        lines.append(f"    {visible(str(body['justification']))}")
    lines += [f"    error: {visible(p['path'])}: {visible(p['message'])}" for p in row["problems"]]
    lines += [f"    warning: {visible(warning['message'])}" for warning in row["warnings"]]
    return lines
