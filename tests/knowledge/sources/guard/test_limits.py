"""How many rows come back, how long and deep a statement may be."""

import pytest

from app.knowledge.sources.guard.check import MAX_CHARACTERS, MAX_LIMIT, check, sample
from app.knowledge.sources.guard.model import (
    Column,
    Dialect,
    Guarded,
    SqlRefused,
    TableAccess,
    TableSchema,
)
from tests.knowledge.sources.guard.shop import access

DIALECTS: tuple[Dialect, ...] = ("mysql", "postgres", "sqlite")


def reason(sql: str, dialect: Dialect = "mysql") -> str:
    with pytest.raises(SqlRefused) as refusal:
        check(sql, access(dialect), 10)
    return str(refusal.value.details["code"])


@pytest.mark.requirement("SQL-07")
@pytest.mark.parametrize(
    ("tail", "fetches"),
    [("", 11), ("LIMIT 3", 3), ("LIMIT 11", 11), ("LIMIT 5000", 11), ("LIMIT 7, 3", 3)],
)
def test_the_database_itself_stops_one_row_after_the_limit(tail: str, fetches: int):
    guarded = check(f"SELECT id FROM orders {tail}", access("mysql"), 10)
    assert (guarded.limit, guarded.fetches) == (10, fetches)
    assert f"LIMIT {fetches}" in guarded.sql


def test_a_caller_that_asks_for_no_rows_or_too_many_has_made_a_mistake():
    for limit in (0, MAX_LIMIT + 1):
        with pytest.raises(ValueError, match="limit"):
            check("SELECT 1", access("mysql"), limit)


def test_the_answer_names_the_tables_and_columns_that_come_back():
    guarded = check(
        "SELECT u.tenantid, COUNT(*), MAX(o.total) AS best FROM users u JOIN orders o"
        " ON o.userid = u.id GROUP BY u.tenantid",
        access("mysql"),
        10,
    )
    assert guarded.tables == ("store.orders", "store.users")
    assert guarded.columns == ("tenantId", "COUNT(*)", "best")


def test_a_cte_is_no_table_that_is_read():
    guarded = check("WITH x AS (SELECT 1 AS a) SELECT a FROM x", access("mysql"), 10)
    assert guarded == Guarded(
        sql="WITH `x` AS (SELECT 1 AS `a`) SELECT `x`.`a` FROM `x` AS `x` LIMIT 11",
        tables=(),
        columns=("a",),
        limit=10,
        fetches=11,
    )


@pytest.mark.requirement("SQL-03")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_sample_has_the_unmasked_columns_in_the_database_s_own_spelling(dialect: Dialect):
    assert sample(access(dialect), "USERS", None, 3).columns == (
        *("id", "name", "tenantId", "createdAt"),
    )
    chosen = sample(access(dialect), "orders", ["TENANTID", "id"], 3)
    assert (chosen.columns, chosen.fetches) == (("tenantId", "id"), 3)


@pytest.mark.requirement("SQL-03")
@pytest.mark.parametrize(
    ("table", "columns", "code"),
    [
        ("users", ["email"], "masked_column"),
        ("users", ["id` FROM secrets -- "], "unknown_column"),
        ("users", [], "unknown_column"),
        ("secrets", None, "unauthorised_table"),
        ("users` JOIN `secrets", None, "unauthorised_table"),
        ("mysql.user", None, "system_table"),
        ("vault", None, "masked_column"),
        ("", None, "forbidden_syntax"),
    ],
)
def test_a_sample_is_no_way_around_the_guard(table: str, columns: list[str] | None, code: str):
    with pytest.raises(SqlRefused) as refusal:
        sample(access("mysql"), table, columns, 3)
    assert refusal.value.details["code"] == code


def test_a_long_statement_is_refused_before_it_is_read():
    assert reason("SELECT '" + "a" * MAX_CHARACTERS + "'") == "too_long"
    assert reason("SELECT 1" + ", 1" * 3_000) == "too_long"


@pytest.mark.parametrize("step", ["SELECT x.*, x.* FROM {0} x", "SELECT * FROM {0} x, {0} y"])
def test_stars_that_double_their_columns_at_every_step_come_to_an_end(step: str):
    """Twenty steps would write a million columns."""
    ctes = ["a0 AS (SELECT * FROM orders)"]
    ctes += [f"a{number + 1} AS ({step.format(f'a{number}')})" for number in range(20)]
    assert reason(f"WITH {', '.join(ctes)} SELECT 1 FROM a20") == "too_long"


def test_tables_with_masked_columns_are_written_out_so_often_and_no_more():
    joined = " ".join(f", users u{number}" for number in range(900))
    with pytest.raises(SqlRefused, match="columns in total"):
        check(f"SELECT 1 FROM users {joined}", access("mysql"), 10)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"),
        ("ABS(", ")"),
        ("(SELECT ", ")"),
        ("CASE WHEN 1 THEN ", " END"),
        ("CAST(", " AS CHAR)"),
        ("COALESCE(1, ", ")"),
    ],
)
def test_deep_nesting_is_refused_and_breaks_nothing(dialect: Dialect, opening: str, closing: str):
    assert check("SELECT " + opening * 20 + "1" + closing * 20, access(dialect), 10).fetches == 11
    assert reason("SELECT " + opening * 400 + "1" + closing * 400, dialect) == "too_deep"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "NOT " * 3_000 + "1",
        "SELECT " + "- " * 3_000 + "1",
        "SELECT 1" + "+1" * 1_900,
        "SELECT 1" + " UNION SELECT 1" * 1_000,
        "SELECT 1" + " COLLATE x" * 1_900,
        "SELECT 1" + " IS NOT 1" * 1_200,
        "SELECT ARRAY" + "[1]" * 1_000,
    ],
    ids=lambda sql: sql[:24],
)
def test_a_long_chain_is_refused_and_breaks_nothing(sql: str):
    assert reason(sql) == "too_deep"


def test_a_long_list_and_a_long_chain_of_conditions_are_fine():
    for sql in (
        "SELECT id FROM orders WHERE id IN (" + "1," * 1_500 + "2)",
        "SELECT id FROM orders WHERE id = 1" + " OR id = 2" * 800,
    ):
        assert check(sql, access("mysql"), 10).tables == ("store.orders",)


def test_two_names_that_differ_in_case_need_their_exact_spelling():
    columns = (Column("Value"), Column("value", masked=True))
    twice = TableAccess(
        "mysql",
        "store",
        (
            TableSchema("store", "t", columns),
            TableSchema("store", "Logs", (Column("id"),)),
            TableSchema("store", "logs", (Column("id"),)),
        ),
    )
    assert check("SELECT Value FROM t", twice, 5).sql.startswith("SELECT `t`.`Value`")
    assert check("SELECT id FROM Logs", twice, 5).tables == ("store.Logs",)
    for sql, code in (
        ("SELECT value FROM t", "masked_column"),
        ("SELECT VALUE FROM t", "ambiguous_column"),
        ("SELECT id FROM LOGS", "unauthorised_table"),
    ):
        with pytest.raises(SqlRefused) as refusal:
            check(sql, twice, 5)
        assert refusal.value.details["code"] == code


def test_another_schema_is_read_only_when_it_is_authorised():
    both = TableAccess(
        "mysql",
        "store",
        (
            TableSchema("store", "users", (Column("id"),)),
            TableSchema("crm", "leads", (Column("id"), Column("phone", masked=True))),
        ),
    )
    guarded = check("SELECT l.* FROM crm.leads l JOIN users u ON u.id = l.id", both, 5)
    assert guarded.tables == ("crm.leads", "store.users")
    assert guarded.columns == ("id",)
    with pytest.raises(SqlRefused):
        check("SELECT * FROM leads", both, 5)


def test_a_refusal_says_what_there_is_instead():
    with pytest.raises(SqlRefused, match="'id', 'name', 'tenantId', 'createdAt'") as refusal:
        check("SELECT nmae FROM users", access("mysql"), 5)
    assert refusal.value.details == {"code": "unknown_column", "where": "nmae"}
    assert "email" not in refusal.value.message
