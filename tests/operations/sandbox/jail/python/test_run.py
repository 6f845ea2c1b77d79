"""Running code: values, guards, tracebacks, endings."""

from __future__ import annotations

import json
import random
import re

import pytest

from tests.operations.sandbox.jail.python.conftest import Python


@pytest.mark.requirement("PYX-11", "F-2")
def test_the_three_examples_of_the_seed(python: Python):
    default = python("import json; print(json.dumps({'key': 'value'}))")
    lenient = python("import os; print(os.getcwd())", "lenient")
    strict = python("result = sum([1, 2, 3, 4, 5]); print(result)", "strict")
    assert (default.stdout, default.status) == ('{"key": "value"}\n', 0)
    assert (lenient.stdout, lenient.status) == (f"{python.folder}/cwd\n", 0)
    assert (strict.stdout, strict.status) == ("15\n", 0)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", "2"),
        ("x = 1\nx", "1"),
        ("'text'", "'text'"),
        ("x = 1", None),
        ("print(1)", None),
        ("None", None),
        ("", None),
        ("# nothing", None),
        ("def f(): pass", None),
        ("if True: 5", None),
        ("from __future__ import annotations\ndef f(a: b): pass\nf.__annotations__", "{'a': 'b'}"),
        ("x: int = 1\n__annotations__", "{'x': <class 'int'>}"),
        ("'\\ud800'", "'\\ud800'"),
    ],
)
def test_the_value_of_the_last_expression_is_reported(python: Python, code: str, value: str | None):
    ran = python(code)
    assert (ran.value, ran.error, ran.status) == (value, None, 0)


def test_a_value_is_reported_up_to_a_length(python: Python):
    value = python("'x' * 1_000_000").value
    assert value is not None
    assert len(value) < 21_000
    assert value.endswith("[980002 characters left out]")


def test_a_value_that_cannot_be_shown_is_an_error(python: Python):
    ran = python("class A:\n    def __repr__(self): return 1 / 0\nA()")
    assert (ran.value, ran.error, ran.status) == (None, "ZeroDivisionError: division by zero", 1)


def test_a_traceback_shows_the_codes_own_lines_and_no_others(python: Python):
    ran = python(
        "import json\n"
        "def outer(n):\n"
        "    return json.loads('{', object_hook=inner)\n"
        "def inner(d): pass\n"
        "outer(1)\n"
    )
    assert ran.status == 1
    assert ran.error == (
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)"
    )
    assert re.findall(r'File "(.*?)", line (\d+), in (\S+)', ran.stderr) == [
        ("<code>", "5", "<module>"),
        ("<code>", "3", "outer"),
    ]
    assert "    return json.loads('{', object_hook=inner)\n" in ran.stderr


def test_causes_and_groups_are_shown_with_their_lines_too(python: Python):
    ran = python(
        "import json\n"
        "try: json.loads('{')\n"
        "except ValueError as e:\n"
        "    raise ExceptionGroup('many', [KeyError('k'), TypeError('t')]) from e\n"
    )
    assert ran.error == "ExceptionGroup: many (2 sub-exceptions)"
    assert "direct cause" in ran.stderr
    assert "decoder.py" not in ran.stderr
    assert "KeyError: 'k'" in ran.stderr


@pytest.mark.parametrize(
    ("code", "status", "error", "stderr"),
    [
        ("raise SystemExit", 0, None, ""),
        ("raise SystemExit(0)", 0, None, ""),
        ("raise SystemExit(3)", 3, "SystemExit: 3", ""),
        ("raise SystemExit(-1)", 255, "SystemExit: -1", ""),
        ("raise SystemExit(256)", 0, None, ""),
        ("raise SystemExit('no way')", 1, "SystemExit: no way", "no way\n"),
    ],
)
def test_system_exit_means_what_it_means_elsewhere(
    python: Python, code: str, status: int, error: str | None, stderr: str
):
    ran = python(f"print('before')\n{code}")
    assert (ran.status, ran.error, ran.stderr, ran.stdout) == (status, error, stderr, "before\n")


ODD_ENDINGS = {
    "an exception that cannot be told": (
        "class E(Exception):\n    def __str__(self): raise E()\nraise E()",
        "E: <exception str() failed>",
    ),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "endless recursion": (
        "def f(): f()\nf()",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "a generator's end": ("raise GeneratorExit", "GeneratorExit"),
    "too much memory": ("x = 'x' * (1 << 62)", "MemoryError"),
    "no more output": (
        "class S:\n    def write(self, t): raise OSError\n    flush = write\n"
        "import logging\nlogging.sys.stdout = logging.sys.stderr = S()\n1 / 0",
        "ZeroDivisionError: division by zero",
    ),
}


@pytest.mark.parametrize("name", ODD_ENDINGS)
def test_however_code_ends_it_is_reported(python: Python, name: str):
    code, error = ODD_ENDINGS[name]
    ran = python(code)
    assert (ran.error, ran.status) == (error, 1)


@pytest.mark.requirement("PYX-14")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("print(1)\ndef", "Syntax error in code: invalid syntax (line 2)\n    def"),
        (
            "print(1)\nreturn 1",
            "Syntax error in code: 'return' outside function (line 2)\n    return 1",
        ),
        ("print(1)\n" + "x = " + "1+" * 9_000 + "1", "The code is nested too deeply to be parsed"),
    ],
)
def test_what_does_not_compile_does_not_begin(python: Python, code: str, error: str):
    ran = python(code, "lenient")
    assert (ran.status, ran.stdout, ran.error, ran.stderr) == (2, "", error, f"{error}\n")


@pytest.mark.requirement("PYX-06", "PYX-07")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("open = open\nopen('x')", "NameError: open is not allowed in 'standard' mode"),
        (
            "def f(eval=print): pass\ne = eval\nlist(map(e, ['1']))",
            "NameError: eval is not allowed in 'standard' mode",
        ),
        (
            "__builtins__['__import__']('os')",
            "ImportError: os is not allowed in 'standard' mode",
        ),
        (
            "__builtins__['__import__']('json', level=1)",
            "ImportError: json is not allowed in 'standard' mode",
        ),
        (
            "__builtins__['__import__']('xml', fromlist=('dom',))",
            "ImportError: xml is not allowed in 'standard' mode",
        ),
    ],
)
def test_what_reading_cannot_see_a_guard_refuses(python: Python, code: str, error: str):
    ran = python(code)
    assert (ran.error, ran.status) == (error, 1)


def test_the_check_is_made_where_the_code_runs_too(python: Python):
    ran = python("print(1)\nimport os")
    assert (ran.status, ran.stdout) == (2, "")
    assert str(ran.error).startswith("Blocked imports: os.")


@pytest.mark.requirement("PYX-05")
def test_library_code_may_use_what_the_code_may_not(python: Python):
    ran = python(
        "import dataclasses, enum, functools, typing\n"
        "@functools.total_ordering\n"
        "@dataclasses.dataclass(frozen=True, slots=True)\n"
        "class P:\n"
        "    x: int = dataclasses.field(default=1, hash=True)\n"
        "    def __lt__(self, o): return self.x < o.x\n"
        "class C(enum.Flag):\n    A = enum.auto()\n    B = enum.auto()\n"
        "class N(typing.NamedTuple):\n    a: int = 1\n"
        "@functools.singledispatch\ndef f(x): return 'other'\n"
        "@f.register\ndef _(x: int): return 'int'\n"
        "try: P(1).x = 2\n"
        "except dataclasses.FrozenInstanceError as e: print(e)\n"
        "print(P(1) >= P(0), dataclasses.replace(P(), x=3), (C.A | C.B).value, N(), f(1), f(''))",
        "strict",
    )
    assert ran.error is None
    assert ran.stdout.splitlines() == [
        "cannot assign to field 'x'",
        "True P(x=3) 3 N(a=1) int other",
    ]


@pytest.mark.requirement("F-1")
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("import datetime\ndatetime.datetime.strptime('1', '%d').day", "1"),
        ("import datetime\ndatetime.datetime(2024, 1, 1).strftime('%B')", "'January'"),
        ("import copy, datetime\ncopy.copy(datetime.date(2024, 1, 1)).year", "2024"),
        ("import array, copy\ncopy.deepcopy(array.array('i', [1]))", "array('i', [1])"),
        ("'é'.encode('ascii', 'namereplace')", "b'\\\\N{LATIN SMALL LETTER E WITH ACUTE}'"),
        ("'a'.encode('idna'), b'a'.decode('utf-16-le', 'replace')", "(b'a', '�')"),
        ("import warnings\nwarnings.warn('careful')", None),
        ("import logging\nlogging.warning('careful')", None),
    ],
)
def test_c_code_imports_what_it_needs(python: Python, code: str, value: str | None):
    ran = python(code)
    assert (ran.error, ran.value) == (None, value)


@pytest.mark.requirement("PYX-03")
def test_lenient_has_all_modules_all_builtins_and_its_folder(python: Python):
    ran = python(
        "import os, sys, subprocess, ctypes, socket, threading\n"
        "open('helper.py', 'w').write('x = 6 * 7')\n"
        "import helper\n"
        "exec('y = 1'); globals(), locals(), vars(), memoryview(bytearray(1)), dir()\n"
        "assert getattr(__builtins__, 'open') is open\n"
        "threading.Thread(target=lambda: print('late')).start()\n"
        "print(helper.x, eval('y'))\n"
        "exit(4)",
        "lenient",
    )
    assert ran.stdout.splitlines() == ["42 1", "late"] or ran.stdout.splitlines() == [
        "late",
        "42 1",
    ]
    assert (ran.status, ran.error) == (4, "SystemExit: 4")


def test_a_copy_that_the_code_made_of_itself_reports_nothing(python: Python):
    ran = python("import os\nchild = os.fork()\nchild and os.waitpid(child, 0)[1]", "lenient")
    assert (ran.value, ran.error, ran.status) == ("0", None, 0)


def test_no_program_that_the_code_starts_holds_the_report(python: Python):
    ran = python("import os\n'/report' in os.popen('ls -l /proc/self/fd').read()", "lenient")
    assert ran.value == "False"


def test_what_was_put_off_to_the_end_happens(python: Python):
    ran = python(
        "import atexit, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "atexit.register(print, 'last')\n"
        "ThreadPoolExecutor().submit(print, 'pooled')\n"
        "1",
        "lenient",
    )
    assert (ran.stdout, ran.value, ran.status) == ("pooled\nlast\n", "1", 0)


def test_each_line_goes_out_when_it_is_printed(python: Python):
    ran = python(
        f"print('first')\n"
        f"print('half', end='')\n"
        f"seen = open({str(python.folder / 'stdout')!r}).read()\n"
        "print()\n"
        "seen",
        "lenient",
    )
    assert ran.value == "'first\\n'"
    assert ran.stdout == "first\nhalf\n"


def test_text_that_is_no_utf8_is_printed_all_the_same(python: Python):
    assert python("print('a\\ud800é')").stdout == "a\\ud800é\n"


def test_two_runs_draw_different_numbers(python: Python):
    code = "import random\nrandom.getrandbits(64)"
    drawn = {python(code).value for _ in range(5)}
    assert len(drawn) == 5
    assert random.Random(1).random() == float(
        str(python("import random\nrandom.Random(1).random()").value)
    )


def test_extra_modules_are_imported_from_where_they_are_installed(python: Python):
    (python.folder / "packages").mkdir()
    (python.folder / "packages" / "extra.py").write_text("import os\nhere = os.sep\n")
    paths = (str(python.folder / "packages"),)
    assert python("import extra\nextra.here", "strict", ("extra",), paths).value == "'/'"
    assert str(python("import extra", "strict", (), paths).error).startswith(
        "Blocked imports: extra"
    )
    missing = python("import missing", "strict", ("missing",), paths)
    assert missing.error == "ModuleNotFoundError: No module named 'missing'"


def test_figures_left_open_are_saved_into_the_folder(python: Python):
    package = python.folder / "packages" / "matplotlib"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "pyplot.py").write_text(
        "import os\n"
        "class Figure:\n"
        "    def savefig(self, name): open(name, 'w').write(os.environ['MPLBACKEND'])\n"
        "def figure(number): return Figure()\n"
        "def get_fignums(): return [1, 2]\n"
    )
    paths = (str(package.parent),)
    ran = python(
        "import matplotlib.pyplot\nopen('figure_2.png', 'w').close()", "lenient", (), paths
    )
    assert ran.error is None
    saved = {path.name: path.read_text() for path in (python.folder / "cwd").iterdir()}
    assert saved == {"figure_1.png": "Agg", "figure_2.png": "", "figure_2_2.png": "Agg"}


def test_nothing_of_the_process_around_it_is_in_the_codes_own_module(python: Python):
    ran = python("sorted(__builtins__['globals'].__name__ and [n for n in dir()])")
    assert json.loads(str(ran.value).replace("'", '"')) == [
        "__builtins__",
        "__doc__",
        "__loader__",
        "__name__",
        "__package__",
        "__spec__",
    ]
