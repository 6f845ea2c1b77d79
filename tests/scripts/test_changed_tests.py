"""Which tests belong to what was changed."""

import pytest

from scripts.changed_tests import chosen_tests, imports_of_tests
from tests.support.source import ROOT

IMPORTS = {
    "tests/core/test_ids.py": {"app.core.ids"},
    "tests/core/test_clock.py": {"app.core.clock", "app.core.clock.Clock"},
    "tests/agents/office.py": {"app.agents.runs", "app.core.ids"},
    "tests/agents/test_runs.py": {"tests.agents.office"},
}


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        (["tests/core/test_ids.py"], ["tests/core/test_ids.py"]),
        (["tests/agents/office.py"], ["tests/agents/test_runs.py"]),
        (["app/agents/session_queries.py"], ["tests/agents/test_runs.py"]),
        (
            ["app/core/ids.py"],
            ["tests/agents/test_runs.py", "tests/core/test_clock.py", "tests/core/test_ids.py"],
        ),
        (["app/main.py"], []),
        (["docs/sandbox.md"], ["tests/docs/test_pages.py"]),
        (
            ["docs/contributing/tool.md"],
            ["tests/docs/test_contributing.py", "tests/docs/test_pages.py"],
        ),
        (["changelog.d/+x.fixed.md"], ["tests/docs/test_changelog.py"]),
    ],
)
def test_what_was_changed_leads_to_its_tests(changed, chosen):
    assert chosen_tests(changed, IMPORTS) == chosen


def test_the_rules_of_the_house_are_among_them():
    rules = "tests/architecture/test_names.py"

    assert rules in chosen_tests(["app/core/clock.py"], {**IMPORTS, rules: set()})
    assert chosen_tests(["app/main.py"], {**IMPORTS, rules: set()}) == []


def test_the_imports_of_the_tests_themselves_are_read():
    assert "scripts.changed_tests" in imports_of_tests(ROOT)["tests/scripts/test_changed_tests.py"]
