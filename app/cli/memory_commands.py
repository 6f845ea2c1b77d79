"""Command definitions of `tollgate memory`; the implementation is imported on use."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from app.cli.options import DataDir, Json, finish

memory = typer.Typer(
    help="Manage the memories of agents, users and projects.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Scope = Annotated[str | None, typer.Option(help="Scope: agent, user or project.")]
Owner = Annotated[str | None, typer.Option(help="ID of the agent, user or project.")]
Tag = Annotated[str | None, typer.Option(help="Only memories with this tag.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="Number of newest memories to show.")]


@memory.command("list")
def memory_list(
    scope: Scope = None,
    owner: Owner = None,
    tag: Tag = None,
    limit: Limit = 50,
    data_dir: DataDir = None,
    *,
    as_json: Json = False,
) -> None:
    """List memories, newest first."""
    _list((scope, owner, tag, None), data_dir, limit=limit, as_json=as_json)


@memory.command("search")
def memory_search(
    query: Annotated[str, typer.Argument(help="Words that must all occur.")],
    scope: Scope = None,
    owner: Owner = None,
    tag: Tag = None,
    limit: Limit = 50,
    data_dir: DataDir = None,
    *,
    as_json: Json = False,
) -> None:
    """Search memories by words, in any language."""
    _list((scope, owner, tag, query), data_dir, limit=limit, as_json=as_json)


def _list(
    filters: tuple[str | None, ...], data_dir: DataDir, *, limit: int, as_json: bool
) -> NoReturn:
    from app.cli.memory import Wish, list_memories
    from app.cli.target import find_place

    finish(list_memories(find_place(data_dir), Wish(*filters), limit=limit, as_json=as_json))


@memory.command("export")
def memory_export(
    scope: Scope = None,
    owner: Owner = None,
    tag: Tag = None,
    query: Annotated[str | None, typer.Option(help="Words that must all occur.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Export memories as JSON lines, oldest first."""
    from app.cli.memory import Wish, export_memories
    from app.cli.target import find_place

    place = find_place(data_dir)
    finish(export_memories(place, Wish(scope, owner, tag, query)))


@memory.command("forget")
def memory_forget(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="ID of one memory, as printed by `list`.")
    ] = None,
    scope: Scope = None,
    owner: Owner = None,
    tag: Tag = None,
    query: Annotated[str | None, typer.Option(help="Words that must all occur.")] = None,
    data_dir: DataDir = None,
    *,
    every: Annotated[
        bool, typer.Option("--every", help="Delete all memories of all owners.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete; without this option, only count.")
    ] = False,
) -> None:
    """Delete one memory, or all matching ones, permanently."""
    from app.cli.memory import Wish, forget_memories, forget_memory
    from app.cli.target import find_place
    from app.core.errors import InvalidInput

    place = find_place(data_dir)
    wish = Wish(scope, owner, tag, query)
    if memory_id is None:
        work = forget_memories(place, wish, every=every, yes=yes)
    elif every or wish != Wish():
        raise InvalidInput("Give an ID or filters, not both")
    else:
        work = forget_memory(place, memory_id)
    finish(work)
