"""Leaving something in the workspace with which others could become somebody else."""

from __future__ import annotations

from tests.escape.attempt import Attempt
from tests.escape.judges import trap_set

_TRAPS = {
    "set-id-bit": """
import os, shutil
shutil.copy("/bin/true", WS + "/tool")
for mode in (0o4755, 0o2755):
    try:
        os.chmod(WS + "/tool", mode)
    except OSError:
        pass
""",
    "set-id-by-descriptor": """
import os
descriptor = os.open(WS + "/tool", os.O_CREAT | os.O_RDWR, 0o755)
os.fchmod(descriptor, 0o6755)
""",
    "set-id-at-creation": """
import os
os.umask(0)
os.close(os.open(WS + "/tool", os.O_CREAT | os.O_RDWR, 0o6755))
""",
    "set-id-node": "import os\nos.umask(0)\nos.mknod(WS + '/tool', 0o106755)",
    "set-id-by-openat2": """
import ctypes, os, struct
os.umask(0)
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_RDWR, 0o6755, 0), 24)
ctypes.CDLL(None).syscall(437, -100, f"{WS}/tool".encode(), how, 24)
""",
    "set-id-unnamed": """
import ctypes, os
os.umask(0)
descriptor = os.open(WS, os.O_TMPFILE | os.O_RDWR, 0o6755)
source = f"/proc/self/fd/{descriptor}".encode()
ctypes.CDLL(None).linkat(-100, source, -100, f"{WS}/tool".encode(), 0x400)
""",
    "device": "import os\nos.mknod(WS + '/null', 0o020666, os.makedev(1, 3))",
    "capabilities": """
import os, struct
open(WS + "/tool", "w").close()
os.setxattr(WS + "/tool", "security.capability", struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))
""",
}

TRAPS: tuple[Attempt, ...] = (
    *(Attempt(name, "paths", source, trap_set) for name, source in _TRAPS.items()),
    Attempt(
        "core-dump",
        "paths",
        "import os, resource\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)\n"
        "os.abort()",
        trap_set,
        unseen="where core files go is a setting of the machine",
    ),
)
