from typing import Any

import httpx2
import pytest

from app.api.errors import Problem

METHODS = {"get", "post", "patch", "put", "delete"}


@pytest.fixture
async def document(client: httpx2.AsyncClient) -> dict[str, Any]:
    loaded: dict[str, Any] = (await client.get("/openapi.json")).json()
    return loaded


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every operation by method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def has_example(document: dict[str, Any], media: dict[str, Any]) -> bool:
    """Whether a media type shows an example, itself or through its schema."""
    schema = media["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return bool({"example", "examples"} & (media.keys() | schema.keys()))


def test_every_operation_is_told(document: dict[str, Any]):
    found = operations(document)

    assert len(found) >= 25
    untold = [
        name
        for name, item in found.items()
        if not (item.get("summary") and item.get("description") and item.get("tags"))
    ]
    assert untold == []
    ids = [item["operationId"] for item in found.values()]
    assert len(set(ids)) == len(ids)


def test_every_body_and_every_success_has_an_example(document: dict[str, Any]):
    bare = []
    for name, item in operations(document).items():
        bodies = item.get("requestBody", {}).get("content", {})
        good = {
            kind: media
            for status, answer in item["responses"].items()
            if status.startswith("2")
            for kind, media in answer.get("content", {}).items()
        }
        assert good, name
        shown = [*bodies.values(), *good.values()]
        bare += [name for media in shown if not has_example(document, media)]
    assert bare == []


def test_every_error_is_a_problem_with_an_example_of_each_code(document: dict[str, Any]):
    for name, item in operations(document).items():
        errors = {key: value for key, value in item["responses"].items() if key[0] in "45"}
        assert {"403", "500"} <= errors.keys(), name
        for status, answer in errors.items():
            media = answer["content"]["application/problem+json"]
            assert set(answer["content"]) == {"application/problem+json"}, name
            assert media["schema"] == {"$ref": "#/components/schemas/Problem"}
            for code, example in media["examples"].items():
                shown = Problem(**example["value"])
                assert (shown.code, str(shown.status)) == (code, status)


def test_everything_but_health_and_signing_in_names_the_token(document: dict[str, Any]):
    open_ones = {name for name, item in operations(document).items() if not item.get("security")}

    # Whoever signs in shows the token in the body, once.
    assert open_ones == {"GET /api/v1/health", "GET /api/v1/ready", "POST /api/v1/login"}
    assert all(
        "401" in item["responses"]
        for name, item in operations(document).items()
        if name not in open_ones
    )


def test_what_takes_a_body_tells_what_a_bad_one_gets(document: dict[str, Any]):
    for name, item in operations(document).items():
        if "requestBody" in item:
            assert {"400", "413", "415", "422"} <= item["responses"].keys(), name


def test_every_reference_leads_somewhere(document: dict[str, Any]):
    schemas = document["components"]["schemas"]
    missing = [
        target
        for target in references(document)
        if target.removeprefix("#/components/schemas/") not in schemas
    ]
    assert missing == []
    assert "HTTPValidationError" not in schemas


def references(value: Any) -> list[str]:
    """Every `$ref` below a value."""
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [target for item in value.values() for target in references(item)]
    if isinstance(value, list):
        return [target for item in value for target in references(item)]
    return []


async def test_no_page_loads_scripts_from_elsewhere(client: httpx2.AsyncClient):
    for path in ("/docs", "/redoc"):
        assert (await client.get(path)).status_code == 404
