"""The locks: hashed, complete, and silent about where packages come from."""

import json
import re

import pytest

from tests.support.source import ROOT, project_files

PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>\S+)", re.MULTILINE)
ENTRY = re.compile(r"^[A-Za-z0-9](?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
LOCKS = ("build", "dev", "docs", "node", "parts", "peers", "runtime")


def lock_text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    return {found["name"]: found["version"] for found in PIN.finditer(lock_text(name))}


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_a_version_and_a_hash(name):
    entries = ENTRY.findall(lock_text(name))
    loose = [entry for entry in entries if not PIN.match(entry) or "--hash=sha256:" not in entry]
    assert entries
    assert loose == []


@pytest.mark.parametrize("name", LOCKS)
def test_a_python_lock_names_no_address_and_no_index(name):
    lines = [line for line in lock_text(name).splitlines() if not line.strip().startswith("#")]
    assert [line for line in lines if "://" in line or re.match(r"--(?!hash)|-[fi] ", line)] == []


@pytest.mark.parametrize("name", ["build", "docs", "node", "parts", "runtime"])
def test_the_locks_agree_on_the_versions_they_share(name):
    ours, dev = pins(name), pins("dev")
    shared = ours.keys() & dev.keys()
    assert {key: ours[key] for key in shared} == {key: dev[key] for key in shared}


def test_the_development_lock_holds_everything_that_runs():
    assert pins("runtime").keys() - pins("dev").keys() == set()


def test_javascript_locks_hold_digests_and_no_addresses():
    locks = [path for path in project_files() if path.name == "package-lock.json"]
    packages = [
        (path.parent.name, name, package)
        for path in locks
        for name, package in json.loads(path.read_text(encoding="utf-8"))["packages"].items()
        if name and not package.get("link")
    ]
    assert packages
    assert [entry[:2] for entry in packages if "resolved" in entry[2]] == []
    assert [entry[:2] for entry in packages if "integrity" not in entry[2]] == []
