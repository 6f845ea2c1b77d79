"""Paths and names of the routes of a resource."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.api.rest.body import JsonRoute

PREFIX = "/api/v1"
# Paths that respond in any state of the service.
ALWAYS_ANSWERED = frozenset({f"{PREFIX}/health", f"{PREFIX}/ready"})


def routes_of(
    subject: str, *, below: str = "", route_class: type[APIRoute] = JsonRoute
) -> APIRouter:
    """Return a router with complete routes, which the application uses directly.

    Including a router in another would build each route and its models twice, which takes a fifth
    of the server's start-up time.

    Args:
        subject: tag of the routes in the OpenAPI document.
        below: path prefix of the routes after `/api/v1`.
        route_class: class of the routes, which reads their bodies.
    """
    return APIRouter(
        prefix=PREFIX + below,
        tags=[subject],
        route_class=route_class,
        generate_unique_id_function=_operation_id,
    )


def _operation_id(route: APIRoute) -> str:
    return route.name
