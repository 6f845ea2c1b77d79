"""Zygotes as this user and as an ordinary one, and workspaces both may write in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.sandbox.jail.inside import GUARD, NAMESPACES, ORDINARY, Inside

WHO = ["self", "ordinary"] if os.geteuid() == 0 else ["self"]


@pytest.fixture(scope="session")
def zygotes() -> Iterator[dict[str, Inside]]:
    made = {who: Inside(None if who == "self" else ORDINARY) for who in WHO}
    yield made
    for one in made.values():
        one.close()


@pytest.fixture(params=WHO)
def inside(zygotes: dict[str, Inside], request: pytest.FixtureRequest) -> Inside:
    """A zygote as root where tests run as root, and as an ordinary user."""
    return zygotes[request.param]


@pytest.fixture(params=[NAMESPACES, GUARD], ids=["namespaces", "guard"])
def layers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """With namespaces, and as where a container forbids them."""
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture
def world(inside: Inside) -> Iterator[Path]:
    """A folder of the zygote's user: `root` is the workspace, the rest is outside of it."""
    folder = Path(tempfile.mkdtemp(prefix="world-"))
    (folder / "root").mkdir()
    secret = folder / "secret"
    secret.write_text("topsecret")
    for one in (folder, folder / "root", secret):
        if inside.uid is not None:
            os.chown(one, inside.uid, inside.uid)
        one.chmod(0o777 if one.is_dir() else 0o666)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def root(world: Path) -> Path:
    """The workspace."""
    return world / "root"
