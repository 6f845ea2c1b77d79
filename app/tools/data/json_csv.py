"""Rows of JSON objects ↔ CSV (RFC 4180)."""

from __future__ import annotations

import csv
import io
from typing import Any

from app.core.errors import ToolFailed
from app.tools.data.json_text import dump

# Full-width forms are executed by East Asian editions of spreadsheet programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_MAX_COLUMNS = 1000
_MAX_CELLS = 1_000_000
# As JSON, every row repeats the name of every column.
_MAX_KEYS = 5_000_000


def to_csv(value: Any, *, delimiter: str, guard_formulas: bool) -> dict[str, Any]:
    """Convert an array of objects to CSV: a header of all keys, a line for each object.

    A missing key and null become an empty cell, `true` and `false` words, nested values their JSON
    text. Cells that a spreadsheet program would run as a formula are counted, and with
    `guard_formulas` prefixed with `'` to make them plain text.

    Raises:
        ToolFailed: `not_rows` or `result_too_large`.
    """
    rows = _rows(value)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if len(columns) > _MAX_COLUMNS or len(columns) * len(rows) > _MAX_CELLS:
        raise ToolFailed(
            f"the table would have {len(columns)} columns and {len(rows)} rows; at most"
            f" {_MAX_COLUMNS} columns and {_MAX_CELLS} cells",
            code="result_too_large",
        )
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    formulas = 0
    for line in (columns, *([_cell(row.get(key)) for key in columns] for row in rows)):
        dangerous = [_is_formula(cell) for cell in line]
        formulas += sum(dangerous)
        guarded = [guard_formulas and bad for bad in dangerous]
        if columns:
            writer.writerow(
                f"'{cell}" if bad else cell for cell, bad in zip(line, guarded, strict=True)
            )
    return {
        "result": out.getvalue(),
        "rows": len(rows),
        "columns": columns,
        "formula_cells": formulas,
    }


def from_csv(text: str, *, delimiter: str) -> dict[str, Any]:
    """Convert CSV with a header to an array of objects; every cell is a string.

    Raises:
        ToolFailed: `csv_error`: no header, a duplicate column, a line with more or fewer cells, an
            open quote; `result_too_large`.
    """
    source = io.StringIO(text.removeprefix("\ufeff"), newline="")
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        _check_header(header)
        rows = []
        for cells in filter(None, reader):
            rows.append(_row(header, cells, reader.line_num))
            _check_size(header, len(rows))
    except csv.Error as error:
        raise _refused(f"line {reader.line_num}: {error}") from None
    return {"data": rows, "rows": len(rows), "columns": header}


def _rows(value: Any) -> list[dict[str, Any]]:
    rows = [value] if isinstance(value, dict) else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ToolFailed("to_csv requires an array of objects, or one object", code="not_rows")
    return rows


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dump(value)


def _is_formula(cell: str) -> bool:
    if not cell.startswith(_FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _check_header(header: list[str]) -> None:
    if not header:
        raise _refused("the header line is missing")
    if len(header) > _MAX_COLUMNS:
        raise _refused(f"more than {_MAX_COLUMNS} columns")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise _refused(f"duplicate column {twice[:100]!r}")


def _check_size(header: list[str], rows: int) -> None:
    if rows * sum(map(len, header)) > _MAX_KEYS:
        raise ToolFailed(
            f"the rows would name their columns with more than {_MAX_KEYS} characters; shorten"
            " the header or take fewer rows",
            code="result_too_large",
        )


def _row(header: list[str], cells: list[str], line: int) -> dict[str, str]:
    if len(cells) != len(header):
        raise _refused(f"line {line} has {len(cells)} cells, the header has {len(header)}")
    return dict(zip(header, cells, strict=True))


def _refused(reason: str) -> ToolFailed:
    return ToolFailed(f"CSV error: {reason}", code="csv_error")
