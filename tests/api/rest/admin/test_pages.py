"""Pages of an admin list."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel

from app.api.rest.admin.crud import Crud, Listed


class Number(BaseModel):
    id: str


class NumberPage(BaseModel):
    numbers: list[Number]
    total: int
    next_after: str | None


def test_a_page_builds_the_views_of_its_own_items_alone() -> None:
    router = APIRouter()
    numbers = Crud(router, "numbers", "number_id")
    built: list[str] = []

    def view(item: str) -> Number:
        built.append(item)
        return Number(id=item)

    @numbers.page(NumberPage, "List numbers")
    async def list_numbers() -> Listed[str]:
        return Listed({f"{n:04}": f"{n:04}" for n in range(1000)}, view)

    app = FastAPI()
    app.include_router(router)
    client = TestClient(app)
    page = client.get("/numbers", params={"limit": 2, "after": "0009"}).json()
    assert page == {
        "numbers": [{"id": "0010"}, {"id": "0011"}],
        "total": 1000,
        "next_after": "0011",
    }
    assert built == ["0010", "0011"]
    assert client.get("/numbers", params={"after": "0999"}).json()["next_after"] is None
    assert built == ["0010", "0011"]
