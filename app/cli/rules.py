"""`tollgate rules …`: the rules here. A running service sees a change within a second."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from app.catalog.builtin import register_all_tools
from app.core.clock import SystemClock
from app.core.errors import InvalidInput
from app.core.settings import Settings
from app.core.visible import visible
from app.db.ledger import SqliteLedger
from app.db.schema import ensure_schema
from app.execution.setup import redactor_of
from app.governance.audit.writing import Audit
from app.governance.rule_file import parse_rules, read_rule_file
from app.governance.rules import RuleStore, file_rules
from app.policy.rules.compile import compile_rule, read_definition
from app.resolver.rulebook import LoadedRule, RuleBooks

ACTOR = "cli"


@dataclass(frozen=True, slots=True)
class Rules:
    """The stored rules and what comes of them."""

    store: RuleStore
    books: RuleBooks


@asynccontextmanager
async def open_rules(settings: Settings) -> AsyncIterator[Rules]:
    """The rules of this installation; its database is made or migrated first.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: the rules file cannot be read.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    ledger = SqliteLedger(settings.database_path)
    await ledger.start()
    try:
        clock = SystemClock()
        audit = Audit(ledger, clock, redactor_of(settings), level=settings.audit_detail)
        path = settings.rules_file
        entries = file_rules(read_rule_file(path)) if path else ()
        store = RuleStore(ledger, clock, audit, from_file=entries)
        await store.load()
        catalog = register_all_tools(plugin_dir=settings.plugins_dir).snapshot()
        yield Rules(store, RuleBooks(lambda: store.snapshot, lambda: catalog))
    finally:
        await ledger.close()


async def list_rules(settings: Settings, *, as_json: bool) -> int:
    """Print every rule with what is wrong and what is odd about it."""
    async with open_rules(settings) as rules:
        counted = await rules.store.counted()
        loaded = rules.books.loaded()
        warnings = rules.books.review(SystemClock().time())()
    if as_json:
        rows = [
            {
                "id": item.stored.id,
                "source": item.stored.source,
                "enabled": item.stored.enabled,
                "definition": item.stored.body,
                "problems": list(item.problems),
                "warnings": warnings.get(item.stored.id, []),
                "hits": counted.get(item.stored.id, (0, None))[0],
            }
            for item in loaded
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    for item in loaded:
        for line in _lines(item, warnings.get(item.stored.id, [])):
            typer.echo(line)
    if not loaded:
        typer.echo("No rules. `tollgate rules add FILE` makes some; see docs/rules.md.", err=True)
    return 0


async def test_rules(settings: Settings, path: Path | None, *, as_json: bool) -> int:
    """Run the examples of every stored rule, or of a file's; 1 when a rule is invalid."""
    if path is None:
        async with open_rules(settings) as rules:
            loaded = rules.books.loaded()
    else:
        entries = file_rules(_read(path))
        catalog = register_all_tools(plugin_dir=settings.plugins_dir).snapshot()
        loaded = RuleBooks(lambda: entries, lambda: catalog).loaded()
    failed = [item for item in loaded if item.problems]
    if as_json:
        rows = [
            {"id": item.stored.id, "ok": not item.problems, "problems": list(item.problems)}
            for item in loaded
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return 1 if failed else 0
    for item in loaded:
        told = "FAILED" if item.problems else f"ok, {_examples(item)} examples"
        typer.echo(f"{item.stored.id}  {told}")
        for problem in item.problems:
            typer.echo(f"    {visible(problem['path'])}: {visible(problem['message'])}")
    typer.echo(f"{len(loaded) - len(failed)} of {len(loaded)} rules hold", err=True)
    return 1 if failed else 0


async def add_rules(settings: Settings, path: Path) -> int:
    """Store the rules of a file, all of them or none.

    Raises:
        InvalidInput: one is invalid, or its examples do not hold.
    """
    entries = _read(path)
    if not entries:
        raise InvalidInput(f"{path} holds no rule")
    catalog = register_all_tools(plugin_dir=settings.plugins_dir).snapshot()
    definitions = []
    for number, entry in enumerate(entries, start=1):
        try:
            definition = read_definition(entry)
            compile_rule("new", definition, catalog.tools)
        except InvalidInput as error:
            raise InvalidInput(f"rule {number}: {error.message}") from None
        definitions.append(definition)
    async with open_rules(settings) as rules:
        for definition in definitions:
            stored = await rules.store.create(definition.to_json(), actor=ACTOR)
            typer.echo(stored.id)
        warnings = rules.books.review(SystemClock().time())()
        for rule_id, found in warnings.items():
            for warning in found:
                typer.echo(f"warning: {rule_id}: {visible(warning['message'])}", err=True)
    return 0


async def remove_rule(settings: Settings, rule_id: str) -> int:
    """Remove one rule.

    Raises:
        NotFound: there is none in the database.
    """
    async with open_rules(settings) as rules:
        await rules.store.remove(rule_id, actor=ACTOR)
    typer.echo(f"Removed {rule_id}.", err=True)
    return 0


def _read(path: Path) -> list[Any]:
    """The rules of a file, or of standard input for `-`; one rule alone is a list of one."""
    if str(path) == "-":
        return parse_rules(sys.stdin.buffer.read(), "standard input", single=True)
    return read_rule_file(path, single=True)


def _examples(item: LoadedRule) -> int:
    if item.definition is None:
        return 0
    return len(item.definition.examples.match) + len(item.definition.examples.not_match)


def _lines(item: LoadedRule, warnings: list[dict[str, str]]) -> list[str]:
    stored = item.stored
    body = stored.body if isinstance(stored.body, dict) else {}
    state = "off" if not stored.enabled else "INVALID" if item.problems else "on"
    wanted = json.dumps(body.get("match", {}), ensure_ascii=False)
    scope = str(body.get("scope", "global"))
    lines = [
        f"{stored.id}  {state:7}  {visible(str(body.get('decision', '?'))):5}  "
        f"{visible(str(body.get('tool', '?')))}  {visible(wanted)}  {visible(scope)}"
    ]
    if body.get("justification"):
        lines.append(f"    {visible(str(body['justification']))}")
    lines += [f"    error: {visible(p['path'])}: {visible(p['message'])}" for p in item.problems]
    lines += [f"    warning: {visible(warning['message'])}" for warning in warnings]
    return lines
