"""Small assembler for seccomp filters.

A filter is a list of blocks. Every block starts with the number of the call in the
accumulator and either returns a verdict or leaves the number for the next one.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence

from app.operations.sandbox.jail.numbers import ARCHITECTURE, KNOWN, NAMES, NUMBERS

ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
KILL_PROCESS = 0x80000000

_LOAD = 0x20
_EQUAL = 0x15
_ABOVE = 0x25
_ANY_BIT = 0x45
_AND = 0x54
_RETURN = 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16

Instruction = bytes


def refuse(number: int = errno.EPERM) -> int:
    """Return the verdict that fails the call with this errno."""
    return 0x00050000 | number


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> Instruction:
    return struct.pack("<HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


def argument(index: int) -> list[Instruction]:
    """Load the low half of an argument; both machines are little-endian."""
    return [_instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * index)]


def masked(bits: int) -> list[Instruction]:
    """Mask the loaded value with `bits`."""
    return [_instruction(_AND, bits)]


def give(verdict: int) -> list[Instruction]:
    """End with `verdict`."""
    return [_instruction(_RETURN, verdict)]


def when_equal(value: int, then: Sequence[Instruction]) -> list[Instruction]:
    """Run `then`, which must end in a verdict, if the loaded value equals `value`."""
    return [_instruction(_EQUAL, value, 0, len(then)), *then]


def when_any(bits: int, then: Sequence[Instruction]) -> list[Instruction]:
    """Run `then`, which must end in a verdict, if one of `bits` is set."""
    return [_instruction(_ANY_BIT, bits, 0, len(then)), *then]


def one_of(values: Sequence[int], hit: int, miss: int) -> list[Instruction]:
    """Give the verdict `hit` for each of `values`, otherwise `miss`."""
    lines = [line for value in values for line in when_equal(value, give(hit))]
    return lines + give(miss)


class Filter:
    """Filter under construction.

    It first ends processes of a foreign architecture, and treats unlisted calls (newer than our
    lists, and the x32 numbers) as missing.
    """

    def __init__(self) -> None:
        foreign = give(KILL_PROCESS)
        unknown = give(refuse(errno.ENOSYS))
        self._lines = [
            _instruction(_LOAD, _ARCHITECTURE_OFFSET),
            _instruction(_EQUAL, ARCHITECTURE, len(foreign), 0),
            *foreign,
            _instruction(_LOAD, _NUMBER_OFFSET),
            _instruction(_ABOVE, KNOWN, 0, len(unknown)),
            *unknown,
        ]

    def answer(self, names: Sequence[str], verdict: int) -> None:
        """Give `verdict` for each of these calls."""
        for name in names:
            self.judge(name, give(verdict))

    def judge(self, name: str, block: Sequence[Instruction]) -> None:
        """Decide this call by `block`, which must end in a verdict on every path.

        Raises:
            ValueError: no machine has a number for it, so it would not be filtered.
        """
        if name not in NAMES:
            raise ValueError(f"{name!r} has no number in `numbers.py`")
        if name in NUMBERS:
            self._lines += when_equal(NUMBERS[name], block)

    def program(self, otherwise: int) -> bytes:
        """Return the finished filter; `otherwise` is the verdict for every other call."""
        return b"".join([*self._lines, *give(otherwise)])
