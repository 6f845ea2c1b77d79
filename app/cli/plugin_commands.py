"""The words of `tollgate plugins`; what they do is imported when they run."""

from __future__ import annotations

import typer

from app.cli.options import Json, Url, finish

plugins = typer.Typer(
    help="Tools of the plugin folder.", rich_markup_mode=None, no_args_is_help=True
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
    """Have the running service read the plugin folder again, without a restart.

    All that has changed is taken, or nothing. Calls that run end with the code that they began
    with. Plugins that bring hooks, and installed packages, need a restart.
    """
    from app.cli.place import find_service
    from app.cli.plugins import reload_plugins

    finish(reload_plugins(find_service(url), as_json=as_json))
