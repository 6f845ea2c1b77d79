"""Shop in SQL: 22 tables, names in camel case, comments, keys, and a million rows.

The same shop for MySQL, PostgreSQL and SQLite; `events` is filled by the database itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["mysql", "postgres", "sqlite"]

EVENTS = 1_000_000
ARCHIVES = tuple(f"archive{year}" for year in range(2008, 2024))
TABLES = ("customers", "orders", "orderItems", "products", "secrets", "events", *ARCHIVES)
TABLE_COMMENT = "Who buys in the shop"
COLUMN_COMMENT = "Which tenant the customer belongs to"


@dataclass(frozen=True)
class _Words:
    """Keywords of each database."""

    quote: str
    number: str
    text: str
    moment: str
    money: str
    bytes: str
    json: str


_WORDS: dict[Kind, _Words] = {
    "mysql": _Words("`", "BIGINT", "VARCHAR(200)", "DATETIME", "DECIMAL(10,2)", "BLOB", "JSON"),
    "postgres": _Words(
        '"', "BIGINT", "VARCHAR(200)", "TIMESTAMP", "NUMERIC(10,2)", "BYTEA", "JSONB"
    ),
    "sqlite": _Words('"', "INTEGER", "TEXT", "TEXT", "NUMERIC", "BLOB", "TEXT"),
}


def script(kind: Kind) -> str:
    """Return all statements that create the shop."""
    words = _WORDS[kind]

    def q(name: str) -> str:
        return f"{words.quote}{name}{words.quote}"

    statements = [
        f"CREATE TABLE customers ({q('customerId')} {words.number} PRIMARY KEY,"
        f" {q('fullName')} {words.text} NOT NULL, email {words.text}, phone {words.text},"
        f" {q('tenantId')} {words.number} NOT NULL)",
        f"CREATE TABLE products (sku VARCHAR(40) PRIMARY KEY, title {words.text},"
        f" price {words.money}, picture {words.bytes}, details {words.json})",
        f"CREATE TABLE orders ({q('orderId')} {words.number} PRIMARY KEY,"
        f" {q('customerId')} {words.number} NOT NULL, {q('placedAt')} {words.moment},"
        f" total {words.money}, FOREIGN KEY ({q('customerId')})"
        f" REFERENCES customers ({q('customerId')}))",
        f"CREATE TABLE {q('orderItems')} ({q('orderId')} {words.number}, line {words.number},"
        f" sku VARCHAR(40), quantity {words.number}, PRIMARY KEY ({q('orderId')}, line),"
        f" FOREIGN KEY ({q('orderId')}) REFERENCES orders ({q('orderId')}),"
        " FOREIGN KEY (sku) REFERENCES products (sku))",
        f"CREATE TABLE secrets (name {words.text}, value {words.text})",
        f"CREATE TABLE events (id {words.number} PRIMARY KEY, {q('customerId')} {words.number},"
        f" kind {words.text}, amount {words.money})",
        f"CREATE INDEX {q('ordersByCustomer')} ON orders ({q('customerId')})",
    ]
    statements += [
        f"CREATE TABLE {name} (id {words.number} PRIMARY KEY, note {words.text})"
        for name in ARCHIVES
    ]
    statements += _rows(kind, words.quote) + _comments(kind)
    return ";\n".join(statements) + ";\n"


def _rows(kind: Kind, quote: str) -> list[str]:
    picture = {"mysql": "X'00FF10'", "postgres": "'\\x00FF10'", "sqlite": "X'00FF10'"}[kind]
    numbers = {
        "mysql": f"SELECT seq AS n FROM seq_1_to_{EVENTS}",
        "postgres": f"SELECT n FROM generate_series(1, {EVENTS}) AS n",
        "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
        f" WHERE n < {EVENTS}) SELECT n FROM c",
    }[kind]
    return [
        "INSERT INTO customers VALUES"
        " (1, 'Ada Lovelace', 'ada@example.org', '+44 1', 7),"
        " (2, 'Grace Hopper', 'grace@example.org', '+1 2', 8),"
        " (3, 'Alan Turing', 'alan@example.org', NULL, 7)",
        f"INSERT INTO products VALUES ('lamp', 'A lamp', 20.50, {picture},"
        " '{\"colour\": \"red\", \"sizes\": [1, 2]}'), ('desk', 'A desk', 150.00, NULL, NULL)",
        "INSERT INTO orders VALUES (10, 1, '2026-01-02 03:04:05', 41.00),"
        " (11, 2, '2026-02-03 04:05:06', 150.00)",
        f"INSERT INTO {quote}orderItems{quote} VALUES (10, 1, 'lamp', 2), (11, 1, 'desk', 1)",
        "INSERT INTO secrets VALUES ('launch code', 'never-to-be-seen')",
        f"INSERT INTO events (id, {quote}customerId{quote}, kind, amount)"
        f" SELECT n, n % 3 + 1, 'click', n % 100 FROM ({numbers}) AS numbers",
    ]


def _comments(kind: Kind) -> list[str]:
    if kind == "mysql":
        return [
            f"ALTER TABLE customers COMMENT = '{TABLE_COMMENT}'",
            f"ALTER TABLE customers MODIFY `tenantId` BIGINT NOT NULL COMMENT '{COLUMN_COMMENT}'",
        ]
    if kind == "postgres":
        return [
            f"COMMENT ON TABLE customers IS '{TABLE_COMMENT}'",
            f"COMMENT ON COLUMN customers.\"tenantId\" IS '{COLUMN_COMMENT}'",
        ]
    return []
