"""What the guard says of each statement of the verdict tables."""

from collections import Counter

import pytest

from app.knowledge.sources.guard.check import check
from app.knowledge.sources.guard.model import SqlRefused
from tests.knowledge.sources.guard.shop import access
from tests.knowledge.sources.guard.verdicts import ALLOWED, LIMIT, REFUSED, Verdict, name


@pytest.mark.requirement("SQL-04", "SQL-05", "SQL-06", "SQL-11", "D-30")
@pytest.mark.parametrize("case", REFUSED, ids=name)
def test_a_statement_that_must_not_run_is_refused_with_its_reason(case: Verdict):
    with pytest.raises(SqlRefused) as refusal:
        check(case.sql, access(case.dialect), LIMIT)
    assert refusal.value.details["code"] == case.refused
    assert refusal.value.message.endswith(".")


@pytest.mark.requirement("SQL-03", "SQL-04", "SQL-05", "SQL-07", "SQL-11")
@pytest.mark.parametrize("case", ALLOWED, ids=name)
def test_a_statement_that_may_run_is_written_again(case: Verdict):
    assert check(case.sql, access(case.dialect), LIMIT).sql == case.runs


@pytest.mark.parametrize("case", ALLOWED, ids=name)
def test_what_the_guard_wrote_passes_it_again_unchanged(case: Verdict):
    assert case.runs is not None
    assert check(case.runs, access(case.dialect), LIMIT).sql == case.runs


@pytest.mark.requirement("SQL-11")
def test_the_tables_are_as_long_as_promised_and_say_nothing_twice():
    assert len(REFUSED) >= 90
    assert len(REFUSED) + len(ALLOWED) >= 150
    seen = Counter((one.dialect, one.sql) for one in (*REFUSED, *ALLOWED))
    assert [case for case, count in seen.items() if count > 1] == []
