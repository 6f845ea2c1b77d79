"""Reload of the plugin folder."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.catalog.errors import PluginsRefused
from app.governance.audit.log import AuditEntry

router = routes_of("admin", below="/admin")

_PROBLEM: dict[str, Any] = {
    "name": "weather",
    "where": "/srv/tollgate/plugins/weather.py",
    "at": "/srv/tollgate/plugins/weather.py:3",
    "code": "plugin_import",
    "error": "ModuleNotFoundError: No module named 'weathers'",
    "fix": "Install the package that provides weathers into the service's environment, then "
    "restart the service",
}


class LeftOut(BaseModel):
    """A plugin that failed to load."""

    model_config = example(**_PROBLEM)

    name: str
    where: str
    at: str
    code: str
    error: str
    fix: str


class PluginsReloaded(BaseModel):
    """Changes of a reload."""

    model_config = example(
        read=["greet"],
        removed=[],
        tools_added=[],
        tools_changed=["greet"],
        tools_removed=[],
        problems=[_PROBLEM],
    )

    read: list[str] = Field(description="Plugins that are new or changed, and were loaded.")
    removed: list[str] = Field(description="Plugins that were removed.")
    tools_added: list[str]
    tools_changed: list[str]
    tools_removed: list[str]
    problems: list[LeftOut] = Field(
        description="Plugins that are not loaded, including those that failed before this reload."
    )


@router.post(
    "/plugins/reload",
    summary="Reload the plugin folder",
    responses=problems(PluginsRefused),
)
async def reload_plugins(service: ServiceDep, principal: Admin) -> PluginsReloaded:
    """Scope `admin`. Applies all changes together, or none: 409 has the reason.

    Running calls finish with the code that they started with. Plugins with hooks, and installed
    packages, are only loaded when the service starts.
    """
    done = await service.plugins.reload()
    service.cache.tools_changed()
    detail: dict[str, Any] = {
        "read": list(done.read),
        "removed": list(done.removed),
        "tools_added": list(done.tools_added),
        "tools_changed": list(done.tools_changed),
        "tools_removed": list(done.tools_removed),
    }
    service.audit.record(
        AuditEntry(
            "governance.plugins",
            actor=principal.user_id,
            subject=str(service.settings.plugins_dir),
            detail=detail,
        )
    )
    await service.catalog_sync.settled()
    await service.db.flush()
    left_out = [
        LeftOut(
            name=one.name, where=one.where, at=one.at, code=one.code, error=one.error, fix=one.fix
        )
        for one in done.problems
    ]
    return PluginsReloaded(**detail, problems=left_out)
