"""The contract and the tests agree."""

from tests.requirements.manifest import REQUIREMENTS, Gaps, gaps
from tests.requirements.model import Requirement
from tests.requirements.open import OPEN, PARTLY
from tests.requirements.pages import proven_by_scenes
from tests.requirements.report import render

NOTHING = Gaps(unknown=(), unproven=(), open_but_tested=())


def test_every_requirement_is_tested_or_open_and_no_mark_is_unknown(
    tested_requirements, whole_suite
):
    elsewhere = set() if whole_suite else {item.id for item in REQUIREMENTS} - OPEN.keys()
    assert gaps(REQUIREMENTS, OPEN, tested_requirements | elsewhere) == NOTHING


def test_what_is_proven_in_part_is_a_line_of_the_contract_that_is_not_open():
    assert PARTLY.keys() <= {item.id for item in REQUIREMENTS} - OPEN.keys()


def test_no_id_stands_twice_and_every_line_is_a_sentence():
    ids = [item.id for item in REQUIREMENTS]
    assert len(set(ids)) == len(ids)
    assert [item.id for item in REQUIREMENTS if not item.text.endswith(".")] == []


def test_an_unknown_mark_an_unproven_line_and_a_proven_open_one_are_gaps():
    lines = [Requirement(f"AAA-0{number}", "card", "It holds.") for number in (1, 2, 3, 4)]
    found = gaps(lines, {"AAA-02": "gate", "AAA-03": "gate"}, {"AAA-01", "AAA-02", "ZZZ-01"})
    assert found == Gaps(unknown=("ZZZ-01",), unproven=("AAA-04",), open_but_tested=("AAA-02",))


def test_a_scene_in_a_browser_proves_the_lines_in_its_title(tmp_path):
    (tmp_path / "a.test.mjs").write_text(
        'test("[AAA-01, AAA-02] it is seen", LIMIT, () =>\n  // [AAA-03] is not a title\n'
    )
    (tmp_path / "harness.mjs").write_text('test("[AAA-04] no scene", () => {})\n')
    assert proven_by_scenes(tmp_path) == {"AAA-01", "AAA-02"}


def test_the_report_names_what_is_neither_tested_nor_open():
    table = render({item.id for item in REQUIREMENTS} - OPEN.keys() - {"EXE-05"})
    row = next(line for line in table.splitlines() if line.startswith("EXE"))
    assert row.split() == ["EXE", "13", "12", "0", "EXE-05"]
