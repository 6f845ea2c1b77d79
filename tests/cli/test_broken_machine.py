"""A full disk, a folder that another service has: one clear line, and nothing half done."""

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

from app.db.schema import HEAD, current_revision
from tests.cli.program import PATIENCE_S, environment, tollgate
from tests.cli.test_serve import started
from tests.support import forked

# No file may grow beyond it: the system says so as it would on a full disk.
SMALL = 300 * 512


def on_a_full_disk(data_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.run(
        words,
        cwd=data_dir,
        environment=environment(data_dir),
        before=f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({SMALL}, {SMALL}))",
    )


def test_a_full_disk_is_one_clear_line_and_the_database_can_still_be_made(tmp_path):
    for words in (("serve", "--port", "0"), ("db", "upgrade")):
        done = on_a_full_disk(tmp_path, *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: Cannot create the database tollgate.db in ")
        assert done.stderr.count("\n") == 1
    assert current_revision(tmp_path / "tollgate.db") is None

    assert tollgate(tmp_path, "db", "upgrade").returncode == 0

    assert current_revision(tmp_path / "tollgate.db") == HEAD


def test_a_second_service_on_the_same_data_does_not_start(installation):
    with started(installation) as (process, facts):
        second = tollgate(installation, "serve", "--port", "0")
        with urllib.request.urlopen(f"{facts['url']}/api/v1/health", timeout=PATIENCE_S) as answer:
            assert json.load(answer)["status"] == "ok"
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr.startswith(f"error: Another service is running on '{installation}'")
        assert second.stderr.count("\n") == 1
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
    with started(installation) as (process, facts):
        assert facts["data"] == str(installation)


def test_a_data_directory_that_is_a_file_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = tollgate(tmp_path, "serve", "--port", "0", TOLLGATE_DATA_DIR=str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "set TOLLGATE_DATA_DIR" in done.stderr
    assert done.stderr.count(os.linesep) == 1
