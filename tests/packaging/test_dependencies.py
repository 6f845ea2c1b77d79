"""What is installed, why, and under which version."""

import re
import tomllib
from typing import Any

import app
from tests.support.source import ROOT

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared: dict[str, Any] = tomllib.load(file)["project"]
    return declared


def names(requirements: list[str]) -> set[str]:
    return {found[0] for found in map(NAME.match, requirements) if found}


def explained() -> dict[str, str]:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|$", text, re.MULTILINE))


def test_every_direct_dependency_has_its_reason_and_no_other_has_one():
    declared = project()
    asked = names(declared["dependencies"])
    for extra in declared["optional-dependencies"].values():
        asked |= names(extra)
    assert explained().keys() == asked


def test_every_direct_dependency_is_locked():
    lock = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", lock, re.MULTILINE))
    assert explained().keys() - locked == set()


def test_the_package_and_the_image_carry_the_version_of_the_project():
    version = project()["version"]
    assert app.__version__ == version
    assert f"image: tollgate:{version}" in (ROOT / "compose.yaml").read_text(encoding="utf-8")
