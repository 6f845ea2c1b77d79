"""Disks, file systems and raw devices."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk import floor
from app.policy.risk.call import (
    Answer,
    CommandCall,
    RuleTable,
    ask,
    deny,
    only_help,
    options,
    table,
)
from app.policy.risk.paths import is_below, reading, writing

_READ_ONLY = {
    "fdisk": {"-l", "--list", "-s", "--getsz"},
    "sfdisk": {"-l", "--list", "-d", "--dump", "-J", "--json", "-s", "-V", "--verify"},
    "gdisk": {"-l"},
    "sgdisk": {"-p", "--print", "-i", "--info", "-v", "--verify", "-L", "--list-types"},
    "parted": {"-l", "--list", "print"},
    "hdparm": {"-I", "-i", "-t", "-T", "-g", "-C"},
    "smartctl": {"-a", "-i", "-H", "-x"},
    "nvme": {"list", "smart-log", "id-ctrl", "id-ns", "error-log"},
    "wipefs": {"-n", "--no-act"},
    "blkdiscard": set(),
    "badblocks": set(),
    "cryptsetup": {"status", "luksDump", "isLuks", "open", "luksOpen", "close", "luksClose"},
    "mdadm": {"--detail", "-D", "--examine", "-E", "--query", "-Q"},
}


def _dd(call: CommandCall) -> Iterator[Answer]:
    given = dict(arg.partition("=")[::2] for arg in call.args)
    if "of" in given:
        yield from writing(call.at(given["of"]), call.home)
    if "if" in given:
        yield from reading(call.at(given["if"]), call.home)
    target = given.get("of")
    if target not in {"/dev/null", "/dev/stdout", None} and not _makes_file(call, given):
        yield ask("raw_copy", "dd overwrites its target byte by byte")


_FILLING = frozenset(["/dev/zero", "/dev/urandom", "/dev/random", "/dev/null"])
_INTO_FILE = frozenset(["notrunc", "nocreat"])


def _makes_file(call: CommandCall, given: dict[str, str]) -> bool:
    """Return whether it creates a file: `dd if=/dev/zero of=test.bin` is like `> test.bin`.

    Writing at a position inside a file, and copies, do not count.
    """
    source = given.get("if", "")
    within = "seek" in given or not _INTO_FILE.isdisjoint(given.get("conv", "").split(","))
    return source in _FILLING and not within and is_below(call.at(given["of"]), call.cwd)


def _make_file_system(call: CommandCall) -> Iterator[Answer]:
    if only_help(call.args) or not call.args:
        return
    if any(floor.is_block_device(call.at(arg)) for arg in call.args if "/" in arg):
        yield deny("format_device", f"{call.name} formats a device")
    else:
        yield ask("format", f"{call.name} formats its target")


def _partition(call: CommandCall) -> Iterator[Answer]:
    if only_help(call.args) or set(call.args) & _READ_ONLY.get(call.name, set()) or not call.args:
        return
    if call.name == "wipefs" and not options(call.args, "t o").has("-a", "--all", "-o", "--offset"):
        return
    device = any(floor.is_block_device(call.at(arg)) for arg in call.args if "/" in arg)
    if device:
        yield deny("raw_device", f"{call.name} changes a raw device")
    else:
        yield ask("disk", f"{call.name} changes a disk")


def _repair(call: CommandCall) -> Iterator[Answer]:
    shows = options(call.args, "t C j J b B").has("-n", "-N", "-l", "-V", "--no-modify")
    if call.args and not shows and not only_help(call.args):
        yield ask("disk", f"{call.name} changes a file system")


def _volumes(call: CommandCall) -> Iterator[Answer]:
    if not only_help(call.args):
        yield ask("volume", f"{call.name} removes a volume")


def _loops(call: CommandCall) -> Iterator[Answer]:
    if options(call.args, "o j b").has("-d", "-D", "--detach", "--detach-all"):
        yield ask("volume", "removes a loop device")


def _pools(call: CommandCall) -> Iterator[Answer]:
    if set(call.args[:2]) & {
        "destroy",
        "rollback",
        "labelclear",
        "delete",
        "remove",
        "subvolume",
    } and ("list" not in call.args and "show" not in call.args and "create" not in call.args):
        yield ask("volume", f"{call.name} destroys storage")


RULES: RuleTable = {
    "dd": _dd,
    "dcfldd": _dd,
    "gdd": _dd,
    **table(
        "mkfs mke2fs mkswap mkdosfs mkntfs newfs mkexfatfs mkfs.ext2 mkfs.ext3 "
        "mkfs.ext4 mkfs.xfs mkfs.btrfs "
        "mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs mkfs.minix mkfs.msdos "
        "mkfs.bfs mkfs.cramfs "
        "newfs_hfs newfs_apfs newfs_msdos mkfs.jfs mkfs.reiserfs mkfs.udf",
        _make_file_system,
    ),
    **table(
        "fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard hdparm nvme "
        "badblocks cryptsetup mdadm partprobe",
        _partition,
    ),
    "losetup": _loops,
    **table("fsck e2fsck fsck.ext4 xfs_repair tune2fs resize2fs debugfs btrfsck", _repair),
    **table("lvremove vgremove pvremove lvreduce swapoff", _volumes),
    **table("zfs zpool btrfs", _pools),
}
