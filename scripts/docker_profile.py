"""Run a program under Docker's default system call filter for containers.

    python -m scripts.docker_profile PROGRAM [ARGUMENT …]

Contains the relevant part of the profile for a container without capabilities: no namespaces, no
mounts, nothing that needs a capability. As in the profile, `clone3` and calls newer than it do not
exist. Must be started as root; the program may drop its rights afterwards.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from app.operations.sandbox.jail import bpf, seccomp

# Without chroot: the changed root of the proof is entered behind the filter.
_REFUSED = """
 unshare setns mount umount2 pivot_root fsopen fsconfig fsmount fspick open_tree move_mount
 mount_setattr bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
 add_key request_key keyctl init_module finit_module delete_module kexec_load kexec_file_load
 reboot swapon swapoff acct quotactl quotactl_fd settimeofday clock_settime iopl ioperm vhangup
 syslog nfsservctl uselib ustat sysfs _sysctl sethostname setdomainname open_by_handle_at
 fanotify_init lookup_dcookie mbind set_mempolicy move_pages migrate_pages"""
_NEW_NAMESPACES = 0x7E020000
_VSOCK, _CRYPTO = 40, 38


def profile() -> bytes:
    """Return the filter."""
    program = bpf.Filter()
    no, yes = bpf.give(bpf.refuse()), bpf.give(bpf.ALLOW)
    program.answer(_REFUSED.split(), bpf.refuse())
    program.answer(("clone3",), bpf.refuse(errno.ENOSYS))
    program.judge("clone", bpf.argument(0) + bpf.when_any(_NEW_NAMESPACES, no) + yes)
    families = bpf.argument(0) + bpf.when_equal(_VSOCK, no) + bpf.when_equal(_CRYPTO, no)
    program.judge("socket", families + yes)
    return program.program(bpf.ALLOW)


def main(words: Sequence[str]) -> None:
    """Install the filter and become the program."""
    seccomp.install(profile())
    os.execvp(words[0], list(words))  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main(sys.argv[1:])
