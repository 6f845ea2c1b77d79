"""Secrets of a home folder that any program shows, packs or copies.

A program that names such a file reads it, unless it is known to do something else: authenticate
with it, or only use its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import CommandCall, RuleMatch, names, options, prints_help
from app.policy.risk.command import PRINTERS
from app.policy.risk.paths import reading

_SHOWING = frozenset(
    names(
        # Text and bytes.
        "shuf pv ptx basenc csplit tsort look ul hd unexpand colrm hexyl hexedit bsdcat tac gcat "
        "ghead gtail fmt fold expand uuencode qrencode pygmentize highlight source-highlight "
        # Readers, editors and what searches.
        "most moar micro ed code subl gedit kate pico ne helix hx mcedit kilo joe emacs glow mdcat "
        "lolcat batcat zcat bzcat xzcat lzcat zstdcat gzcat zless zmore zgrep bzgrep xzgrep ugrep "
        "ag ack xmllint csvlook mlr dasel ffmpeg "
        # Archives and copies.
        "7z 7za 7zr 7zz rar ar cpio pax dar rclone rdiff-backup restic borg duplicity "
        "qpdf mksquashfs genisoimage mkisofs xorriso pigz lz4 brotli zstd bzip2 xz lzma lzop "
        "compress"
    )
)
"""Programs that read every given file, with any option before it."""
_LOOKS = frozenset(
    names(
        "getfacl lsattr namei exa eza lsd tree ncdu dust duf inotifywait entr fuser lsof chcon "
        "restorecon setfattr getfattr pathchk mktemp trash trash-put gio mountpoint findmnt "
        "wslpath cygpath zoxide autojump z open xdg-open ssh-add ssh-keygen ssh-copy-id "
        "ssh-keyscan ssh-agent keychain mosh autossh sshpass stow chezmoi dotbot watchman "
        "shellcheck touch mkdir unset unalias alias hash bind complete trap wait kill"
    )
)
"""Programs that use a file's name, authenticate with it, or manage it."""
_LISTED = frozenset(["date", "file"])
"""Programs that repeat the lines of a file of names in their output."""
_LOGS_IN = re.compile(
    r"-{1,2}(?:[\w-]*(?:key|ident|cred|conf|cert|auth|token|netrc|pass|secret|home|profile|account|"
    r"login|vault|kube|env|user|sock)[\w-]*|[icCFkfKdDsSuUa])$",
    re.IGNORECASE,
)
"""Options whose value a program authenticates with."""


def shows_secret(call: CommandCall, *, known: bool) -> Iterator[RuleMatch]:
    """Ask about a secret of a home folder in the words of `call`.

    Args:
        known: a rule knows what the program does with its files.
    """
    if call.name in _LISTED:
        for path in options(call.args, "f -file -files-from").all_values(
            "-f", "--file", "--files-from"
        ):
            yield from reading(call.at(path), call.home)
    every = call.name in _SHOWING
    if (known and not every) or call.name in _LOOKS or call.name in PRINTERS:
        return
    if prints_help(call.args):
        return
    for path in _paths(call, every=every):
        for hit in reading(call.at(path), call.home):
            if hit.code == "secret_read":
                yield hit
                return


def _paths(call: CommandCall, *, every: bool) -> Iterator[str]:
    if call.name in {"cpio", "pax"} and call.stdin and call.stdin.text:
        yield from call.stdin.text.splitlines()
    before = ""
    for word in call.args:
        if word[:1] == "-":
            name, _, value = word.partition("=")
            if value and (every or not _LOGS_IN.match(name)):
                yield value
        elif every or "=" in before or not _LOGS_IN.match(before):
            yield word
        before = word


def packs_secret(call: CommandCall) -> Iterator[RuleMatch]:
    """Handle `tar c -C ~ .aws`: members are relative to the preceding folder."""
    args = list(call.args)
    if args and args[0][:1] != "-":
        args[0] = "-" + args[0]
    given = options(args, "f C X b T -file -directory -exclude -transform -files-from")
    for folder in given.all_values("-C", "--directory"):
        for member in given.rest:
            yield from reading(call.at(f"{folder}/{member}"), call.home)
