"""Command definitions of `tollgate rules`; the implementation is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import DataDir, Json, Token, Url, finish

rules = typer.Typer(
    help="Manage the rules that decide tool calls by their arguments.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@rules.command("list")
def rules_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List all rules with their errors and warnings."""
    from app.cli.rules import list_rules
    from app.cli.target import find_place

    finish(list_rules(find_place(data_dir), as_json=as_json))


@rules.command("test")
def rules_test(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="YAML or JSON file; - reads from standard input. [default: the stored rules]"
        ),
    ] = None,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Run the examples of all rules. Exits with 1 if one is invalid."""
    from app.cli.rules import test_file, test_rules
    from app.cli.target import find_place
    from app.config.settings import load_settings

    if file is None:
        finish(test_rules(find_place(data_dir), as_json=as_json))
    settings = load_settings(**({} if data_dir is None else {"data_dir": data_dir}))
    raise typer.Exit(test_file(file, settings.plugins_dir, as_json=as_json))


@rules.command("add")
def rules_add(
    file: Annotated[
        Path,
        typer.Argument(
            help="YAML or JSON file with one rule or a list; - reads from standard input."
        ),
    ],
    data_dir: DataDir = None,
) -> None:
    """Store the rules of a file and print their IDs. Stores all of them or none."""
    from app.cli.rules import add_rules
    from app.cli.target import find_place

    finish(add_rules(find_place(data_dir), file))


@rules.command("remove")
def rules_remove(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="ID of the rule.")],
    data_dir: DataDir = None,
) -> None:
    """Delete a rule."""
    from app.cli.rules import remove_rule
    from app.cli.target import find_place

    finish(remove_rule(find_place(data_dir), rule_id))


ProposalId = Annotated[str, typer.Argument(metavar="ID", help="ID of the proposal.")]


@rules.command("proposals")
def rules_proposals(
    proposal_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Show one with its proof.")
    ] = None,
    url: Url = None,
    token: Token = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are decided or withdrawn.")
    ] = False,
    compute: Annotated[
        bool, typer.Option("--compute", help="Compute them from the newest calls first.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List rules that are proposed from repeated answers, or show one with its proof."""
    from app.cli.rule_proposals import list_proposals, show_proposal
    from app.cli.target import find_service

    service = find_service(url, token)
    if proposal_id is not None:
        finish(show_proposal(service, proposal_id, as_json=as_json))
    else:
        finish(list_proposals(service, everything=everything, compute=compute, as_json=as_json))


@rules.command("accept")
def rules_accept(proposal_id: ProposalId, url: Url = None, token: Token = None) -> None:
    """Prove a proposal once more, and create or remove its rule."""
    from app.cli.rule_proposals import decide_proposal
    from app.cli.target import find_service

    finish(decide_proposal(find_service(url, token), proposal_id, "accept"))


@rules.command("dismiss")
def rules_dismiss(proposal_id: ProposalId, url: Url = None, token: Token = None) -> None:
    """Dismiss a proposal; the same rule is not proposed again."""
    from app.cli.rule_proposals import decide_proposal
    from app.cli.target import find_service

    finish(decide_proposal(find_service(url, token), proposal_id, "dismiss"))
