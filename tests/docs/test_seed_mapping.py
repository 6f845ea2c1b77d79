"""The table that leads from the seed designs to this house."""

import re
from importlib import import_module

from tests.docs.pages import read
from tests.support.source import ROOT

ROW = re.compile(r"^\|(.+)\| ([^|]+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str]]:
    return [row for row in ROW.findall(read("docs/seed-mapping.md")) if "---" not in row[1]]


def test_every_row_names_a_module_or_says_later():
    silent = [row for row in rows() if "`app/" not in row[1] and "later" not in row[1]]
    assert [row[1] for row in silent] == ["here"] * 5


def test_every_module_that_is_named_exists_and_can_be_imported():
    named = {path for _, here in rows() for path in re.findall(r"`(app/[^`]+)`", here)}
    assert len(named) > 20
    for path in sorted(named):
        assert (ROOT / path).is_file(), path
        import_module(path.removesuffix(".py").replace("/", "."))
