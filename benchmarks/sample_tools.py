"""Tools that do almost nothing, so that the overhead is measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

from pydantic import Field

from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool


class AddArgs(ToolArgs):
    a: int
    b: int
    tags: list[str] = Field(default_factory=list)


class Address(ToolArgs):
    street: str
    city: str
    zip_code: str
    country: str = "DE"


class Item(ToolArgs):
    sku: str
    quantity: int = Field(ge=1)
    price: float
    options: dict[str, str] = Field(default_factory=dict)


class OrderArgs(ToolArgs):
    """Fifteen fields on two levels, like tools of business systems."""

    order_id: int
    customer: str
    email: str
    priority: Literal["low", "normal", "high"] = "normal"
    express: bool = False
    discount: float = 0.0
    note: str | None = None
    address: Address
    items: list[Item]
    tags: list[str] = Field(default_factory=list)


async def plain_add(args: AddArgs) -> dict[str, int]:
    """Floor of `add`: the same work without a tool."""
    return {"sum": args.a + args.b}


async def plain_order(args: OrderArgs) -> dict[str, Any]:
    """Floor of `order`."""
    return {"order_id": args.order_id, "items": len(args.items)}


async def plain_talk(_: AddArgs) -> AsyncIterator[str]:
    """Floor of `talk`."""
    yield "first piece"
    yield "second piece"


@tool()
async def add(args: AddArgs, ctx: ToolContext) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": args.a + args.b}


@tool()
async def order(args: OrderArgs, ctx: ToolContext) -> dict[str, Any]:
    """Take an order."""
    return {"order_id": args.order_id, "items": len(args.items)}


@tool()
async def talk(args: AddArgs, ctx: ToolContext) -> AsyncIterator[Output | ToolResult]:
    """Say something in two pieces."""
    yield Output("first piece")
    yield Output("second piece")


@tool()
async def breathe(args: AddArgs, ctx: ToolContext) -> dict[str, int]:
    """Add two numbers after yielding once, like a tool that waits."""
    await asyncio.sleep(0)
    return {"sum": args.a + args.b}


async def plain_breathe(args: AddArgs) -> dict[str, int]:
    """Floor of `breathe`."""
    await asyncio.sleep(0)
    return {"sum": args.a + args.b}


TOOLS = (add, order, talk, breathe)


def add_arguments(number: int) -> str:
    """Return arguments of `add` unique to the number, as written by a model."""
    return f'{{"a":{number},"b":2,"tags":["x","y"]}}'


def order_arguments(number: int) -> str:
    """Return arguments of `order` unique to the number."""
    return (
        f'{{"order_id":{number},"customer":"A. Turing","email":"a@example.org",'
        '"priority":"high","express":true,"discount":0.1,"note":"ring twice",'
        '"address":{"street":"Hauptstr. 1","city":"Berlin","zip_code":"10115","country":"DE"},'
        '"items":[{"sku":"A-1","quantity":2,"price":9.5,"options":{"color":"red"}},'
        '{"sku":"B-2","quantity":1,"price":19.0,"options":{}}],"tags":["new","web"]}'
    )
