"""The words of `tollgate rules`; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import DataDir, Json, finish

rules = typer.Typer(
    help="Rules on what tools are called with.", rich_markup_mode=None, no_args_is_help=True
)


@rules.command("list")
def rules_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List every rule, with what is wrong and what is odd about it."""
    from app.cli.place import find_place
    from app.cli.rules import list_rules

    finish(list_rules(find_place(data_dir), as_json=as_json))


@rules.command("test")
def rules_test(
    file: Annotated[
        Path | None, typer.Argument(help="YAML or JSON; - reads it. Stored rules if not given.")
    ] = None,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Run the examples of all rules; exit code 1 when one is invalid."""
    from app.cli.place import find_place
    from app.cli.rules import test_file, test_rules
    from app.core.settings import load_settings

    if file is None:
        finish(test_rules(find_place(data_dir), as_json=as_json))
    settings = load_settings(**({} if data_dir is None else {"data_dir": data_dir}))
    raise typer.Exit(test_file(file, settings.plugins_dir, as_json=as_json))


@rules.command("add")
def rules_add(
    file: Annotated[Path, typer.Argument(help="YAML or JSON of one rule or a list; - reads it.")],
    data_dir: DataDir = None,
) -> None:
    """Store the rules of a file, all of them or none, and print their ids."""
    from app.cli.place import find_place
    from app.cli.rules import add_rules

    finish(add_rules(find_place(data_dir), file))


@rules.command("remove")
def rules_remove(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the rule.")],
    data_dir: DataDir = None,
) -> None:
    """Remove a rule."""
    from app.cli.place import find_place
    from app.cli.rules import remove_rule

    finish(remove_rule(find_place(data_dir), rule_id))
