from typing import Any

import httpx2
import pytest

from app.api.errors import Problem
from tests.support.openapi import openapi_document, references

METHODS = {"get", "post", "patch", "put", "delete"}


@pytest.fixture
def document() -> dict[str, Any]:
    return openapi_document()


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


async def test_the_service_serves_it(client: httpx2.AsyncClient, document: dict[str, Any]):
    assert (await client.get("/openapi.json")).json() == document


def test_every_operation_is_reported(document: dict[str, Any]):
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


def test_no_schema_is_called_after_a_module(document: dict[str, Any]):
    """Two models of one name are told apart by their modules, and clients are made of names."""
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


def test_what_is_wrong_with_a_field_is_described(document: dict[str, Any]):
    schemas = document["components"]["schemas"]
    field = {"$ref": "#/components/schemas/FieldProblem"}
    details, _ = schemas["Problem"]["properties"]["details"]["anyOf"]
    assert details["properties"]["errors"]["items"] == field
    assert set(schemas["FieldProblem"]["properties"]) == {"path", "message", "code", "values"}


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

    # Whoever signs in shows the token in the body, once; other systems sign what they send.
    delivering = "POST /api/v1/hooks/{name}"
    signing_in = "POST /api/v1/login"
    assert open_ones == {"GET /api/v1/health", "GET /api/v1/ready", signing_in, delivering}
    assert all(
        "401" in item["responses"]
        for name, item in operations(document).items()
        if name not in open_ones
    )


def test_what_takes_a_body_tells_what_a_bad_one_gets(document: dict[str, Any]):
    for name, item in operations(document).items():
        if "requestBody" in item:
            assert {"400", "413", "415", "422"} <= item["responses"].keys(), name


def test_what_takes_a_version_or_makes_something_tells_its_headers(document: dict[str, Any]):
    found = operations(document)
    versioned = {
        name.split()[1]
        for name, item in found.items()
        if any(parameter["name"] == "if-match" for parameter in item.get("parameters", []))
    }
    assert len(versioned) >= 6
    for path in versioned:
        names = [f"{method} {path}" for method in ("PATCH", "PUT", "GET")]
        for name in filter(found.__contains__, names):
            assert "ETag" in found[name]["responses"]["200"]["headers"], name
    # A ticket is no resource, and a rotated token stands in the list of tokens.
    bare = {"POST /api/v1/ws-tickets", "POST /api/v1/admin/tokens/{token_id}/rotate"}
    makes = {
        name: item["responses"]["201"] for name, item in found.items() if "201" in item["responses"]
    }
    assert {
        name for name, answer in makes.items() if "Location" not in answer.get("headers", {})
    } == bare


def test_every_reference_leads_somewhere(document: dict[str, Any]):
    schemas = document["components"]["schemas"]
    missing = [
        target
        for target in references(document)
        if target.removeprefix("#/components/schemas/") not in schemas
    ]
    assert missing == []
    assert "HTTPValidationError" not in schemas


async def test_no_page_loads_scripts_from_elsewhere(client: httpx2.AsyncClient):
    for path in ("/docs", "/redoc"):
        assert (await client.get(path)).status_code == 404


async def test_what_was_made_is_where_its_location_says(
    client: httpx2.AsyncClient, tmp_path_factory: pytest.TempPathFactory
):
    root = str(tmp_path_factory.mktemp("site"))
    rule = {"tool": "bash", "match": {"argv": ["ls"]}, "decision": "allow"}
    for path, body in (
        ("/sessions", {}),
        ("/admin/agents", {"id": "writer"}),
        ("/admin/projects", {"name": "Site", "root": root}),
        ("/admin/rules", rule),
    ):
        made = await client.post(path, json=body)
        assert made.status_code == 201, made.text
        read = await client.get(str(made.url.join(made.headers["location"])))
        assert read.status_code == 200, path
        assert read.headers.get("etag") == made.headers.get("etag"), path


def test_every_whole_number_in_an_address_has_a_largest(document: dict[str, Any]):
    """A larger one than a database holds would be a failure of ours, and not theirs."""
    endless = []
    for name, item in operations(document).items():
        for parameter in item.get("parameters", []):
            kinds = parameter["schema"].get("anyOf", [parameter["schema"]])
            if any(kind.get("type") == "integer" and "maximum" not in kind for kind in kinds):
                endless.append(f"{name} {parameter['name']}")

    assert endless == []


def test_whatever_changes_something_takes_an_idempotency_key(document: dict[str, Any]):
    without = {
        name
        for name, item in operations(document).items()
        if not name.startswith("GET ")
        and not any(each["name"] == "Idempotency-Key" for each in item.get("parameters", []))
    }
    assert without == {"POST /api/v1/hooks/{name}", "POST /api/v1/login"}
