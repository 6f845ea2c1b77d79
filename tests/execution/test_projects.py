"""Projects: stored, checked, changed under running calls, seen by other processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import Conflict, InvalidInput, NotFound, VersionMismatch
from app.execution.calls import CallRequest
from app.execution.project_roots import check_root
from tests.execution.lab import Lab, open_lab

BY: dict[str, Any] = {"actor": "ann"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "outer" / "site"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("inside", encoding="utf-8")
    (folder.parent / "b.txt").write_text("beside", encoding="utf-8")
    return folder


async def test_a_project_is_stored_found_again_and_on_record(settings: Settings, root: Path):
    async with open_lab(settings) as lab:
        made = await lab.runtime.projects.create("Site", str(root), **BY)
        (row,) = await lab.rows(
            "SELECT subject, detail FROM audit WHERE kind = 'governance.project'"
        )
        assert row[0] == made.id
        assert json.loads(row[1])["after"] == {
            "name": "Site",
            "root": str(root),
            "tcp_ports": [],
            "allowed_hosts": [],
            "unprotected_paths": [],
            "restrict_to_workspace": True,
        }
    async with open_lab(settings) as lab:
        assert lab.runtime.projects.about(made.id) == made
        assert lab.runtime.projects.get(made.id).root == str(root)


@pytest.mark.requirement("B-15")
async def test_tools_stay_in_the_root_until_an_administrator_widens_it(house: Lab, root: Path):
    projects = house.runtime.projects
    made = await projects.create("Site", str(root), **BY)

    async def read(path: str) -> str:
        outcomes = await house.run(*[_read(path)], project=projects.get(made.id), cacheable=False)
        return outcomes[0].status

    assert await read("a.txt") == "success"
    assert await read(str(root.parent / "b.txt")) == "error"
    await projects.change(made.id, {"root": str(root.parent)}, **BY)
    assert await read(str(root.parent / "b.txt")) == "success"


def _read(path: str):
    return CallRequest("c1", "read_file", {"path": path})


async def test_a_change_of_an_outdated_version_is_refused(house: Lab, root: Path):
    projects = house.runtime.projects
    made = await projects.create("Site", str(root), **BY)
    assert (await projects.change(made.id, {"name": "New"}, **BY, expected=1)).version == 2
    with pytest.raises(VersionMismatch):
        await projects.change(made.id, {"name": "Newer"}, **BY, expected=1)
    with pytest.raises(VersionMismatch):
        await projects.remove(made.id, **BY, expected=1)


async def test_a_removed_project_is_gone_and_its_folder_stays(house: Lab, root: Path):
    projects = house.runtime.projects
    made = await projects.create("Site", str(root), **BY)
    projects.get(made.id)
    await projects.remove(made.id, **BY)
    with pytest.raises(NotFound):
        projects.get(made.id)
    assert (root / "a.txt").exists()


async def test_the_project_of_the_settings_is_changed_there(house: Lab):
    with pytest.raises(Conflict, match="TOLLGATE_WORKSPACE"):
        await house.runtime.projects.change("default", {"name": "x"}, **BY)
    with pytest.raises(Conflict, match="allowed_hosts can be changed"):
        await house.runtime.projects.remove("default", **BY)


async def test_hosts_of_the_project_of_the_settings_are_changed_here(settings: Settings):
    async with open_lab(settings) as lab:
        before = lab.runtime.projects.about("default")
        first = lab.runtime.projects.get("default")
        changed = await lab.runtime.projects.change(
            "default", {"allowed_hosts": ("a.example",)}, **BY, expected=before.version
        )
        assert lab.runtime.projects.get("default") is not first
        with pytest.raises(VersionMismatch):
            await lab.runtime.projects.change(
                "default", {"allowed_hosts": ()}, **BY, expected=before.version
            )
    async with open_lab(settings) as lab:
        found = lab.runtime.projects.about("default")
        assert lab.runtime.projects.list_all() == [found]
        await lab.runtime.projects.change("default", {"allowed_hosts": ("b.example",)}, **BY)
        again = lab.runtime.projects.about("default")
    assert (found.allowed_hosts, found.from_settings, found.version) == (("a.example",), True, 1)
    assert (found.root, found.updated_at) == (before.root, changed.updated_at)
    assert (again.allowed_hosts, again.version) == (("b.example",), 2)


async def test_allowed_hosts_are_stored_and_found_again(settings: Settings, root: Path):
    hosts = ("github.com:22,443", "*.example.com", "preset:python")
    async with open_lab(settings) as lab:
        made = await lab.runtime.projects.create("Site", str(root), allowed_hosts=hosts, **BY)
    async with open_lab(settings) as lab:
        assert lab.runtime.projects.about(made.id).allowed_hosts == hosts
        changed = await lab.runtime.projects.change(made.id, {"allowed_hosts": hosts[:1]}, **BY)
        assert changed.allowed_hosts == hosts[:1]
        rows = await lab.rows("SELECT detail FROM audit WHERE kind = 'governance.project'")
    noted = json.loads(rows[-1][0])
    assert noted["before"] == {"allowed_hosts": list(hosts)}
    assert noted["after"] == {"allowed_hosts": ["github.com:22,443"]}


async def test_other_hosts_open_the_workspace_again(house: Lab, root: Path):
    projects = house.runtime.projects
    made = await projects.create("Site", str(root), **BY)
    opened = projects.get(made.id)
    await projects.change(made.id, {"name": "New"}, **BY)
    assert projects.get(made.id) is opened
    await projects.change(made.id, {"allowed_hosts": ("github.com",)}, **BY)
    assert projects.get(made.id) is not opened


async def test_a_project_lists_hosts_or_ports_and_never_both(house: Lab, root: Path):
    projects = house.runtime.projects
    hosts, ports = ("github.com",), (443,)
    with pytest.raises(InvalidInput, match=r"allowed_hosts .* tcp_ports"):
        await projects.create("Site", str(root), tcp_ports=ports, allowed_hosts=hosts, **BY)
    made = await projects.create("Site", str(root), tcp_ports=ports, **BY)
    with pytest.raises(InvalidInput, match=r"allowed_hosts .* tcp_ports"):
        await projects.change(made.id, {"allowed_hosts": hosts}, **BY)
    assert projects.about(made.id) == made
    moved = await projects.change(made.id, {"allowed_hosts": hosts, "tcp_ports": ()}, **BY)
    assert (moved.tcp_ports, moved.allowed_hosts) == ((), ("github.com",))


async def test_another_process_s_project_is_seen_with_the_next_look(settings: Settings, root: Path):
    async with open_lab(settings) as here, open_lab(settings) as there:
        made = await there.runtime.projects.create("Site", str(root), **BY)
        await here.runtime.changes.poll()
        assert here.runtime.projects.get(made.id).root == str(root)
        await there.runtime.projects.change(made.id, {"root": str(root.parent)}, **BY)
        await here.runtime.changes.poll()
        assert here.runtime.projects.get(made.id).root == str(root.parent)


@pytest.mark.parametrize(
    ("root", "reported"),
    [
        ("relative", "absolute"),
        ("", "absolute"),
        ("/no/such/folder", "exist"),
        ("/etc/hostname\0", "absolute"),
        ("/", "a system folder"),
        ("/etc", "operating system"),
        ("/proc/self", "operating system"),
        ("/home", "a system folder"),
    ],
)
def test_a_root_that_can_hardly_be_meant_is_refused(tmp_path: Path, root: str, reported: str):
    with pytest.raises(InvalidInput, match=reported):
        check_root(root, data_dir=tmp_path, workspace=tmp_path / "workspace", force=False)


def test_the_service_s_own_folder_is_never_a_root_its_workspace_may_be(tmp_path: Path):
    data, workspace = tmp_path / "data", tmp_path / "data" / "workspace"
    (workspace / "sub").mkdir(parents=True)
    (data / "artifacts").mkdir()
    (tmp_path / "link").symlink_to(data / "artifacts")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for bad in (data, data / "artifacts", tmp_path / "link"):
        with pytest.raises(InvalidInput, match="own data folder"):
            check_root(str(bad), data_dir=data, workspace=workspace, force=True)
    with pytest.raises(InvalidInput, match="not a folder"):
        check_root(str(tmp_path / "file"), data_dir=data, workspace=workspace, force=True)
    inside = str(workspace / "sub")
    assert check_root(inside, data_dir=data, workspace=workspace, force=False) == Path(inside)


def test_what_is_dangerous_and_meant_is_done(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    with pytest.raises(InvalidInput, match="contains the service's own data"):
        check_root(str(tmp_path), data_dir=data, workspace=data / "workspace", force=False)
    assert check_root(str(tmp_path), data_dir=data, workspace=data, force=True) == tmp_path
    assert check_root("/", data_dir=data, workspace=data, force=True) == Path("/")
