"""What a tree may read, write and change, with namespaces and with the metadata guard."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.operations.sandbox.jail.inside import NAMESPACES, Inside, bash, python

CALLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def errno_of(name, *arguments):
    return ctypes.get_errno() if getattr(libc, name)(*arguments) < 0 else 0
"""


def test_ordinary_work_in_the_workspace_works(inside: Inside, layers: tuple[str, ...], root: Path):
    script = """
        set -e
        mkdir -p a/b && echo text > a/b/f && mv a/b/f a/g && ln -s g a/link && cat a/link
        chmod 750 a/g && stat -c %a a/g && touch -d 2001-02-03 a/g && date -r a/g +%F
        printf '#!/bin/sh\\necho ran' > a/run && chmod +x a/run && a/run
        cp -p a/g a/h && tar cf t.tar a && mkdir out && tar xf t.tar -C out && cat out/a/g
        chmod 700 /proc/self/fd/9 9<a/g; stat -c %a a/g; rm -r a; cat <(echo substituted)
    """

    result = inside.run(bash(script, root, layers))

    lines = ["text", "750", "2001-02-03", "ran", "text", "700", "substituted"]
    if layers == NAMESPACES:  # the name of the descriptor leads to it there too
        assert result.ended["code"] == 0
    assert (result.out.split(), result.err) == (lines, "")


def test_files_move_and_link_between_folders(inside: Inside, layers: tuple[str, ...], root: Path):
    """As git does when it takes in what was pushed; `mv` would copy where that fails."""
    program = (
        "import os; os.mkdir('a'); os.mkdir('b'); open('a/f', 'w').close();"
        " os.link('a/f', 'b/linked'); os.rename('a/f', 'b/moved')"
    )
    result = inside.run(bash(f'python3 -c "{program}"; ls b', root, layers))

    assert (result.out.split(), result.err) == (["linked", "moved"], "")


@pytest.mark.parametrize(
    "attempt",
    [
        "cat ../secret",
        "ln -s ../secret s && cat s",
        "ln ../secret hard && cat hard",
        "mv ../secret here && cat here",
        "cat /proc/self/root/$PWD/../secret",
        "cat /proc/$PPID/environ",
        "cat /etc/passwd",
        "cat /proc/1/environ /proc/1/maps",
        "dd if=/proc/1/mem bs=1 count=1",
    ],
)
def test_nothing_outside_is_read(inside: Inside, layers: tuple[str, ...], root: Path, attempt: str):
    result = inside.run(bash(attempt, root, layers))

    assert result.ended["code"] != 0
    assert result.out == ""
    assert (root.parent / "secret").read_text() == "topsecret"


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > ../secret",
        "echo x > ../new",
        "rm ../secret",
        "mkdir ../new",
        "mv f ../new",
        "ln f ../new",
        "truncate -s 0 ../secret",
        "touch ../new",
        "mkfifo ../new",
        "echo x > /dev/shm/../../tmp/tollgate-escape",
    ],
)
def test_nothing_outside_is_written(
    inside: Inside, layers: tuple[str, ...], root: Path, attempt: str
):
    before = sorted(path.name for path in root.parent.iterdir())

    result = inside.run(bash(f"touch f; {attempt}", root, layers))

    assert result.ended["code"] != 0
    assert sorted(path.name for path in root.parent.iterdir()) == before
    assert (root.parent / "secret").read_text() == "topsecret"
    assert not Path("/tmp/tollgate-escape").exists()


@pytest.mark.parametrize(
    "attempt",
    [
        "os.chmod('../secret', 0o777)",
        "os.chmod('link', 0o777)",
        "os.fchmodat = libc.fchmodat(os.open('..', os.O_PATH), b'secret', 0o777, 0)",
        "os.chmod('/proc/self/cwd/../secret', 0o777)",
        "os.fchmod(os.open('../secret', os.O_PATH), 0o777)",
        "os.chmod(f\"/proc/self/fd/{os.open('../secret', os.O_PATH)}\", 0o777)",
        "libc.syscall(452, -100, b'../secret', 0o777, 0)",
        "os.utime('../secret', (1, 1))",
        "os.utime('link', (1, 1))",
        "os.utime(f\"/proc/self/fd/{os.open('../secret', os.O_PATH)}\", (1, 1))",
        "libc.utimensat(os.open('../secret', os.O_PATH), None, None, 0)",
        "libc.syscall(280, os.open('..', os.O_PATH), b'secret', None, 0)",
        "os.setxattr('../secret', 'user.x', b'1')",
        "os.chown('../secret', os.getuid(), os.getgid())",
        "libc.chroot(b'..'); os.chmod('secret', 0o777)",
    ],
)
def test_modes_and_times_outside_stay(
    inside: Inside, layers: tuple[str, ...], root: Path, attempt: str
):
    secret = root.parent / "secret"
    (root / "link").symlink_to("../secret")
    before = secret.stat()

    inside.run(python(f"{CALLS}\n{attempt}", "lenient", root, layers))

    after = secret.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_atime_ns, after.st_ctime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_atime_ns,
        before.st_ctime_ns,
    )
    assert os.listxattr(secret) == []


def test_a_file_that_may_be_read_keeps_its_mode(
    inside: Inside, layers: tuple[str, ...], world: Path, root: Path
):
    """An open descriptor is enough for fchmod, whatever Landlock said when it was opened."""
    tools = world / "tools"
    tools.mkdir()
    tool = tools / "tool"
    tool.write_text("read me")
    tool.chmod(0o644)
    tools.chmod(0o755)
    if inside.uid is not None:
        os.chown(tool, inside.uid, inside.uid)
    code = f"import os\nf = open({str(tool)!r})\nprint(f.read())\nos.fchmod(f.fileno(), 0o666)"

    result = inside.run(python(code, "lenient", root, layers, readable=(str(tools),)))

    assert result.out == "read me\n"
    assert result.ended["code"] == 1
    assert stat.S_IMODE(tool.stat().st_mode) == 0o644


def test_no_set_id_bits_and_no_devices(inside: Inside, layers: tuple[str, ...], root: Path):
    code = f"""{CALLS}
open('f', 'w').close()
print([errno_of('chmod', b'f', 0o4755), errno_of('fchmod', os.open('f', 0), 0o2755)])
print([errno_of('open', b'g', os.O_CREAT, 0o4755), errno_of('creat', b'g', 0o2755)])
print([errno_of('openat', -100, b'.', os.O_TMPFILE | 2, 0o4755), libc.syscall(437, 0)])
print([errno_of('mknod', b'd', 0o020666, 0x103), errno_of('mkfifo', b'p', 0o600)])
"""

    result = inside.run(python(code, "lenient", root, layers))

    assert result.out.splitlines() == ["[1, 1]", "[1, 1]", "[1, -1]", "[1, 0]"]


def test_the_working_folder_cannot_be_a_way_out(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    (root / "out").symlink_to("..")
    job = bash("cat secret", root, layers)
    moved = type(job)(**{**{n: getattr(job, n) for n in job.__slots__}, "cwd": "out"})

    result = inside.run(moved)

    assert result.ended["reason"] == "setup"
    assert result.out == ""


def test_swapped_paths_do_not_fool_the_guard(inside: Inside, layers: tuple[str, ...], root: Path):
    """A folder and a link to outside change places while modes are set through them."""
    code = f"""{CALLS}
import threading, time
os.mkdir('real'); open('real/secret', 'w').close(); os.symlink('..', 'fake')
over = False
def swap():
    while not over:
        libc.renameat2(-100, b'real', -100, b'fake', 2)
threading.Thread(target=swap).start()
tries = done = 0
while tries < 3000 or not done:  # the other thread may not run at all for so many
    tries += 1
    try:
        os.chmod('real/secret', 0o700)
        done += 1
    except OSError:
        pass
over = True
print(done > 0)
"""
    secret = root.parent / "secret"

    result = inside.run(python(code, "lenient", root, layers))

    assert result.out == "True\n", result
    assert stat.S_IMODE(secret.stat().st_mode) == 0o666
