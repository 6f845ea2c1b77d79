"""The site of the documentation: its links, its navigation, its reference, its strictness."""

from pathlib import Path

import orjson
import pytest

from scripts import build_site
from scripts.api_pages import METHODS, rest_pages, websocket_pages
from scripts.parts import SITE
from tests.docs.pages import read
from tests.support.binaries import needs
from tests.support.source import ROOT

OPENAPI = {
    "info": {"title": "Small"},
    "tags": [{"name": "admin", "description": "What administrators decide."}],
    "paths": {
        "/api/v1/admin/rules/{id}": {
            "get": {
                "tags": ["admin"],
                "summary": "Show a rule",
                "description": "Scope `admin`.",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {}}],
                "responses": {
                    "200": {
                        "description": "It.",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Rule"}}
                        },
                    }
                },
            }
        }
    },
    "components": {"schemas": {"Rule": {"properties": {"id": {"type": "string"}}}}},
}
ASYNCAPI = {
    "info": {"title": "Small"},
    "operations": {
        "sendCommand": {"summary": "What a client sends.", "messages": [{"$ref": "#/x/ping"}]}
    },
    "components": {
        "messages": {"ping": {"name": "ping", "payload": {"$ref": "#/components/schemas/Ping"}}},
        "schemas": {
            "Ping": {"properties": {"part": {"$ref": "#/components/schemas/Part"}}},
            "Part": {"type": "string"},
        },
    },
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with two pages, which links lead out of."""
    documents = {"openapi": OPENAPI, "asyncapi": ASYNCAPI}
    monkeypatch.setattr(
        build_site, "described", lambda name: orjson.dumps(documents[name]).decode()
    )
    folder = tmp_path / "project"
    for name, text in {
        "docs/index.md": "# Index\n\nSee the [read me](../README.md).\n\n## Use it\n\n"
        "- [Page](page.md): it.\n\n## Decisions\n\n- [0001](decisions/0001-one.md): one.\n",
        "docs/page.md": "# Page\n\n## Part\n\nA [file](../examples/a.py), a [folder](../examples/)"
        " and [itself](#part).\n\n```text\n[no link](nowhere.md)\n```\n",
        "docs/decisions/0001-one.md": "# 0001: one\n\nSee [the page](../page.md#part).\n",
        "README.md": "# Project\n\nSee [the page](docs/page.md#part); xylophone.\n",
        "examples/a.py": "A = 1\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY", "changelog.d/README"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.md").write_text(f"# {name}\n", encoding="utf-8")
    (folder / "scripts").symlink_to(ROOT / "scripts")
    return folder


def staged(root: Path, name: str) -> str:
    stage = root.parent / "stage"
    build_site.prepare(root, stage)
    return (stage / name).read_text(encoding="utf-8")


def test_links_hold_on_the_site_and_blocks_stay_as_they_are(root: Path):
    text = staged(root, "page.md")
    assert "A [file](files/examples/a.py), a folder (`examples/`) and [itself](#part)." in text
    assert "[no link](nowhere.md)" in text
    assert "[the page](../page.md#part)" in staged(root, "project/readme.md")
    assert "[read me](project/readme.md)" in staged(root, "index.md")
    assert staged(root, "files/examples/a.py") == "A = 1\n"


def test_a_link_that_leads_nowhere_ends_the_build(root: Path):
    (root / "docs" / "page.md").write_text("# Page\n\n[gone](gone.md)\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"docs/page\.md links to gone\.md"):
        staged(root, "page.md")


def test_the_navigation_follows_the_index_and_has_the_decisions_once(root: Path):
    text = staged(root, "index.md")
    assert ":caption: Use it\n\npage\n```" in text
    assert ":caption: Decisions\n\ndecisions/index\n```" in text
    assert "\n0001-one\n" in staged(root, "decisions/index.md")


def test_the_real_index_is_a_group_for_each_of_its_headings():
    groups = dict(build_site.navigation(read("docs/index.md")))
    assert {"Use Tollgate", "Extend", "Decisions"} <= groups.keys()
    assert all(groups.values())


def test_the_reference_has_an_operation_with_its_parameters_and_bodies():
    page = rest_pages(OPENAPI)["rest-admin-rules.md"]
    assert "# Admin: rules\n" in page
    assert "## Show a rule\n\n`GET /api/v1/admin/rules/{id}`\n\nScope `admin`.\n" in page
    assert "| `id` | path | any | yes |  |" in page
    assert "| 200 | It. | [Rule](rest-schemas.md#rule) (`application/json`) |" in page


def test_the_reference_has_messages_by_direction_and_their_parts():
    pages = websocket_pages(ASYNCAPI)
    assert "## What a client sends\n\n### ping\n" in pages["websocket.md"]
    assert "[Part](websocket-schemas.md#part)" in pages["websocket.md"]
    assert "## Part\n\nType: string\n" in pages["websocket-schemas.md"]


def test_every_operation_and_message_of_the_product_is_in_the_reference():
    rest = orjson.loads(build_site.described("openapi"))
    text = "\n".join(rest_pages(rest).values())
    operations = [(m, path) for path, item in rest["paths"].items() for m in METHODS if m in item]
    assert len(operations) > 100
    assert [(m, p) for m, p in operations if f"`{m.upper()} {p}`" not in text] == []
    sent = orjson.loads(build_site.described("asyncapi"))
    page = websocket_pages(sent)["websocket.md"]
    messages = [message["name"] for message in sent["components"]["messages"].values()]
    assert [name for name in messages if f"\n### {name}\n" not in page] == []


@needs(SITE)
def test_the_site_is_built_with_its_search_and_a_warning_fails_it(root: Path, tmp_path: Path):
    out = tmp_path / "site"
    assert build_site.build(root, out) == 0
    assert "xylophon" in (out / "searchindex.js").read_text(encoding="utf-8")
    assert 'href="api/rest.html"' in (out / "index.html").read_text(encoding="utf-8")
    assert list(out.glob("_downloads/*/openapi.json"))
    broken = root / "docs" / "page.md"
    broken.write_text("# Page\n\n[gone](#gone)\n", encoding="utf-8")
    assert build_site.build(root, out) != 0


def test_a_folder_with_something_else_is_left_alone(root: Path, tmp_path: Path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "first.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(SystemExit, match="holds something else"):
        build_site.build(root, tmp_path / "letters")
    assert (tmp_path / "letters" / "first.txt").exists()
