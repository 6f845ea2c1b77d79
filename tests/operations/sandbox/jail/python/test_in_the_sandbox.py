"""The same code behind the real walls: everything allowed works, and digging leads nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.operations.protocols.code import CodeExit, CodeSpec, Strictness
from app.operations.protocols.operations import Operations
from app.operations.sandbox.jail.python.check import check
from app.operations.sandbox.jail.python.levels import STANDARD_MODULES, STRICT_MODULES, absent
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.sandbox.jail.python.conftest import Python
from tests.operations.sandbox.jail.python.uses import STRICT_USES, USES

SECRET = "the-secret-of-the-service"


@asynccontextmanager
async def confined(root: Path) -> AsyncIterator[Operations]:
    sandbox = Sandbox()
    try:
        async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
            yield workspace.operations
    finally:
        await sandbox.close()


@pytest.fixture
async def operations(tmp_path: Path) -> AsyncIterator[Operations]:
    (tmp_path / "ws").mkdir()
    async with confined(tmp_path / "ws") as operations:
        yield operations


async def run(
    operations: Operations, code: str, level: Strictness = "standard"
) -> tuple[str, CodeExit]:
    """What it printed to both streams, and how it ended."""
    async with operations.code.open(CodeSpec(code, level, 10)) as running:
        printed = b"".join([chunk.data async for chunk in running.output()])
        return printed.decode(), await running.wait()


@pytest.mark.requirement("PYX-04", "PYX-05", "F-1")
@pytest.mark.parametrize(
    ("level", "modules"), [("standard", STANDARD_MODULES), ("strict", STRICT_MODULES)]
)
async def test_every_listed_module_works_behind_the_walls(
    operations: Operations, level: Strictness, modules: tuple[str, ...]
):
    wrong = {}
    for module in modules:
        if absent(module) is not None:
            continue
        strict = STRICT_USES.get(module) if level == "strict" else None
        use, value = strict or USES[module]
        _, ended = await run(operations, f"import {module}\n{use}", level)
        if (ended.exit.code, ended.value or "None") != (0, value):
            wrong[module] = ended
    assert wrong == {}


@pytest.mark.requirement("PYX-11", "F-2")
async def test_the_examples_of_the_seed_behind_the_walls(operations: Operations):
    default = await run(operations, "import json; print(json.dumps({'key': 'value'}))")
    lenient = await run(operations, "import os; print(os.getcwd())", "lenient")
    strict = await run(operations, "result = sum([1, 2, 3, 4, 5]); print(result)", "strict")
    assert (default[0], strict[0]) == ('{"key": "value"}\n', "15\n")
    assert Path(lenient[0].strip()).is_absolute()
    assert {ended.exit.code for _, ended in (default, lenient, strict)} == {0}


REACH = """
def reach(system):
    for attempt in (
        lambda: system.system("echo ran > {mark}"),
        lambda: system.write(system.open("{mark}", 0o101, 0o600), b"written"),
        lambda: print(system.read(system.open("{secret}", 0), 100)),
        lambda: print(system.listdir("{root}")),
        lambda: print(system.popen("cat {secret}").read()),
    ):
        try:
            attempt()
        except BaseException as error:
            print(error)
    print("reached")
"""
PROBES = {
    "subclasses": (
        "for kind in ().__class__.__base__.__subclasses__():\n"
        "    if kind.__name__ == '_wrap_close':\n"
        "        names = kind.__init__.__globals__\n"
        "class System: pass\n"
        "system = System()\n"
        "system.__dict__.update(names)\n"
        "reach(system)"
    ),
    "a module's own import": "import contextlib\nreach(contextlib.os)",
    "modules of a module": "import enum\nreach(enum.sys.modules['os'])",
    "the real builtins": "reach(print.__self__.__import__('os'))",
    "a private import": "import random\nreach(random.SystemRandom.__init__.__globals__['_os'])",
    "frames": (
        "try:\n"
        "    1 / 0\n"
        "except ZeroDivisionError as error:\n"
        "    frame = error.__traceback__.tb_frame\n"
        "while frame and 'sys' not in frame.f_globals:\n"
        "    frame = frame.f_back\n"
        "reach(frame.f_globals['sys'].modules['os'])"
    ),
    "attributes by name": (
        "import functools, operator\n"
        "reach(operator.attrgetter('__globals__')(functools.singledispatch)['recursive_repr']"
        ".__globals__['__builtins__']['__import__']('os'))"
    ),
}


def probe(name: str, root: Path) -> str:
    places = {"mark": root / "mark", "secret": root / "secret.txt", "root": root}
    reach = REACH.replace("{", "{{").replace("}", "}}")
    for place in places:
        reach = reach.replace(f"{{{{{place}}}}}", f"{{{place}}}")
    return reach.format(**places) + PROBES[name]


def furnished(root: Path) -> Path:
    root.mkdir()
    (root / "secret.txt").write_text(SECRET)
    return root


@pytest.mark.requirement("F-3")
@pytest.mark.parametrize("name", PROBES)
def test_a_probe_reaches_the_system_where_only_the_lists_stand_in_its_way(
    python: Python, tmp_path: Path, name: str
):
    root = furnished(tmp_path / "ws")
    ran = python(probe(name, root), "strict")
    assert "reached" in ran.stdout
    assert SECRET in ran.stdout
    assert (root / "mark").exists()


@pytest.mark.requirement("F-3", "PYX-13")
@pytest.mark.parametrize("level", ["standard", "strict"])
@pytest.mark.parametrize("name", PROBES)
async def test_behind_the_walls_a_probe_reaches_nothing(
    tmp_path: Path, name: str, level: Strictness
):
    root = furnished(tmp_path / "ws")
    code = probe(name, root)
    assert check(code, level) is None
    async with confined(root) as operations:
        printed, ended = await run(operations, code, level)
    assert "reached" in printed or ended.exit.signal is not None
    assert SECRET not in printed
    assert not (root / "mark").exists()
