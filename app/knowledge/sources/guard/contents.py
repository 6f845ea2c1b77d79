"""Permitted contents of allowed nodes: functions, types, units, joins and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from sqlglot import exp

from app.knowledge.sources.guard.model import Dialect, refused

MAX_NAME: Final = 64
"""Maximum length of a table, column or alias name, in characters."""

_COLLATION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NUMBER: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPAN: Final = re.compile(r"[-+0-9A-Za-z.: ]{1,64}")
_FRACTION: Final = re.compile(r"[-+]?\d*\.\d+")
_JOINS: Final = frozenset({"", "INNER", "CROSS", "OUTER"})


def verify_contents(node: exp.Expr, dialect: Dialect) -> None:
    """Refuse an allowed node with a value outside its list.

    Converts the unit of `TIMESTAMPDIFF(DAY, ...)`, parsed as a column, to a plain word.
    """
    if rule := _RULES.get(type(node)):
        rule(node, dialect)


def _function(node: exp.Expr, dialect: Dialect) -> None:
    name = node.this
    # A quoted name would be looked up as written, bypassing the list of plain names.
    if not isinstance(name, str) or name.upper() not in FUNCTIONS[dialect]:
        shown = name if isinstance(name, str) else str(name.name)
        message = f"The function {shown!r} is not allowed: write the query without it."
        raise refused("forbidden_function", message, shown)
    first = node.expressions[0] if node.expressions else None
    if name.upper() in FIRST_IS_UNIT and isinstance(first, exp.Column) and not first.table:
        first.replace(exp.Var(this=first.name.upper()))


def _type(node: exp.Expr, dialect: Dialect) -> None:
    name = getattr(node.this, "name", str(node.this))
    if not isinstance(node.this, exp.DType) or name not in TYPES[dialect]:
        instead = "use a plain type such as CHAR or DATE"
        if dialect == "sqlite":
            instead = "use INTEGER, REAL, NUMERIC or TEXT, and date() for times"
        raise refused("forbidden_type", f"A cast to {name} is not allowed: {instead}.", name)


def _word(node: exp.Expr, dialect: Dialect) -> None:
    word, parent = node.name, node.parent
    if isinstance(parent, exp.Interval | exp.Extract | exp.Anonymous):
        allowed = word.upper() in UNITS
    elif isinstance(parent, exp.Limit):
        allowed = word.upper() == "ALL"
    else:
        allowed = isinstance(parent, exp.Collate) and bool(_COLLATION.fullmatch(word))
    if not allowed:
        message = f"The word {word!r} is not allowed here: write the query without it."
        raise refused("forbidden_syntax", message, word)


def _collation(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node.args.get("expression"), exp.Var):
        raise refused("forbidden_syntax", "COLLATE requires a single plain word.", "COLLATE")


def _part_of_time(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node.this, exp.Var):
        raise refused("forbidden_syntax", "EXTRACT requires a unit such as YEAR.", "EXTRACT")


def _span(node: exp.Expr, dialect: Dialect) -> None:
    amount = node.this
    if isinstance(amount, exp.Literal):
        plain = _SPAN.fullmatch(amount.name) is not None
    else:
        plain = amount is not None and dialect == "mysql" and not isinstance(amount, exp.Tuple)
    if not plain:
        message = "INTERVAL requires a plain amount and a unit, such as INTERVAL '7' DAY."
        raise refused("forbidden_syntax", message, "INTERVAL")
    unit = node.text("unit").upper()
    fraction = isinstance(amount, exp.Literal) and _FRACTION.fullmatch(amount.name) is not None
    if dialect == "mysql" and fraction and "_" not in unit:
        # The database rounds numbers and truncates texts; the parser makes a text of both.
        message = f"INTERVAL requires a whole number of {unit}: use a smaller unit."
        raise refused("forbidden_syntax", message, "INTERVAL")


def _name(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node.this, str) or not 0 < len(node.this) <= MAX_NAME:
        message = f"A name must have 1 to {MAX_NAME} characters: choose a shorter one."
        raise refused("forbidden_syntax", message, str(node.this))


def _number(node: exp.Expr, dialect: Dialect) -> None:
    literal = cast("exp.Literal", node)
    if not literal.is_string and not _NUMBER.fullmatch(literal.name):
        message = f"The number {literal.name!r} must be written plainly."
        raise refused("forbidden_syntax", message, literal.name)


def _join(node: exp.Expr, dialect: Dialect) -> None:
    kind, method = str(node.args.get("kind") or ""), str(node.args.get("method") or "")
    if kind not in _JOINS or method not in {"", "NATURAL"}:
        message = f"A {kind or method} join is not allowed: use INNER, LEFT, RIGHT, FULL or CROSS."
        raise refused("forbidden_syntax", message, kind or method)


_RULES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Dialect], None]]] = {
    exp.Anonymous: _function,
    exp.DataType: _type,
    exp.Var: _word,
    exp.Collate: _collation,
    exp.Extract: _part_of_time,
    exp.Interval: _span,
    exp.Identifier: _name,
    exp.Literal: _number,
    exp.Join: _join,
}


# Permitted functions and types.
#
# Excluded deliberately: functions that wait, lock, read files or settings, expose the server or its
# users, have state, run text as SQL, or produce megabytes from a few characters.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON: Final = _words(
    "COUNT SUM AVG MIN MAX"
    " ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE"
    " NTH_VALUE"
    " ABS CEIL CEILING FLOOR ROUND SIGN MOD POW POWER SQRT EXP LN LOG LOG10 LOG2 PI"
    " SIN COS TAN ASIN ACOS ATAN ATAN2 RADIANS DEGREES"
    " COALESCE NULLIF LOWER UPPER LENGTH CHAR_LENGTH CHARACTER_LENGTH OCTET_LENGTH"
    " SUBSTR SUBSTRING REPLACE TRIM LTRIM RTRIM CONCAT CONCAT_WS LEFT RIGHT REVERSE"
    " POSITION ASCII DATE TIME"
)

FUNCTIONS: Final[dict[Dialect, frozenset[str]]] = {
    "mysql": _COMMON
    | _words(
        "GROUP_CONCAT STD STDDEV STDDEV_POP STDDEV_SAMP VARIANCE VAR_POP VAR_SAMP ANY_VALUE"
        " BIT_AND BIT_OR BIT_XOR BIT_COUNT"
        " IF IFNULL ISNULL GREATEST LEAST FIELD FIND_IN_SET ELT TRUNCATE CONV CRC32"
        " RAND LCASE UCASE MID SUBSTRING_INDEX LOCATE INSTR STRCMP FORMAT HEX ORD QUOTE"
        " MD5 SHA1 SHA2 REGEXP_LIKE REGEXP_INSTR REGEXP_SUBSTR REGEXP_REPLACE"
        " CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP"
        " NOW CURDATE CURTIME UTC_DATE UTC_TIME UTC_TIMESTAMP TIMESTAMP"
        " YEAR QUARTER MONTH MONTHNAME WEEK WEEKOFYEAR YEARWEEK WEEKDAY DAY DAYNAME DAYOFMONTH"
        " DAYOFWEEK DAYOFYEAR HOUR MINUTE SECOND MICROSECOND LAST_DAY MAKEDATE MAKETIME"
        " DATE_ADD DATE_SUB ADDDATE SUBDATE ADDTIME SUBTIME DATEDIFF TIMEDIFF TIMESTAMPDIFF"
        " TIMESTAMPADD DATE_FORMAT TIME_FORMAT STR_TO_DATE FROM_UNIXTIME UNIX_TIMESTAMP"
        " FROM_DAYS TO_DAYS TO_SECONDS SEC_TO_TIME TIME_TO_SEC PERIOD_ADD PERIOD_DIFF"
        " JSON_EXTRACT JSON_UNQUOTE JSON_VALUE JSON_CONTAINS JSON_CONTAINS_PATH JSON_LENGTH"
        " JSON_KEYS JSON_TYPE JSON_VALID JSON_SEARCH JSON_ARRAY JSON_OBJECT JSON_ARRAYAGG"
        " JSON_OBJECTAGG"
    ),
    "postgres": _COMMON
    | _words(
        "STRING_AGG ARRAY_AGG BOOL_AND BOOL_OR EVERY STDDEV STDDEV_POP STDDEV_SAMP VARIANCE"
        " VAR_POP VAR_SAMP CORR COVAR_POP COVAR_SAMP REGR_SLOPE REGR_INTERCEPT REGR_R2 MODE"
        " PERCENTILE_CONT PERCENTILE_DISC BIT_AND BIT_OR"
        " GREATEST LEAST TRUNC DIV CBRT WIDTH_BUCKET RANDOM INITCAP STRPOS SPLIT_PART BTRIM"
        " TRANSLATE STARTS_WITH CHR MD5 REGEXP_REPLACE REGEXP_MATCH REGEXP_SUBSTR REGEXP_COUNT"
        " NOW AGE DATE_TRUNC DATE_PART DATE_BIN MAKE_DATE MAKE_TIME MAKE_TIMESTAMP MAKE_INTERVAL"
        " TO_CHAR TO_DATE TO_TIMESTAMP TO_NUMBER JUSTIFY_DAYS JUSTIFY_HOURS JUSTIFY_INTERVAL"
        " ISFINITE"
        " JSONB_EXTRACT_PATH_TEXT JSON_EXTRACT_PATH_TEXT JSONB_EXTRACT_PATH JSON_EXTRACT_PATH"
        " JSONB_TYPEOF JSON_TYPEOF JSONB_ARRAY_LENGTH JSON_ARRAY_LENGTH"
        " JSON_BUILD_ARRAY JSON_BUILD_OBJECT JSONB_BUILD_ARRAY JSONB_BUILD_OBJECT"
        " JSON_AGG JSONB_AGG JSON_OBJECT_AGG JSONB_OBJECT_AGG"
        " ARRAY_LENGTH CARDINALITY ARRAY_POSITION ARRAY_TO_STRING"
    ),
    "sqlite": _COMMON
    | _words(
        "TOTAL GROUP_CONCAT STRING_AGG IIF IF IFNULL INSTR TRUNC RANDOM UNICODE HEX TYPEOF"
        " DATETIME JULIANDAY UNIXEPOCH STRFTIME TIMEDIFF"
        " JSON_EXTRACT JSON_TYPE JSON_VALID JSON_ARRAY_LENGTH JSON_ARRAY JSON_OBJECT"
        " JSON_GROUP_ARRAY JSON_GROUP_OBJECT QUOTE"
    ),
}
"""Allowed functions of each dialect, by their names in capitals."""

UNITS: Final = _words(
    "MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS SECOND SECONDS MINUTE MINUTES HOUR HOURS"
    " DAY DAYS WEEK WEEKS MONTH MONTHS QUARTER QUARTERS YEAR YEARS DECADE CENTURY MILLENNIUM"
    " DOW ISODOW DOY ISOYEAR EPOCH"
    " DAY_HOUR DAY_MINUTE DAY_SECOND HOUR_MINUTE HOUR_SECOND MINUTE_SECOND YEAR_MONTH"
    " SECOND_MICROSECOND MINUTE_MICROSECOND HOUR_MICROSECOND DAY_MICROSECOND"
)
"""Units of INTERVAL and EXTRACT."""

FIRST_IS_UNIT: Final = _words("TIMESTAMPDIFF TIMESTAMPADD")
"""MySQL functions whose first argument is a unit, not a column."""

_PLAIN_TYPES: Final = _words(
    "BOOLEAN TINYINT SMALLINT MEDIUMINT INT BIGINT UTINYINT USMALLINT UINT UBIGINT FLOAT DOUBLE"
    " DECIMAL CHAR NCHAR VARCHAR TEXT"
)
_OTHER_TYPES: Final = _words(
    "DATE DATETIME TIME TIMETZ TIMESTAMP TIMESTAMPTZ INTERVAL YEAR UUID JSON JSONB"
)

TYPES: Final[dict[Dialect, frozenset[str]]] = {
    "mysql": _PLAIN_TYPES | _OTHER_TYPES,
    "postgres": _PLAIN_TYPES | _OTHER_TYPES,
    # SQLite converts a cast to any other name to a number, such as a date to 2026.
    "sqlite": _PLAIN_TYPES,
}
"""Types allowed in a cast, as named by the parser."""
