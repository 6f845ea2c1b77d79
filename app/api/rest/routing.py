"""Paths and names of the routes of a resource."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.api.rest.body import JsonRoute

PREFIX = "/api/v1"
# What is answered whatever the state of the service is.
ALWAYS_ANSWERED = frozenset({f"{PREFIX}/health", f"{PREFIX}/ready"})


def routes_of(
    subject: str, *, below: str = "", route_class: type[APIRoute] = JsonRoute
) -> APIRouter:
    """A router whose routes are whole: the application takes them as they are.

    A router that is included in another has each of its routes built twice, with all of their
    models: a fifth of the server's start.

    Args:
        subject: the tag of the routes in the OpenAPI document.
        below: what follows `/api/v1` in each of their paths.
        route_class: how their bodies are read.
    """
    return APIRouter(
        prefix=PREFIX + below,
        tags=[subject],
        route_class=route_class,
        generate_unique_id_function=_operation_id,
    )


def _operation_id(route: APIRoute) -> str:
    return route.name
