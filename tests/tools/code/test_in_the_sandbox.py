"""`execute_python` behind the real walls."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.operations.sandbox.jail.python.levels import SECONDS
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from app.toolkit.context import Output, ToolContext
from app.toolkit.ports import ARTIFACTS, CODE_RULES
from app.toolkit.services import Services
from app.tools.code.execute_python import ExecutePythonArgs, execute_python
from app.tools.code.modules import CodeRules, ExtraModules
from tests.tools.calls import call
from tests.tools.code.conftest import Shelf


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
async def confined(ctx: ToolContext, root: Path) -> AsyncIterator[ToolContext]:
    sandbox = Sandbox()
    services = Services(**{ARTIFACTS: Shelf()})
    try:
        async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
            yield replace(
                ctx, bound_operations=workspace.operations, services=services, session_id="ses_1"
            )
    finally:
        await sandbox.close()


@pytest.mark.requirement("PYX-01", "PYX-14")
@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
async def test_a_result_tells_what_stood_around_the_code(confined: ToolContext, level: str):
    result = await call(execute_python, confined, code="print('a')\n6 * 7", strictness=level)
    assert (result.success, result.data["output"], result.data["value"]) == (True, "a\n", "42")
    assert result.data["sandbox"]["level"] == level
    assert "seccomp" in result.data["sandbox"]["layers"]


@pytest.mark.requirement("PYX-02")
@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
@pytest.mark.parametrize("code", ["pass", "\n    try: 1 / 0\n    except BaseException: pass"])
async def test_code_that_does_not_end_is_ended(
    confined: ToolContext, monkeypatch: pytest.MonkeyPatch, level: str, code: str
):
    monkeypatch.setitem(SECONDS, level, 1)
    code = f"print('on')\nwhile True: {code}"
    result = await call(execute_python, confined, code=code, strictness=level)
    assert (result.success, result.code) == (False, "timeout")
    assert result.error == f"Execution timeout (1s limit in '{level}' mode)"
    assert (result.data["output"], result.data["reason"]) == ("on\n", "timeout")


async def test_what_it_prints_comes_while_it_runs(confined: ToolContext, root: Path):
    code = (
        f"import os\nprint('first')\n"
        f"while not os.path.exists({str(root / 'go')!r}): pass\n"
        f"print('second')"
    )
    items: Any = execute_python.function(
        ExecutePythonArgs(code=code, strictness="lenient"), confined
    )
    assert inspect.isasyncgen(items)
    async with asyncio.timeout(60):
        assert await anext(items) == Output("first\n", "stdout")
        (root / "go").touch()
        rest: list[Any] = [item async for item in items]
    assert rest[0] == Output("second\n", "stdout")
    assert rest[-1].success is True


@pytest.mark.requirement("PYX-12")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os\nos._exit(7)", "The code exited with status 7"),
        (
            "import ctypes\nctypes.string_at(0)",
            "The code was stopped by SIGSEGV: the interpreter crashed",
        ),
        ("import os\nos.kill(os.getpid(), 9)", "The code was stopped by SIGKILL"),
        ("raise KeyError('k')", "KeyError: 'k'"),
    ],
)
async def test_however_the_process_goes_down_the_next_call_runs(
    confined: ToolContext, code: str, error: str
):
    result = await call(execute_python, confined, code=code, strictness="lenient")
    assert (result.success, result.code, result.error) == (False, "code_failed", error)
    assert (await call(execute_python, confined, code="1", strictness="lenient")).success


@pytest.mark.requirement("PYX-12")
@pytest.mark.parametrize("level", ["standard", "strict"])
async def test_too_much_memory_ends_the_code_and_nothing_else(confined: ToolContext, level: str):
    # In one step: to fill it piece by piece takes longer than the code has on a busy machine.
    code = "x = 'x' * 50_000_000 * 100"
    result = await call(execute_python, confined, code=code, strictness=level)
    assert (result.success, result.code) == (False, "code_memory")
    assert (await call(execute_python, confined, code="1", strictness=level)).success


@pytest.mark.requirement("PYX-12")
async def test_lenient_code_sees_nothing_of_the_services_environment(
    confined: ToolContext, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TOLLGATE_TOKEN_OF_THIS_TEST", "secret-value")
    code = "import os\nprint(dict(os.environ), open('/proc/self/environ').read())"
    result = await call(execute_python, confined, code=code, strictness="lenient")
    assert result.success is True
    assert "secret-value" not in result.data["output"]
    assert "TOLLGATE" not in result.data["output"]


@pytest.mark.requirement("PYX-12")
async def test_each_call_is_on_its_own(confined: ToolContext):
    await call(execute_python, confined, code="import json\njson.leaked = kept = 1")
    result = await call(execute_python, confined, code="import json\nhasattr(json, 'leaked')")
    assert result.data["value"] == "False"
    gone = await call(execute_python, confined, code="kept")
    assert gone.error == "NameError: name 'kept' is not defined"


async def test_files_and_images_that_lenient_code_leaves_are_kept(confined: ToolContext):
    code = (
        "import struct, zlib, os\n"
        "def chunk(kind, data):\n"
        "    crc = zlib.crc32(kind + data)\n"
        "    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', crc)\n"
        "head = struct.pack('>IIBBBBB', 1, 1, 8, 0, 0, 0, 0)\n"
        "png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head)\n"
        "png += chunk(b'IDAT', zlib.compress(b'\\0\\xff')) + chunk(b'IEND', b'')\n"
        "open('dot.png', 'wb').write(png)\n"
        "os.mkdir('out')\n"
        "open('out/data.csv', 'w').write('a,b\\n1,2\\n')\n"
        "os.symlink('/etc/passwd', 'out/link.txt')\n"
        "None"
    )
    result = await call(execute_python, confined, code=code, strictness="lenient")
    assert result.error is None
    assert [(file["name"], file["media_type"]) for file in result.data["files"]] == [
        ("out/data.csv", "text/csv"),
        ("dot.png", "image/png"),
    ]
    assert result.raw_result is not None
    assert [image["name"] for image in result.raw_result.data["images"]] == ["dot.png"]
    shelf = confined.services.require(ARTIFACTS, Shelf)
    assert [kept[0] for kept in shelf.kept.values()] == ["out/data.csv", "dot.png"]


@pytest.mark.requirement("PYX-09", "PYX-10")
@pytest.mark.parametrize("level", ["standard", "strict"])
async def test_an_extra_module_works_in_its_level_only(confined: ToolContext, level: str):
    extra = ExtraModules()
    extra.register(level, ["yaml"])
    confined.services.register(CODE_RULES, CodeRules("strict", extra))
    other = "strict" if level == "standard" else "standard"
    code = "import yaml\nyaml.safe_load('a: [1, 2.5]')"
    allowed = await call(execute_python, confined, code=code, strictness=level)
    refused = await call(execute_python, confined, code=code, strictness=other)
    assert (allowed.error, allowed.data["value"]) == (None, "{'a': [1, 2.5]}")
    assert str(refused.error).startswith("Blocked imports: yaml.")


@pytest.mark.requirement("PYX-06", "PYX-14")
async def test_code_too_long_to_be_read_before_is_refused_before_it_runs(confined: ToolContext):
    padding = "#" * 30_000
    blocked = await call(execute_python, confined, code=f"print('ran')\nimport os\n{padding}")
    broken = await call(execute_python, confined, code=f"print('ran')\nif\n{padding}")
    assert (blocked.success, blocked.data["output"]) == (False, "")
    assert str(blocked.error).startswith("Blocked imports: os. These modules are not allowed")
    assert (broken.success, broken.data["output"]) == (False, "")
    assert str(broken.error).startswith("Syntax error in code: invalid syntax (line 2)")


async def test_many_calls_at_once_all_end(confined: ToolContext):
    levels = ("strict", "standard", "lenient") * 6
    results = await asyncio.gather(
        *(
            call(execute_python, confined, code=f"print({number})\n{number}", strictness=level)
            for number, level in enumerate(levels)
        )
    )
    assert [result.data["value"] for result in results] == [str(n) for n in range(len(levels))]


@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
async def test_a_module_that_is_allowed_and_not_installed_says_what_to_do(
    confined: ToolContext, level: str
):
    extra = ExtraModules()
    for name in ("standard", "strict"):
        extra.register(name, ["no_such_package_of_ours"])
    confined.services.register(CODE_RULES, CodeRules("standard", extra))
    code = "import no_such_package_of_ours"
    result = await call(execute_python, confined, code=code, strictness=level)
    assert not result.success
    assert "pip install no_such_package_of_ours" in str(result.error)
    assert "code_execution.extra_allowed_modules" in str(result.error)


@pytest.mark.requirement("PYX-09")
@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
async def test_numpy_can_be_used_where_the_settings_allow_it(confined: ToolContext, level: str):
    allowed = {"standard": ["numpy", "pandas"], "strict": ["numpy"]}  # as config.example.yml has it
    extra = ExtraModules()
    for name, modules in allowed.items():
        extra.register(name, modules)
    confined.services.register(CODE_RULES, CodeRules("standard", extra))
    code = "import numpy as np\nint((np.arange(12).reshape(3, 4) @ np.ones((4, 2))).sum())"
    result = await call(execute_python, confined, code=code, strictness=level)
    assert (result.error, result.data["value"]) == (None, "132")
