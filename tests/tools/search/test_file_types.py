"""Kinds of files, for `grep`."""

import pytest

from app.operations.globs import compile_glob
from app.tools.search.file_types import FILE_TYPES, type_glob


@pytest.mark.parametrize(
    ("name", "fitting", "other"),
    [
        ("py", "src/a.pyi", "a.pyc"),
        ("Python", "a.py", "py"),
        ("js", "a.mjs", "a.json"),
        ("typescript", "a.tsx", "a.js"),
        ("c++", "a.hpp", "a.py"),
        ("make", "sub/Makefile", "Makefile.txt"),
        ("docker", "Dockerfile.dev", "docker.md"),
        ("jinja", "a.jinja", "jinja"),
    ],
)
def test_a_type_names_its_files(name, fitting, other):
    matches = compile_glob(type_glob(name))
    assert (matches(fitting), matches(other)) == (True, False)


def test_every_type_is_a_glob_that_can_be_read():
    for name, globs in FILE_TYPES.items():
        matches = compile_glob(type_glob(name))
        plain = [glob.replace("*", "x") for glob in globs if "[" not in glob]
        assert [path for path in plain if not matches(path)] == []
