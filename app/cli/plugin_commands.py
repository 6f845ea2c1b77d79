"""Command definitions of `tollgate plugins`; the implementation is imported on use."""

from __future__ import annotations

import typer

from app.cli.options import Json, Url, finish

plugins = typer.Typer(
    help="Manage the tools of the plugin folder.", rich_markup_mode=None, no_args_is_help=True
)


@plugins.callback()
def _group() -> None:
    pass


@plugins.command("reload")
def plugins_reload(
    *,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Reload the plugin folder in the running service, without a restart.

    Applies all changes or none. Running calls finish with the code they started with. Plugins with
    hooks and installed packages need a restart.
    """
    from app.cli.plugins import reload_plugins
    from app.cli.target import find_service

    finish(reload_plugins(find_service(url), as_json=as_json))
