"""Options and inputs of single programs that contain commands: hooks, filters, file transfer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, RuleTable, ask, names, options, run, script
from app.policy.risk.model import RiskLevel

_TRANSFER = re.compile(
    r"\s*-?(?:glob\s+(?:-\w+\s+)?)?(?:m?delete|m?rm|rmdir|rmd|dele?|deltree|rd)\b"
    r"|\s*mirror\b.*--delete"
)


def _transferred(text: str | None, separator: str) -> Iterator[Answer]:
    """Handle commands of a file transfer: `!` runs one here, and some delete remotely."""
    for line in re.split(separator, text or ""):
        if line.lstrip().startswith("!"):
            yield script(line.lstrip()[1:])
        elif _TRANSFER.match(line):
            yield ask("delete", "deletes files on another host", RiskLevel.MEDIUM)


def _transfer(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "c e f b u p P l B -command -execute")
    for text in given.all_values("-c", "-e", "--command", "--execute"):
        yield from _transferred(text, r"[;\n]")
    if call.stdin and call.stdin.text is not None:
        yield from _transferred(call.stdin.text, r"[;\n]")


def _mail(call: CommandCall) -> Iterator[Answer]:
    for text in options(call.args, "-exec s r c b a").all_values("--exec"):
        yield from _transferred(text, r"\n")


def _puppet(call: CommandCall) -> Iterator[Answer]:
    for text in options(call.args, "e -execute").all_values("-e", "--execute"):
        if re.search(r"\bexec\b|absent|purged|tidy", text):
            yield ask("code_danger", "the manifest runs commands or removes things")


def _image_editor(call: CommandCall) -> Iterator[Answer]:
    for text in options(call.args, "b -batch -batch-interpreter").all_values("-b", "--batch"):
        if re.search(r"system|delete|exec|unlink|remove|subprocess|popen", text):
            yield ask("code_danger", f"{call.name} runs code")


def _columns(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] == ["call"] and len(call.args) > 1:
        yield script(call.args[1])


def _phone(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "s H P t", stop=True).rest
    if words[:1] == ["shell"] and len(words) > 1:
        yield script(" ".join(words[1:]), contained=True)
    elif words[:1] in (["uninstall"], ["reboot"], ["root"], ["remount"]):
        yield ask("host_access", f"adb {words[0]} changes the device", RiskLevel.MEDIUM)


def _capabilities(call: CommandCall) -> Iterator[Answer]:
    """Handle `capsh … -- words`: bash gets the words."""
    for mark in ("--", "=="):
        if mark in call.args:
            yield run(["bash", *call.args[call.args.index(mark) + 1 :]], stdin=call.stdin)
            return


def _gem(call: CommandCall) -> Iterator[Answer]:
    for text in options(call.args, "e v -editor -version").all_values("-e", "--editor"):
        yield script(text)


def _folder_of_programs(call: CommandCall) -> Iterator[Answer]:
    """Handle `run-parts`, whose folder may be one that the script filled."""
    given = options(call.args, "a u -arg -umask -regex")
    if given.has("--test", "--list", "--help", "--version"):
        return
    if not all(call.at(folder).startswith("/etc/") for folder in given.rest):
        yield ask("opaque_code", "run-parts runs every program of a folder")


RULES: RuleTable = {
    "gem": _gem,
    "run-parts": _folder_of_programs,
    **dict.fromkeys(
        names("lftp ftp tnftp ncftp psftp telnet smbclient tasksh ansible-console"), _transfer
    ),
    **dict.fromkeys(names("mail mailx s-nail"), _mail),
    "puppet": _puppet,
    **dict.fromkeys(names("gimp gimp-console"), _image_editor),
    "csvtool": _columns,
    "adb": _phone,
    "capsh": _capabilities,
}
