"""`lint` and `lint_fix` with the real linters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import InvalidArguments
from app.operations.fakes.workspace import fake_workspace
from app.operations.protocols.processes import ProcessChunk, ProcessExit, ProcessSpec
from app.toolkit.context import ToolContext
from app.toolkit.tool import PermissionClass
from app.tools.dev.lint.lint import lint
from app.tools.dev.lint.lint_fix import lint_fix
from app.tools.dev.lint.syntax import check_syntax
from tests.support.binaries import require_binary
from tests.tools.calls import call, call_as

BAD = "import os\nprint(undefined)\n"


@pytest.mark.requirement("FIL-13")
async def test_a_bad_file_has_findings(here: ToolContext, root: Path):
    (root / "ruff.toml").write_text('lint.select = ["F"]\n', encoding="utf-8")
    (root / "bad.py").write_text(BAD, encoding="utf-8")
    result = await call_as("LintTool", lint, here, path="bad.py")
    assert result.error is None
    assert [(item["line"], item["column"], item["code"]) for item in result.data["findings"]] == [
        (1, 8, "F401"),
        (2, 7, "F821"),
    ]
    assert result.data["findings"][0] == {
        "path": "bad.py",
        "line": 1,
        "column": 8,
        "code": "F401",
        "severity": "warning",
        "message": "`os` imported but unused",
        "linter": "ruff",
        "fixable": True,
    }
    assert result.raw_result is not None
    assert (result.raw_result.type, result.raw_result.data) == ("table", result.data["findings"])
    assert result.data["checked"] == {"ruff": 1}
    assert result.data["sandbox"]["level"]
    first, *_, last = result.for_model().splitlines()
    assert first == "bad.py:1:8: warning F401: `os` imported but unused [fixable]"
    assert last == "2 findings in 1 files (1 by ruff)"


async def test_a_mistake_of_syntax_is_an_error(here: ToolContext, root: Path):
    (root / "bad.py").write_text("def f(:\n", encoding="utf-8")
    result = await call(lint, here)
    assert result.data["errors"] >= 1
    assert {item["severity"] for item in result.data["findings"]} == {"error"}


async def test_every_kind_of_file_goes_to_its_linter(here: ToolContext, root: Path):
    require_binary("shellcheck")
    files = {
        "good.py": "print(1)\n",
        "run.sh": "#!/bin/bash\necho $1\n",
        "a.json": '{"a": 1,}\n',
        "b.yaml": "a: [b\n",
        "c.toml": "a = \n",
        "d.xml": "<a><b></a>",
        "tsconfig.json": "{ /* comments are fine */ }",
        "notes.txt": "x",
        "app.js": "let x = ;",
    }
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    result = await call(lint, here, path=".")
    assert [(item["path"], item["code"]) for item in result.data["findings"]] == [
        ("a.json", "syntax"),
        ("b.yaml", "syntax"),
        ("c.toml", "syntax"),
        ("d.xml", "syntax"),
        ("run.sh", "SC2086"),
    ]
    assert result.data["checked"] == dict.fromkeys(
        ("ruff", "shellcheck", "json", "yaml", "toml", "xml"), 1
    )
    (unchecked,) = result.data["not_checked"]
    assert (unchecked["linter"], unchecked["files"]) == ("eslint", 1)
    assert "linter=eslint" in unchecked["fix"]


async def test_a_linter_that_is_missing_is_reported_with_how_to_get_it(ctx: ToolContext):
    operations = fake_workspace({"run.sh": "echo $1", "ok.json": "{}"})
    result = await call(lint, replace(ctx, bound_operations=operations))
    assert result.success
    assert result.data["checked"] == {"json": 1}
    assert result.data["not_checked"] == [
        {
            "linter": "shellcheck",
            "files": 1,
            "reason": "it is not installed",
            "fix": "Install the package `shellcheck`",
        }
    ]


@pytest.mark.parametrize("printed", [b"", b"[]]", b'{"comments": 1}', b"[1]", b"[" * 100_000])
async def test_a_linter_that_prints_nonsense_has_not_checked(ctx: ToolContext, printed: bytes):
    def script(spec: ProcessSpec) -> tuple[Sequence[ProcessChunk], ProcessExit]:
        assert (spec.network, spec.argv[-2:]) == (False, ("--", "./run.sh"))
        return [ProcessChunk("stdout", printed)], ProcessExit(0)

    operations = fake_workspace({"run.sh": "echo"}, script=script)
    result = await call(lint, replace(ctx, bound_operations=operations))
    assert result.data["checked"] == {}
    assert result.data["not_checked"][0]["reason"] == "it printed invalid output"


async def test_a_broken_configuration_is_reported(here: ToolContext, root: Path):
    (root / "ruff.toml").write_text("select = 3\n", encoding="utf-8")
    (root / "a.py").write_text("print(1)\n", encoding="utf-8")
    result = await call(lint, here, path="a.py")
    assert result.data["checked"] == {}
    assert "ruff.toml" in result.data["not_checked"][0]["reason"]


async def test_findings_come_in_pages(here: ToolContext, root: Path):
    (root / "bad.py").write_text("import os\nimport re\nimport sys\n", encoding="utf-8")
    first = await call(lint, here, path="bad.py", limit=2)
    assert (first.data["count"], first.data["total"], first.data["truncated"]) == (2, 3, True)
    assert "[3 in total: continue with offset=2]" in first.for_model()
    rest = await call(lint, here, path="bad.py", limit=2, offset=2)
    assert [item["line"] for item in rest.data["findings"]] == [3]


async def test_globs_choose_files_and_a_path_that_names_nothing_is_reported(
    here: ToolContext, root: Path
):
    (root / "src").mkdir()
    for name in ("src/a.py", "src/b.py", "c.py"):
        (root / name).write_text("import os\n", encoding="utf-8")
    result = await call(lint, here, paths=["src/*.py"])
    assert {item["path"] for item in result.data["findings"]} == {"src/a.py", "src/b.py"}
    assert (await call(lint, here, path="nowhere.py")).code == "file_not_found"
    assert (await call(lint, here, path="../outside")).code == "outside_workspace"
    with pytest.raises(InvalidArguments):
        await call(lint, here, path="a", paths=["b"])


async def test_a_file_whose_name_looks_like_an_option_is_a_file(here: ToolContext, root: Path):
    (root / "--fix.py").write_text("import os\n", encoding="utf-8")
    result = await call(lint, here)
    assert [item["path"] for item in result.data["findings"]] == ["--fix.py"]
    assert (root / "--fix.py").read_text(encoding="utf-8") == "import os\n"


def test_only_the_repairing_tool_may_write():
    assert lint.permission_class is PermissionClass.READ
    assert lint_fix.permission_class is PermissionClass.WRITE


async def test_repairs_are_written_and_shown(here: ToolContext, root: Path):
    (root / ".ruff.toml").write_text('lint.select = ["F"]\n', encoding="utf-8")
    (root / "bad.py").write_text(BAD, encoding="utf-8")
    (root / "good.py").write_text("print(1)\n", encoding="utf-8")
    result = await call(lint_fix, here, paths=["."])
    assert result.error is None
    assert (root / "bad.py").read_text(encoding="utf-8") == "print(undefined)\n"
    assert (result.data["changed"], result.data["repaired"], result.data["left"]) == (1, 1, 1)
    assert result.raw_result is not None
    assert "-import os" in result.raw_result.data["diff"]
    assert result.for_model() == ("bad.py: +0 -1\nFixed 1 findings in 1 files, 1 left")


async def test_a_file_that_changes_while_it_is_repaired_is_left_alone(ctx: ToolContext):
    finding = {
        "filename": "/workspace/a.py",
        "code": "F401",
        "location": {"row": 1, "column": 1},
        "message": "m",
        "fix": {"applicability": "safe"},
    }

    def script(spec: ProcessSpec) -> tuple[Sequence[ProcessChunk], ProcessExit]:
        if spec.stdin is None:
            return [ProcessChunk("stdout", json.dumps([finding]).encode())], ProcessExit(1)
        operations.files._tree.fill({"a.py": "somebody else's\n"})  # type: ignore[attr-defined]
        return [ProcessChunk("stdout", b"repaired\n")], ProcessExit(0)

    operations = fake_workspace({"a.py": "import os\n"}, script=script)
    finding["filename"] = f"{operations.root}/a.py"
    result = await call(lint_fix, replace(ctx, bound_operations=operations), paths=["a.py"])
    assert result.code == "changed_meanwhile"
    assert await operations.files.read("a.py", max_bytes=100) == b"somebody else's\n"


async def test_without_the_linter_nothing_is_repaired(ctx: ToolContext):
    operations = fake_workspace({"a.js": "let x"})
    context = replace(ctx, bound_operations=operations)
    result = await call(lint_fix, context, paths=["."], linter="eslint")
    assert result.code == "linter_unavailable"
    assert "npm install --global eslint" in str(result.error)


@pytest.mark.parametrize(
    ("linter", "data", "line", "message"),
    [
        ("json", b'{"a":\n1,}', 2, "property name"),
        ("json", b"[" * 1_000_000, 1, "nested too deeply"),
        ("json", b'{"a": NaN}', 1, "NaN is not JSON"),
        ("json", b"\xff", 1, "not UTF-8: byte 0xff"),
        ("yaml", b"a: b\nc\n", 3, "could not find"),
        ("yaml", b"[" * 1_000_000, 1, "nested too deeply"),
        ("toml", b"[a]\n[a]\n", 2, "twice"),
        ("toml", b"a" + b".a" * 500_000 + b"=1", 1, "too many parts"),
        ("toml", b"a=" + b"[" * 500_000, 1, "nested too deeply"),
        ("xml", b"<a>\n<b></a>", 2, "mismatched tag"),
        ("xml", b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', 1, "document type"),
        ("xml", b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', 1, "document type"),
    ],
)
def test_a_mistake_or_a_bomb_is_one_finding(linter: str, data: bytes, line: int, message: str):
    (finding,) = check_syntax(linter, "x", data)  # type: ignore[arg-type]
    assert finding.line == line
    assert message in finding.message


@pytest.mark.parametrize(
    ("linter", "data"),
    [
        ("json", b"9" * 1_000_000),
        # A billion laughs: read as events, nothing is expanded.
        ("yaml", b"a: &a [x, x]\n" + b"".join(b"b%d: [*a, *a]\n" % n for n in range(1000))),
        ("yaml", b"--- 1\n--- 2\n"),
        ("toml", b"a.b.c = 1\n"),
        ("xml", '<?xml version="1.0" encoding="utf-16"?><a/>'.encode("utf-16")),
    ],
)
def test_what_can_be_read_has_no_findings(linter: str, data: bytes):
    assert check_syntax(linter, "x", data) == []  # type: ignore[arg-type]
