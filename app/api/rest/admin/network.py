"""Presets of hosts that projects can allow."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from app.api.deps import Admin
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.core.host_rules import PRESETS

router = routes_of("admin", below="/admin")

_PRESET: dict[str, Any] = {"name": "python", "hosts": list(PRESETS["python"])}


class NetworkPreset(BaseModel):
    """Hosts that `preset:` and the name allow."""

    model_config = example(**_PRESET)

    name: str
    hosts: list[str] = Field(description="Hosts, as in `allowed_hosts` of a project.")


@router.get(
    "/network/presets",
    summary="List presets of allowed hosts",
    responses={**problems(), 200: {"content": {"application/json": {"example": [_PRESET]}}}},
)
async def list_network_presets(principal: Admin) -> list[NetworkPreset]:
    """Scope `admin`. The presets that `allowed_hosts` of a project can name."""
    return [NetworkPreset(name=name, hosts=list(hosts)) for name, hosts in PRESETS.items()]
