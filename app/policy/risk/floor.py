"""The deny floor, which no mode, rule or grant overrides. Deliberately minimal.

- recursive delete, chmod or chown of /, of a home directory or of a system directory
- any write to or removal of /etc/passwd, /etc/shadow, /etc/gshadow, /etc/group, /etc/sudoers
- writing to a raw block device, making a file system on one, wiping its signatures
- a fork bomb
- turning the host off or restarting it; kill -1 (every process)
- hidden, bidirectional or control characters in the command
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from app.policy.risk.call import UNKNOWN, names

_SYSTEM = frozenset(
    f"/{name}"
    for name in names(
        "bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys "
        "usr var usr/bin usr/lib usr/lib64 usr/sbin usr/share usr/local usr/local/bin "
        "var/lib System Library Applications Users Volumes private c mnt/c"
    )
)
_ACCOUNTS = re.compile(
    r"/etc/(?:passwd|shadow|gshadow|group|sudoers)-?$|/etc/sudoers\.d(?:/|$)|/etc/pam\.d(?:/|$)"
)
_BLOCK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|dm-\d|md\d|sr\d|mapper/|"
    r"disk/by-|vda|loop\d"
    r"|mem$|kmem$|port$|mtd|zd\d|nbd\d)"
)
_ALL_WITHIN = re.compile(r"/(?:\*+|\.\*|\.\[!\.\]\*|\.\?+\*|\{.*\})$")
_TOP_PATTERN = re.compile(r"/[^/]*[*?\[][^/]*")
_HOMES = re.compile(r"/(?:home|Users)/[^/*?]+$")


def is_block_device(path: str) -> bool:
    return bool(_BLOCK.match(path))


def is_account_file(path: str) -> bool:
    return bool(_ACCOUNTS.match(path))


def is_catastrophic(path: str, home: str) -> bool:
    """Return whether deleting all of the absolute `path` destroys the host or a home."""
    if path.startswith(UNKNOWN):
        return False
    bare = _ALL_WITHIN.sub("", path)
    while bare.endswith("/*"):
        bare = bare[:-2]
    if bare in {"", "/"} or path == "/*":
        return True
    if _TOP_PATTERN.fullmatch(path):
        return _top_level_glob(path)
    return bare in _SYSTEM or bare == home or bool(_HOMES.match(bare))


def _top_level_glob(path: str) -> bool:
    return any(fnmatchcase(name, path) for name in _SYSTEM if name.count("/") == 1)
