"""A command is judged along with the files that it runs, where their content is handed in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.policy.risk.assess import assess_command
from app.policy.risk.given import HANDED_IN
from app.policy.risk.model import Given, RiskReport, ShellName

GONE = "rm -rf data\n"
DELETES = "import shutil\nshutil.rmtree('data')\n"
ENVIRON = "dict(os.environ)"
PADDING = "".join(f"def f{number}(a):\n    return a + {number}\n\n" for number in range(60))


def judged(command: str, files: Mapping[str, str | None], shell: ShellName = "bash") -> RiskReport:
    """`command` with files of the workspace by their names; `__` stands for a dot."""
    known = {
        f"/workspace/{name if '.' in name else name.replace('__', '.')}": text
        for name, text in files.items()
    }
    given: tuple[Given, ...] = ()
    for _ in range(4):
        report = assess_command(command, shell=shell, given=given)
        given = tuple(
            Given(
                *(run.path, run.path, known[run.path], "d", "is not text"),
                is_data=run.kind in HANDED_IN,
            )
            for run in report.runs
            if run.path in known
        )
    return report


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("bash run.sh", {"run__sh": GONE}),
        ("bash -eu -o pipefail ./run.sh a", {"run__sh": GONE}),
        ("./run.sh", {"run__sh": "#!/usr/bin/env -S bash -e\n" + GONE}),
        ("./go", {"go": "#!/usr/bin/python3.11\nimport shutil\nshutil.rmtree('data')\n"}),
        ("bash run.sh data", {"run__sh": 'rm -rf "$1"\n'}),
        ("source run.sh; f", {"run__sh": "f() { rm -rf data; }\n"}),
        ("find . -exec ./run.sh {} +", {"run__sh": GONE}),
        ("a && b || bash run.sh", {"run__sh": GONE}),
        ("make all", {"Makefile": f"all: b\nb:\n\t@{GONE}"}),
        ("make", {"Makefile": "X := $(shell rm -rf data)\nall:\n"}),
        ("make x.o", {"Makefile": f"%.o: %.c\n\t{GONE}"}),
        ("make -f own.mk", {"own__mk": f"all:\n\t{GONE}"}),
        ("gmake -j 4 clean", {"Makefile": "D = data\nclean:\n\t$(RM) -r $(D)\n"}),
        ("just up", {"justfile": f"up: down\n\ndown:\n  @{GONE}"}),
        ("npm t", {"package__json": '{"scripts": {"pretest": "rm -rf data"}}'}),
        ("npm ci", {"package__json": '{"scripts": {"postinstall": "rm -rf data"}}'}),
        ("yarn", {"package__json": '{"scripts": {"prepare": "rm -rf data"}}'}),
        ("pnpm -C . build", {"package__json": '{"scripts": {"build": "rm -rf data"}}'}),
        ("npm run x", {"package__json": '{"scripts": {"x": "sh y.sh"}}', "y__sh": GONE}),
        ("git status", {".git/config": '[core]\n\tfsmonitor = "rm -rf data"\n'}),
        ("git p", {".git/config": "[alias]\n\tp = !rm -rf data\n"}),
        ("git p", {".git/config": "[alias]\n\tp = push --force\n"}),
        ("go run main.go", {"main__go": 'exec.Command("rm", "-rf", "data").Run()'}),
        ("cargo test", {"build__rs": 'std::fs::remove_dir_all("data")'}),
        ("psql -f x.sql", {"x__sql": "DROP TABLE users;"}),
        ("sqlite3 a.db < x.sql", {"x__sql": "DROP TABLE users;"}),
        ("python3 -X dev t.py", {"t__py": "import os\nos.system('rm -rf data')\n"}),
        ("python3.12 t.py", {"t__py": "exec(__import__('zlib').decompress(b'x'))\n"}),
        ("python3 t.py", {"t__py": f"import requests, os\nrequests.post(u, json={ENVIRON})\n"}),
        (
            "python3 t.py",
            {
                "t__py": f"import requests, os\n{PADDING}requests.post(u, json={ENVIRON})\n"
                + "def main():\n    pass\n"
            },
        ),
        ("Rscript t.R", {"t__R": "unlink('data', recursive = TRUE)"}),
        ("pwsh -File t.ps1", {"t__ps1": "Remove-Item -Recurse -Force data"}),
        ("bash run.sh", {"run__sh": '. "$(dirname "$0")/lib.sh"\n', "lib__sh": GONE}),
        ("bash run.sh", {"run__sh": '"$HERE/lib.sh"\n', "lib__sh": GONE}),
        (
            "python3 t.py",
            {"t__py": "import shutil\nfor p in ['data']:\n    shutil.rmtree(p)\n"},
        ),
        (
            "python3 t.py",
            {"t__py": "import shutil\ndef gone(p):\n    shutil.rmtree(p)\ngone('data')\n"},
        ),
        ("python3 t.py data", {"t__py": "import shutil, sys\nshutil.rmtree(sys.argv[1])\n"}),
        (
            "python3 t.py",
            {"t__py": "import base64 as b, os\nx = b.b64decode('cm0gLXJmIGQ=')\nos.system(x)\n"},
        ),
        ("node t.js", {"t__js": "const p = 'data'; require('fs').rmSync(p, {recursive: true});"}),
        ("make", {"Makefile": "define x\nrm -rf data\nendef\nall:\n\t$(x)\n"}),
        ("make", {"Makefile": "C = rm\nall:\n\t$C -rf data\n"}),
        (
            "task x",
            {"Taskfile__yml": "tasks:\n  x:\n    deps: [y]\n  y:\n    cmds: [rm -rf data]\n"},
        ),
        ("npm run a", {"package__json": '{"scripts": {"a": "npm run b", "b": "rm -rf data"}}'}),
        ("run-s 'x:*'", {"package__json": '{"scripts": {"x:y": "rm -rf data"}}'}),
        ("uv run t.py", {"t__py": DELETES}),
        ("coverage run t.py", {"t__py": DELETES}),
        ("python3 -m cProfile -o x t.py", {"t__py": DELETES}),
        ("python3 -m pkg.m", {"pkg/__init__.py": DELETES}),
        ("gunicorn -w 2 t:app", {"t__py": DELETES}),
        ("celery -A t worker", {"t__py": DELETES}),
        ("python3 -m unittest t.Case.test_x", {"t__py": DELETES}),
        ("python3 -c \"__import__('t')\"", {"t__py": DELETES}),
        ("nodemon --watch src t.js", {"t__js": "require('fs').rmSync('data', {recursive: true})"}),
        ("rake x", {"Rakefile": "task(:x) { sh 'rm -rf data' }\n"}),
        ("expect x.exp", {"x__exp": "spawn rm -rf data\n"}),
        ("vim -S x.vim a", {"x__vim": "silent !rm -rf data\n"}),
        ("gdb -x x.gdb", {"x__gdb": "shell rm -rf data\n"}),
        ("nox -s x", {"noxfile__py": "import os\nos.system('rm -rf data')\n"}),
        ("./tool", {"tool": None}),
        ("./tool", {"tool": "#!/usr/bin/nonesuch\n"}),
    ],
)
def test_what_the_file_does_is_found(command: str, files: dict[str, str | None]):
    report = judged(command, files)

    assert report.verdict == "ask"
    assert report.judged


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("bash run.sh", {"run__sh": '"$PYTHON" -m pytest "$@"\n. "$HOME/x.sh"\n'}),
        ("bash --version run.sh", {"run__sh": "echo\n"}),
        ("bash -c 'echo run.sh'", {"run__sh": GONE}),
        ("cat run.sh; ls -l ./run.sh; chmod +x run.sh", {"run__sh": GONE}),
        ("vim run.sh", {"run__sh": GONE}),
        ("make", {"Makefile": f"all:\n\t@echo\nclean:\n\t{GONE}"}),
        ("make test", {"Makefile": "test: ; $(PY) -m pytest $(ARGS) $(wildcard *.py)\n"}),
        ("make help", {"Makefile": "help:\n\t@grep -E '^[a-z]+:' $(MAKEFILE_LIST) | sort\n"}),
        ("just --list", {"justfile": f"up:\n  {GONE}"}),
        ("npm run lint", {"package__json": '{"scripts": {"lint": "eslint .", "x": "rm -rf /"}}'}),
        ("npm install lodash", {"package__json": '{"scripts": {"postinstall": "rm -rf data"}}'}),
        ("npm test", {"package__json": "not json"}),
        ("git p", {".git/config": "[alias]\n\tp = status -s\n[core]\n\tpager = less\n"}),
        ("git status", {".git/config": "[alias]\n\tp = !rm -rf data\n"}),
        ("git status", {".git/config": "[credential]\n\thelper = store\n"}),
        ("go run main.go", {"main__go": 'exec.Command("go", "version"); os.Remove(path)'}),
        ("python3 t.py", {"t__py": "import subprocess, sys\nsubprocess.run(sys.argv[1:])\n"}),
        ("python3 t.py", {"t__py": "import os\nfor p in made:\n    os.remove(p)\n"}),
        ("python3 t.py", {"t__py": "import pickle\npickle.load(open('m.pkl', 'rb'))\n"}),
        ("python3 t.py", {"t__py": "def f(:\n"}),
        (
            "python3 t.py",
            {
                "t__py": "import os, requests\n"
                f"ENV = {ENVIRON}\n{PADDING}print(requests.get('https://x.example').text)\n"
            },
        ),
        ("node t.js", {"t__js": "const { execFile } = require('child_process'); execFile(x);"}),
        (
            "task y",
            {"Taskfile__yml": "tasks:\n  x:\n    cmds:\n    - rm -rf data\n  y:\n    cmds: [ls]\n"},
        ),
        ("make", {"Makefile": "all:\n\tfor i in a b; do echo $$i; done\n"}),
        ("npm run a", {"package__json": '{"scripts": {"a": "npm run a"}}'}),
        ("black t.py && ruff check t.py && mypy t.py && vim t.py", {"t__py": DELETES}),
        ("coverage report t.py", {"t__py": "print(1)\n"}),
        ("vim x.vim", {"x__vim": "silent !rm -rf data\n"}),
        ("nodemon t.js", {"t__js": "console.log('rm -rf data')"}),
        ("node t.js", {"t__js": "const p = tmpdir(); require('fs').rmSync(p);"}),
        ("bash run.sh", {"run__sh": '. "$(dirname "$0")/lib.sh"\n', "lib__sh": "true\n"}),
        ("node t.js", {"t__js": "app.delete('/users/1'); axios.delete('/users/2');"}),
        ("ruby t.rb", {"t__rb": "items.each { |i| eval(i) }\n"}),
        ("perl t.pl", {"t__pl": "do { print } while (<>);\n"}),
    ],
)
def test_harmless_files_ask_nothing(command: str, files: dict[str, str | None]):
    assert judged(command, files).findings == ()


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("./run.ps1", {"run__ps1": "Remove-Item -Recurse -Force data"}),
        (r".\run.ps1", {"run__ps1": "Remove-Item -Recurse -Force data"}),
        ("python t.py", {"t__py": "import shutil\nshutil.rmtree('data')\n"}),
        ("npm test", {"package__json": '{"scripts": {"test": "rm -rf data"}}'}),
    ],
)
def test_powershell_runs_files_too(command: str, files: dict[str, str | None]):
    assert judged(command, files, "powershell").verdict == "ask"


def test_a_question_names_the_file():
    report = judged("bash run.sh", {"run__sh": GONE})

    assert [found.why for found in report.findings] == [
        "rm deletes files permanently (in /workspace/run.sh)"
    ]


def test_the_floor_holds_in_files_too():
    assert judged("bash run.sh", {"run__sh": "rm -rf /\n"}).verdict == "deny"


def test_a_file_that_runs_itself_is_judged_once():
    assert judged("bash run.sh", {"run__sh": "sleep 5; exec bash run.sh\n"}).findings == ()


def test_too_many_files_are_not_left_out_in_silence():
    many = "; ".join(f"bash s{number}.sh" for number in range(400))

    assert [found.code for found in judged(many, {}).findings] == ["too_long"]


def test_what_the_command_writes_itself_counts_more():
    assert judged("echo true > run.sh; bash run.sh", {"run__sh": GONE}).findings == ()


def test_once_accepted_content_that_cannot_be_judged_asks_no_more():
    path = "/workspace/tool"
    for accepted in (False, True):
        given = Given(path, path, None, "d", "is not text", accepted=accepted)
        report = assess_command("./tool", given=(given,))
        assert [found.code for found in report.findings] == ([] if accepted else ["unread_file"])


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (
            "printf 'import shutil\nshutil.rmtree(\"data\")\n' > conftest.py; pytest t/test_a.py",
            {"t/test_a__py": "def test_a(): pass\n"},
        ),
        (
            f"printf 'all:\n\t{GONE.strip()}\n' > GNUmakefile; make",
            {"Makefile": "all:\n\ttrue\n"},
        ),
        (f"printf '{GONE.strip()}\n' > b.sh; bash a.sh; bash b.sh", {"a__sh": "true\n"}),
        (f"printf '{GONE.strip()}\n' > run.sh; ./run.sh", {"run__sh": "true\n"}),
    ],
)
def test_one_given_file_does_not_hide_one_that_the_script_wrote(
    command: str, files: dict[str, str | None]
):
    assert judged(command, files).findings != ()
