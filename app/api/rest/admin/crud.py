"""Routes of admin resources: paged lists, and create, read, update and delete with versions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Generic, Protocol, TypeVar

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.api.errors import problems
from app.api.rest.admin.versions import show_version
from app.api.rest.headers import MADE_VERSIONED, VERSIONED, show_place
from app.core.errors import InvalidInput, NotFound, TollgateError, VersionMismatch

Limit = Annotated[int, Query(ge=1, le=500)]
After = Annotated[
    str | None, Query(max_length=128, description="`next_after` of the previous page.")
]


class Versioned(Protocol):
    """View of a resource whose version every change increments."""

    @property
    def version(self) -> int: ...


class Identified(Versioned, Protocol):
    """View whose ID is the last part of its URL."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Listed(Generic[Item]):
    """Items of a list route.

    Attributes:
        items: items by key, in the order of the keys.
        view: function that returns the view of an item; called only for items of the page.
    """

    items: Mapping[str, Item]
    view: Callable[[Item], BaseModel]


Endpoint = Callable[..., Awaitable[Any]]
Listing = TypeVar("Listing", bound=Callable[..., Awaitable[Listed[Any]]])
Creation = TypeVar("Creation", bound=Callable[..., Awaitable[Identified]])
Single = TypeVar("Single", bound=Callable[..., Awaitable[Versioned]])
Removal = TypeVar("Removal", bound=Callable[..., Awaitable[BaseModel]])


class Crud:
    """Declaration of the routes of one resource.

    Each method is a decorator for a function that looks up or changes the resource and returns
    its view. The route adds the page, the `ETag`, the `Location` and the documented errors. The
    function keeps its parameters, its name and its docstring.
    """

    def __init__(
        self,
        router: APIRouter,
        name: str,
        item: str,
        *,
        path: str | None = None,
        missing: type[TollgateError] = NotFound,
    ) -> None:
        """Bind it to a router.

        Args:
            router: router that gets the routes.
            name: path of the collection, and field of its page.
            item: path parameter of one resource.
            path: path of the collection where it is not `name`.
            missing: documented error for a resource that does not exist.
        """
        self._router = router
        self._name = name
        self._collection = f"/{path or name}"
        self._item = f"{self._collection}/{{{item}}}"
        self._missing = missing

    def page(self, model: type[BaseModel], summary: str) -> Callable[[Listing], Listing]:
        """Add `GET` of the collection; the function returns a `Listed`."""

        def add(call: Listing) -> Listing:
            async def page(*, limit: Limit = 100, after: After = None, **given: Any) -> Any:
                listed = await call(**given)
                rest = [key for key in listed.items if after is None or key > after]
                return model(
                    **{self._name: [listed.view(listed.items[key]) for key in rest[:limit]]},
                    total=len(listed.items),
                    next_after=rest[limit - 1] if len(rest) > limit else None,
                )

            self._router.get(
                self._collection, response_model=model, summary=summary, responses=problems()
            )(_extended(page, call))
            return call

        return add

    def create(
        self, summary: str, *errors: type[TollgateError], **options: Any
    ) -> Callable[[Creation], Creation]:
        """Add `POST` to the collection: 201 with `Location` and `ETag`.

        Args:
            summary: summary of the operation.
            errors: documented errors, such as `AlreadyExists`.
            options: options of the route, such as `dependencies`.
        """

        def add(call: Creation) -> Creation:
            async def made(*, request: Request, response: Response, **given: Any) -> Any:
                view = await call(**given)
                show_place(request, response, view.id)
                show_version(response, view.version)
                return view

            self._router.post(
                self._collection,
                status_code=201,
                summary=summary,
                responses={**MADE_VERSIONED, **problems(*errors, body=True)},
                **options,
            )(_extended(made, call))
            return call

        return add

    def read(self, summary: str) -> Callable[[Single], Single]:
        """Add `GET` of one resource, with its `ETag`."""

        def add(call: Single) -> Single:
            self._router.get(
                self._item, summary=summary, responses={**VERSIONED, **problems(self._missing)}
            )(versioned(call))
            return call

        return add

    def change(self, summary: str, *errors: type[TollgateError]) -> Callable[[Single], Single]:
        """Add `PATCH` of one resource; the function takes the `ExpectedVersion` of `If-Match`."""

        def add(call: Single) -> Single:
            documented = problems(self._missing, *errors, VersionMismatch, body=True)
            self._router.patch(self._item, summary=summary, responses={**VERSIONED, **documented})(
                versioned(call)
            )
            return call

        return add

    def remove(self, summary: str, *errors: type[TollgateError]) -> Callable[[Removal], Removal]:
        """Add `DELETE` of one resource; the function returns the deleted resource."""

        def add(call: Removal) -> Removal:
            documented = problems(self._missing, *errors, VersionMismatch)
            self._router.delete(self._item, summary=summary, responses=documented)(call)
            return call

        return add


def versioned(call: Callable[..., Awaitable[Versioned]]) -> Endpoint:
    """Return an endpoint that also sends the version of the view as its `ETag`."""

    async def shown(*, response: Response, **given: Any) -> Versioned:
        view = await call(**given)
        show_version(response, view.version)
        return view

    return _extended(shown, call)


def start_after(after: str | None, keys: list[str], kind: str) -> int:
    """Return the index after the key `after`, in a list that is not ordered by key.

    Raises:
        InvalidInput: the resource `after` no longer exists.
    """
    if after is None:
        return 0
    if after not in keys:
        message = f"after: {kind} {after!r} no longer exists; list again without it"
        raise InvalidInput(message, field="query.after")
    return keys.index(after) + 1


def _extended(answer: Endpoint, call: Endpoint) -> Endpoint:
    """Return `answer` as an endpoint: documented as `call`, with the parameters of both."""
    own = inspect.signature(call, eval_str=True)
    added = inspect.signature(answer, eval_str=True).parameters.values()
    parameters = [
        *own.parameters.values(),
        *(parameter for parameter in added if parameter.kind is parameter.KEYWORD_ONLY),
    ]
    endpoint = wraps(call)(answer)
    endpoint.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return endpoint
