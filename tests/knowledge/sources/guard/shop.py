"""One shop in three dialects: what is authorised, masked, and really there.

`MARK` stands in every masked column and in every table that is not authorised: no answer of an
allowed statement may hold it.
"""

from app.knowledge.sources.guard.model import Column, Dialect, TableAccess, TableSchema

MARK = "MASKED-VALUE"
SCHEMAS: dict[Dialect, str] = {"mysql": "store", "postgres": "public", "sqlite": "main"}
TABLES = {
    "users": ("id", "name", "email!", "ssn!", "tenantId", "createdAt"),
    "orders": ("id", "userId", "tenantId", "total", "status", "note", "createdAt"),
    "Items": ("id", "orderId", "sku", "price", "email"),
    "vault": ("key!", "value!"),
    "hollow": (),
}
"""The authorised tables; a name with `!` is a masked column."""
KEYS = {"users": ("id",)}


def access(dialect: Dialect) -> TableAccess:
    """What the agent of these tests may read."""
    schema = SCHEMAS[dialect]
    return TableAccess(dialect, schema, tuple(table(schema, name) for name in TABLES))


def table(schema: str, name: str) -> TableSchema:
    columns = (Column(one.rstrip("!"), one.endswith("!")) for one in TABLES[name])
    return TableSchema(schema, name, tuple(columns), KEYS.get(name, ()))


def script(dialect: Dialect) -> list[str]:
    """Statements that build the shop in an empty database."""
    mark = "`" if dialect == "mysql" else '"'
    moment = "TEXT" if dialect == "sqlite" else "TIMESTAMP NULL"

    def kind(column: str) -> str:
        if column.endswith("At"):
            return moment
        return "INTEGER" if column in NUMBERS else "VARCHAR(64)"

    def create(name: str, columns: list[str]) -> str:
        listed = ", ".join(f"{mark}{one}{mark} {kind(one)}" for one in columns)
        if name in KEYS:
            listed += f", PRIMARY KEY ({', '.join(KEYS[name])})"
        return f"CREATE TABLE {mark}{name}{mark} ({listed})"

    statements = []
    for name, columns in {**TABLES, "secrets": ("id!", "value!")}.items():
        real = [one.rstrip("!") for one in columns] or ["a"]
        statements.append(create(name, real))
        for number in range(1, 4):
            values = (_value(one, number) for one in columns or ("a",))
            statements.append(f"INSERT INTO {mark}{name}{mark} VALUES ({', '.join(values)})")
    return statements


def sqlite_script() -> str:
    return ";".join(script("sqlite"))


NUMBERS = {"id", "userId", "tenantId", "total", "orderId", "price"}


def _value(column: str, number: int) -> str:
    plain = column.rstrip("!")
    if plain in NUMBERS:
        return str(number)
    if plain.endswith("At"):
        return f"'2024-0{number}-01 10:00:00'"
    return f"'{MARK}-{number}'" if column.endswith("!") else f"'{plain} {number}'"
