"""The five layers of the product, as the import contract holds them."""

from __future__ import annotations

import tomllib

import pytest

from tests.support.source import ROOT

LAYERS = ("operations", "tools", "catalog", "governance", "resolver", "execution")


@pytest.mark.requirement("GOV-01")
def test_each_layer_may_import_only_what_lies_below_it():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    (contract,) = [each for each in contracts if each["type"] == "layers"]
    floor = {
        name.strip(): -level
        for level, names in enumerate(contract["layers"])
        for name in names.split("|")
    }
    heights = [floor[name] for name in LAYERS]
    assert heights == sorted(set(heights))
    assert contract["exhaustive"] is True
