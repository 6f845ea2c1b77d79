"""What is installed, why, and under which version."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from packaging.requirements import Requirement

import app
from tests.support.source import ROOT

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


LOCKS = ("dev", "docs", "parts", "node", "peers")


def declarations() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def project() -> dict[str, Any]:
    declared: dict[str, Any] = declarations()["project"]
    return declared


def names(requirements: list[str]) -> set[str]:
    return {found[0] for found in map(NAME.match, requirements) if found}


def explained() -> dict[str, str]:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|$", text, re.MULTILINE))


def test_every_direct_dependency_has_its_reason_and_no_other_has_one():
    declared = project()
    asked = names(declared["dependencies"])
    groups = declarations()["dependency-groups"]
    for extra in (*declared["optional-dependencies"].values(), *groups.values()):
        asked |= names(extra)
    assert explained().keys() == asked


def test_every_direct_dependency_is_locked():
    locks = [(ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in LOCKS]
    lock = "\n".join(locks)
    locked = set(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", lock, re.MULTILINE))
    assert explained().keys() - locked == set()


def test_what_runs_has_the_clients_of_both_kinds_of_models():
    lock = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    assert {"anthropic", "openai"} <= set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))


def unmet(requirement: Requirement, seen: set[str]) -> list[str]:
    """What is not installed of a requirement and of all that follows from it."""
    extras = {"", *requirement.extras}
    if (key := f"{requirement.name}{sorted(extras)}") in seen:
        return []
    seen.add(key)
    try:
        found = distribution(requirement.name)
    except PackageNotFoundError:
        return [f"{requirement}: missing"]
    fits = requirement.specifier.contains(found.version, prereleases=True)
    missing = [] if fits else [f"{requirement}: {found.version}"]
    for wanted in map(Requirement, found.requires or []):
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": x}) for x in extras):
            missing += unmet(wanted, seen)
    return missing


def test_the_locks_hold_all_that_the_locked_packages_need():
    """They are installed as they stand: nothing is resolved that they might have left out."""
    seen: set[str] = set()
    assert unmet(Requirement("tollgate[dev]"), seen) == []
    assert len(seen) > 60


def test_the_package_and_the_image_carry_the_version_of_the_project():
    version = project()["version"]
    assert app.__version__ == version
    assert f"image: tollgate:{version}" in (ROOT / "compose.yaml").read_text(encoding="utf-8")
