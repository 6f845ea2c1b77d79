"""Limits of a tree: those of the kernel, and those the supervisor meters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.parts import ROOT_USER, Part
from tests.operations.sandbox.jail.inside import COMMON, Inside, bash, python
from tests.support.binaries import lacks, needs

MB = 1 << 20


def test_memory_of_the_whole_tree(inside: Inside, layers: tuple[str, ...], root: Path):
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        hold = os.urandom(1) * (60 << 20)
        time.sleep(30)
time.sleep(30)
"""

    result = inside.run(python(code, "lenient", root, layers, memory_bytes=200 * MB))

    assert result.ended["reason"] == "memory"
    assert result.ended["peak_bytes"] > 200 * MB


def test_memory_of_children_of_threads(inside: Inside, layers: tuple[str, ...], root: Path):
    """They hang below the thread that forked them, where a hasty look misses them."""
    code = """
import os, threading, time
def hog():
    if os.fork() == 0:
        hold = os.urandom(1) * (100 << 20)
        time.sleep(30)
    time.sleep(30)
for _ in range(3):
    threading.Thread(target=hog).start()
"""

    result = inside.run(python(code, "lenient", root, layers, memory_bytes=250 * MB))

    assert result.ended["reason"] == "memory"


def test_memory_of_one_process(inside: Inside, root: Path):
    for level in ("strict", "standard"):
        result = inside.run(python("x = [0] * 10**9", level, root, COMMON, memory_bytes=256 * MB))

        assert "MemoryError" in result.err, result
        assert result.ended["code"] == 1


def test_processor_time(inside: Inside, layers: tuple[str, ...], root: Path):
    result = inside.run(python("while True: pass", "lenient", root, layers, cpu_s=1))

    assert result.ended["reason"] == "timeout"


def test_time_begins_when_the_walls_stand(inside: Inside, layers: tuple[str, ...], root: Path):
    for job in (
        bash("sleep 30", root, layers, wall_s=0),
        python("while True: pass", "strict", root, COMMON, wall_s=0),
    ):
        result = inside.run(job)

        assert [event["event"] for event in result.events] == ["started", "ended"]
        assert result.ended["reason"] == "timeout"


def test_a_fork_bomb_is_bounded_and_ended(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "bomb() { bomb | bomb & }; bomb; while :; do sleep 0.1; done"

    result = inside.run(bash(script, root, layers, processes=40, tasks=40, wall_s=1))

    assert result.ended["reason"] in ("processes", "timeout")
    assert result.ended["kill"] in ("pidns", "landlock")


def test_who_watches_comes_before_what_is_watched(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    result = inside.run(bash("nice; cut -d' ' -f19 /proc/$PPID/stat", root, layers))

    ours = os.getpriority(os.PRIO_PROCESS, 0)
    payload, *supervisor = map(int, result.out.split())
    assert payload > ours
    assert all(nice == (-10 if os.geteuid() == 0 else ours) for nice in supervisor)


def test_a_tree_of_too_many_processes_is_ended(inside: Inside, layers: tuple[str, ...], root: Path):
    # `sh` ends at once where a fork fails; bash tries again, for longer and longer.
    script = "exec sh -c 'for i in $(seq 30); do sleep 60 & done; wait'"

    result = inside.run(bash(script, root, layers, processes=20, tasks=20))

    # where the kernel keeps the limit it says no first
    reported = ("Resource temporarily", "Cannot fork")
    assert result.ended["reason"] == "processes" or any(part in result.err for part in reported)


def test_orphans_that_ended_do_not_count(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "for i in $(seq 60); do (true &) ; sleep 0.02; done; echo through"

    result = inside.run(bash(script, root, layers, processes=30, tasks=30))

    assert result.out == "through\n", result


def test_one_file(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "dd if=/dev/zero of=f bs=1M count=20"

    result = inside.run(bash(script, root, layers, file_bytes=4 * MB))

    assert (root / "f").stat().st_size == 4 * MB
    assert result.ended["code"] not in (0, None) or result.ended["signal"]


def test_disk_of_the_whole_tree(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "while :; do dd if=/dev/zero of=f bs=1M count=8 2>/dev/null; sleep 0.02; done"

    result = inside.run(bash(script, root, layers, disk_bytes=64 * MB))

    assert result.ended["reason"] == "disk"
    assert result.ended["written_bytes"] > 64 * MB


FILL = "for i in 1 2 3 4 5 6; do head -c 16777216 /dev/zero > f$i; done; sleep 20"
FILL_UNLINKED = "exec 3> f; rm f; head -c 100663296 /dev/zero >&3; sleep 20"
FILL_CLOSED = (
    "mkdir d; exec 3> d/f; chmod 000 d; head -c 100663296 /dev/zero >&3; exec 3>&-; sleep 20"
)
FILL_LINKED = (
    "exec 3> f; for i in $(seq 20); do ln f f$i; done; head -c 100663296 /dev/zero >&3; sleep 20"
)
FILL_BEHIND = """
import os, time
for _ in range(300):
    os.open("/dev/null", os.O_RDONLY)
f = os.open("f", os.O_CREAT | os.O_WRONLY)
os.unlink("f")
for _ in range(96):
    os.write(f, bytes(1 << 20))
time.sleep(20)
"""
"""Behind more descriptors than anybody looks at."""
FILL_BY_CHILDREN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for number in range(40):
    if os.fork() == 0:
        f = os.open(f"f{number}", os.O_CREAT | os.O_WRONLY)
        os.write(f, bytes(4 << 20))
        time.sleep(0.3)
        os._exit(0)
    time.sleep(0.1)
time.sleep(20)
"""
"""By children that nobody reaps, so that what they wrote is added to nobody's count."""


@pytest.fixture
def in_memory(root: Path) -> Iterator[Path]:
    """The workspace on a file system where no write is counted."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=256m,mode=777", "tollgate", str(root)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        lacks(Part("mounts", "run as root, and allow mounts"))
    yield root
    subprocess.run(["umount", "--lazy", str(root)], check=True)


@needs(ROOT_USER)
@pytest.mark.parametrize(
    "script",
    [FILL, FILL_UNLINKED, FILL_CLOSED, FILL_LINKED],
    ids=["named", "unlinked", "closed", "linked"],
)
def test_files_in_memory_count_as_written_with_and_without_a_name(
    inside: Inside, layers: tuple[str, ...], in_memory: Path, script: str
):
    # without a floor: else the file system itself would be too small, whatever was counted
    limits = {"disk_bytes": 64 * MB, "disk_floor_bytes": 0}
    result = inside.run(bash(script, in_memory, layers, **limits))
    assert result.ended["reason"] == "disk", result


@needs(ROOT_USER)
def test_no_descriptor_is_too_high_to_be_looked_at(
    inside: Inside, layers: tuple[str, ...], in_memory: Path
):
    limits = {"disk_bytes": 64 * MB, "disk_floor_bytes": 0}
    result = inside.run(python(FILL_BEHIND, "lenient", in_memory, layers, **limits))
    assert result.ended["reason"] == "disk", result


def test_what_children_wrote_counts_also_where_nobody_reaps_them(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    limits = {"disk_bytes": 64 * MB, "disk_floor_bytes": 0}
    result = inside.run(python(FILL_BY_CHILDREN, "lenient", root, layers, **limits))
    assert result.ended["reason"] == "disk", result


def test_an_unlinked_file_on_a_disk_counts_as_written(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    result = inside.run(bash(FILL_UNLINKED, root, layers, disk_bytes=64 * MB))
    assert result.ended["reason"] == "disk", result


def test_what_may_not_be_looked_into_has_no_disk_of_its_own(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    script = "cp /bin/sleep hidden && chmod 111 hidden && ./hidden 30"

    result = inside.run(bash(script, root, layers, wall_s=20))

    assert result.ended["reason"] == "disk"


def test_nobody_hides_from_the_meter(inside: Inside, layers: tuple[str, ...], root: Path):
    code = """
import ctypes
print([ctypes.CDLL(None).prctl(4, value, 0, 0, 0) for value in (0, 1)])
"""

    result = inside.run(python(code, "lenient", root, layers))

    assert result.out == "[-1, 0]\n"


def test_what_has_ended_does_not_hide(inside: Inside, layers: tuple[str, ...], root: Path):
    code = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
time.sleep(1)
print("through")
"""

    result = inside.run(python(code, "lenient", root, layers))

    assert result.out == "through\n"
    assert result.ended["reason"] == "exited"


def test_the_number_of_files(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "i=0; while :; do i=$((i+1)); : > f$i; done"

    result = inside.run(bash(script, root, layers, inodes=3000))

    assert result.ended["reason"] == "files"


def test_a_disk_that_is_nearly_full(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "for i in {1..20}; do head -c 2M /dev/zero > f$i; sleep 0.05; done; rm f*"
    policy = {"disk_floor_bytes": 1 << 60, "disk_bytes": 1 << 40}

    # Whoever makes more room meanwhile than this writes hides it: a later tree begins with the
    # room that there is then.
    runs = (inside.run(bash(script, root, layers, **policy)) for _ in range(30))

    assert "disk_full" in (run.ended["reason"] for run in runs)


def test_files_cannot_be_hidden_from_the_count(inside: Inside, layers: tuple[str, ...], root: Path):
    script = "mkdir h; cd h; chmod 300 .; i=0; while :; do i=$((i+1)); : > f$i; done"

    result = inside.run(bash(script, root, layers, inodes=1000))
    (root / "h").chmod(0o700)

    assert result.ended["reason"] == "files"


def test_files_of_others_do_not_count(inside: Inside, layers: tuple[str, ...], root: Path):
    run = inside.start(
        bash("touch a b c; echo up; sleep 1; echo through", root, layers, inodes=500)
    )
    run.printed("up")
    for number in range(1000):
        (root.parent / f"other{number}").touch()

    assert run.finish().out == "up\nthrough\n"


def test_space_cannot_be_reserved_unmetered(inside: Inside, layers: tuple[str, ...], root: Path):
    result = inside.run(bash("fallocate -l 100M f; stat -c %b f", root, layers))

    assert "not supported" in result.err
    assert result.out == "0\n"


def test_memory_the_kernel_holds_for_sockets(inside: Inside, layers: tuple[str, ...], root: Path):
    code = """
import os, socket, time
for _ in range(12):
    if os.fork() == 0:
        pairs = [socket.socketpair() for _ in range(200)]
        time.sleep(30)
time.sleep(30)
"""

    result = inside.run(python(code, "lenient", root, layers, memory_bytes=512 * MB))

    assert result.ended["reason"] == "memory"


def test_open_files_and_core_dumps(inside: Inside, layers: tuple[str, ...], root: Path):
    result = inside.run(bash("ulimit -Hn; ulimit -Hc; ulimit -Hl", root, layers, open_files=64))

    assert result.out.split() == ["64", "0", "0"]
