"""The filter that the proof of the image puts in the place of Docker's."""

import json
import subprocess
import sys

from scripts.parts import ROOT_USER
from tests.support.binaries import needs
from tests.support.source import ROOT

TRIES = """
import ctypes, errno, json, os, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
def tried(call, *arguments):
    ctypes.set_errno(0)
    call(*arguments)
    return errno.errorcode.get(ctypes.get_errno(), "")
namespaces = tried(libc.unshare, 0x10000000)
mounts = tried(libc.mount, b"tmpfs", b"/tmp", b"tmpfs", 0, None)
thread = threading.Thread(target=str)
thread.start()
thread.join()
child = os.waitpid(os.spawnlp(os.P_NOWAIT, "true", "true"), 0)[1]
socket.socket().close()
print(json.dumps([namespaces, mounts, child]))
"""


@needs(ROOT_USER)  # a filter without no_new_privs
def test_namespaces_and_mounts_are_refused_and_ordinary_programs_run():
    done = subprocess.run(
        [sys.executable, "-m", "scripts.docker_profile", sys.executable, "-c", TRIES],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert json.loads(done.stdout) == ["EPERM", "EPERM", 0]
