"""Random statements: allowed pieces put together, with a hole for one more expression."""

from hypothesis import strategies as st

COLUMNS = ("name", "tenantId", "u.id", "u.name", "u.tenantid", "U.CREATEDAT")
MASKED = ("email", "ssn", "u.email", "u.ssn", "EMAIL", "U.Ssn")
AROUND = (
    "{}",
    "({})",
    "LOWER({})",
    "COALESCE({}, 'x')",
    "CAST({} AS TEXT)",
    "CASE WHEN {} > 'm' THEN 1 ELSE 0 END",
    "CASE {} WHEN 'a' THEN 1 END",
    "SUBSTR({}, 1, 1)",
    "({} || 'x')",
    "({} IS NULL)",
    "({} LIKE 'a%')",
    "({} IN ('a', 'b'))",
    "('a' IN ({}, 'c'))",
    "({} BETWEEN 'a' AND 'b')",
    "(NOT {})",
    "(LENGTH({}) + 1)",
    "(SELECT {})",
    "(SELECT o.id FROM orders o WHERE o.note = {} LIMIT 1)",
    "EXISTS (SELECT 1 FROM orders o WHERE o.userId = {})",
    "({} IN (SELECT note FROM orders))",
)
AGGREGATES = ("COUNT({})", "COUNT(DISTINCT {})", "MAX({})", "GROUP_CONCAT({})")
STATEMENTS = (
    "SELECT {} FROM users u",
    "SELECT {} AS value FROM users AS u ORDER BY value",
    "SELECT DISTINCT {} FROM users u",
    "SELECT u.*, {} FROM users u",
    "SELECT u.id FROM users u WHERE {}",
    "SELECT u.id FROM users u ORDER BY {}, u.id",
    "SELECT COUNT(*) FROM users u GROUP BY {}",
    "SELECT COUNT(*) FROM users u GROUP BY u.id HAVING MAX({}) > 'a'",
    "SELECT u.id FROM users u JOIN Items i ON i.sku = {}",
    "SELECT i.sku FROM Items i LEFT JOIN users u ON {}",
    "SELECT x.v FROM (SELECT {} AS v FROM users u) x",
    "SELECT x.v FROM (SELECT * FROM (SELECT {} FROM users u) y (v)) x",
    "WITH x AS (SELECT {} AS v FROM users u) SELECT v FROM x",
    "WITH x (v) AS (SELECT {} FROM users u) SELECT MAX(v) FROM x",
    "SELECT sku FROM Items UNION SELECT {} FROM users u",
    "SELECT {} FROM users u UNION ALL SELECT sku FROM Items ORDER BY 1",
    "SELECT sku FROM Items WHERE sku IN (SELECT {} FROM users u)",
    "SELECT sku FROM Items WHERE EXISTS (SELECT 1 FROM users u WHERE {})",
    "SELECT (SELECT {} FROM users u LIMIT 1) AS v",
    "SELECT ROW_NUMBER() OVER (PARTITION BY {} ORDER BY u.id) FROM users u",
    "SELECT SUM(u.id) OVER w FROM users u WINDOW w AS (ORDER BY {})",
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(AROUND), inner).map(lambda pair: pair[0].format(pair[1]))


def _filled(leaves: tuple[str, ...]) -> st.SearchStrategy[str]:
    expression = st.recursive(st.sampled_from(leaves), _grown, max_leaves=4)
    # An aggregate stands in the select list alone, where every database takes it.
    aggregate = st.tuples(st.sampled_from(AGGREGATES), expression).map(
        lambda pair: STATEMENTS[0].format(pair[0].format(pair[1]))
    )
    plain = st.tuples(st.sampled_from(STATEMENTS), expression).map(
        lambda pair: pair[0].format(pair[1])
    )
    return st.one_of(plain, aggregate)


harmless = _filled(COLUMNS)
"""Statements that use unmasked columns only."""

prying = _filled(MASKED)
"""The same statements, with a masked column somewhere inside."""

words = st.lists(
    st.sampled_from(
        (
            *(
                "SELECT",
                "FROM",
                "WHERE",
                "users",
                "orders",
                "secrets",
                "u",
                "*",
                ".",
                ",",
                "(",
                ")",
            ),
            *(
                "email",
                "ssn",
                "id",
                "name",
                "AS",
                "JOIN",
                "NATURAL",
                "USING",
                "ON",
                "UNION",
                "WITH",
            ),
            *("ORDER", "BY", "GROUP", "HAVING", "LIMIT", "1", "'a'", "=", "||", "CASE", "END", ";"),
            *("--", "/*", "*/", "[", "]", '"', "`", "sqlite_master", "rowid", "EXISTS", "IN"),
        )
    ),
    max_size=24,
).map(lambda parts: "SELECT " + " ".join(parts))
"""Nonsense made of dangerous words, some of which is SQL."""
