"""Extra modules: from the settings, and registered by code."""

from __future__ import annotations

import pytest

from app.catalog import seed_api
from app.config.sections import CodeExecutionSettings
from app.core.errors import ConfigurationError
from app.tools.code import modules
from app.tools.code.modules import CodeRules, ExtraModules


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> ExtraModules:
    """A process in which nothing was registered yet."""
    fresh = ExtraModules()
    monkeypatch.setattr(modules, "REGISTERED", fresh)
    return fresh


@pytest.mark.requirement("PYX-10")
def test_what_a_plugin_registers_counts_for_that_level_only(registered: ExtraModules):
    seed_api.register_extra_modules("standard", {"numpy", "pandas"})
    seed_api.register_extra_modules("strict", {"numpy"})
    rules = CodeRules(registered=registered)
    assert rules.extra_modules("standard") == {"numpy", "pandas"}
    assert rules.extra_modules("strict") == {"numpy"}
    assert rules.extra_modules("lenient") == set()


@pytest.mark.requirement("PYX-10")
def test_registering_for_lenient_does_nothing_and_for_no_level_is_an_error(
    registered: ExtraModules,
):
    seed_api.register_extra_modules("lenient", {"numpy"})
    assert registered.of("lenient") == set()
    with pytest.raises(ValueError, match="'loose' must be one of lenient, standard, strict"):
        seed_api.register_extra_modules("loose", {"numpy"})


def test_rules_see_what_is_registered_after_they_were_made():
    assert CodeRules().registered is modules.REGISTERED


@pytest.mark.parametrize("name", ["", "a b", "a.", "os;import sys", "é", "a" * 201, 3])
def test_what_is_no_modules_name_is_refused_and_nothing_is_added(name: object):
    extra = ExtraModules()
    with pytest.raises(ValueError, match="is not a valid module name"):
        extra.register("standard", ["fine", name])  # type: ignore[list-item]
    assert extra.of("standard") == set()


def test_a_single_text_is_no_set_of_names():
    with pytest.raises(TypeError, match="not the text 'numpy'"):
        ExtraModules().register("standard", "numpy")


def test_there_is_an_end_to_extra_modules():
    with pytest.raises(ValueError, match="more than 1000 extra modules for 'strict'"):
        ExtraModules().register("strict", [f"m{number}" for number in range(1_001)])


@pytest.mark.requirement("PYX-09")
def test_the_settings_name_the_default_level_and_extra_modules():
    settings = CodeExecutionSettings(
        default_strictness="strict",
        extra_allowed_modules={"standard": ["numpy", "pandas"], "strict": ["numpy"]},
    )
    rules = CodeRules.of(settings)
    assert rules.default == "strict"
    assert rules.extra_modules("standard") >= {"numpy", "pandas"}
    assert "pandas" not in rules.extra_modules("strict")


def test_a_wrong_name_in_the_settings_is_an_error_that_names_the_field():
    settings = CodeExecutionSettings(extra_allowed_modules={"strict": ["not this"]})
    with pytest.raises(
        ConfigurationError, match=r"code_execution\.extra_allowed_modules\.strict: 'not this'"
    ):
        CodeRules.of(settings)
