"""Options and inputs of single programs that hold commands: hooks, filters, file transfer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, Call, Rule, RuleTable, ask, names, options, run, script
from app.policy.risk.model import RiskLevel


def _holding(language: str, valued: str, *, clusters: bool = True) -> Rule:
    """The value of each option of `valued` is a text in `language`."""
    if not clusters:
        valued += " " + " ".join("-" + name for name in valued.split())
    flags = tuple("-" + name for name in valued.split())

    def rule(call: Call) -> Iterator[Answer]:
        for text in options(call.args, valued, clusters=clusters).all_values(*flags):
            yield script(text, language)

    return rule


_TRANSFER = re.compile(
    r"\s*-?(?:glob\s+(?:-\w+\s+)?)?(?:m?delete|m?rm|rmdir|rmd|dele?|deltree|rd)\b"
    r"|\s*mirror\b.*--delete"
)


def _transferred(text: str | None, separator: str) -> Iterator[Answer]:
    """Commands of a file transfer: `!` runs one here, and some delete over there."""
    for line in re.split(separator, text or ""):
        if line.lstrip().startswith("!"):
            yield script(line.lstrip()[1:])
        elif _TRANSFER.match(line):
            yield ask("delete", "deletes files on another host", RiskLevel.MEDIUM)


def _transfer(call: Call) -> Iterator[Answer]:
    given = options(call.args, "c e f b u p P l B -command -execute")
    for text in given.all_values("-c", "-e", "--command", "--execute"):
        yield from _transferred(text, r"[;\n]")
    if call.stdin and call.stdin.text is not None:
        yield from _transferred(call.stdin.text, r"[;\n]")


def _mail(call: Call) -> Iterator[Answer]:
    for text in options(call.args, "-exec s r c b a").all_values("--exec"):
        yield from _transferred(text, r"\n")


def _puppet(call: Call) -> Iterator[Answer]:
    for text in options(call.args, "e -execute").all_values("-e", "--execute"):
        if re.search(r"\bexec\b|absent|purged|tidy", text):
            yield ask("code_danger", "the manifest runs commands or removes things")


def _image_editor(call: Call) -> Iterator[Answer]:
    for text in options(call.args, "b -batch -batch-interpreter").all_values("-b", "--batch"):
        if re.search(r"system|delete|exec|unlink|remove|subprocess|popen", text):
            yield ask("code_danger", f"{call.name} runs code")


def _columns(call: Call) -> Iterator[Answer]:
    if call.args[:1] == ["call"] and len(call.args) > 1:
        yield script(call.args[1])


def _phone(call: Call) -> Iterator[Answer]:
    words = options(call.args, "s H P t", stop=True).rest
    if words[:1] == ["shell"] and len(words) > 1:
        yield script(" ".join(words[1:]), contained=True)
    elif words[:1] in (["uninstall"], ["reboot"], ["root"], ["remount"]):
        yield ask("host_access", f"adb {words[0]} changes the device", RiskLevel.MEDIUM)


def _flasher(call: Call) -> Iterator[Answer]:
    verb = next((word for word in call.args if not word.startswith("-")), "")
    if verb in {"erase", "format", "flash", "flashall", "update", "flashing", "oem"}:
        yield ask("raw_copy", f"fastboot {verb} overwrites the device")


def _capabilities(call: Call) -> Iterator[Answer]:
    """`capsh … -- words`: bash gets the words."""
    for mark in ("--", "=="):
        if mark in call.args:
            yield run(["bash", *call.args[call.args.index(mark) + 1 :]], stdin=call.stdin)
            return


def _gem(call: Call) -> Iterator[Answer]:
    for text in options(call.args, "e v -editor -version").all_values("-e", "--editor"):
        yield script(text)


RULES: RuleTable = {
    "aria2c": _holding(
        "shell",
        "-on-download-complete -on-download-start -on-download-stop -on-download-error "
        "-on-download-pause -on-bt-download-complete",
    ),
    "certbot": _holding(
        "shell",
        "-pre-hook -post-hook -deploy-hook -renew-hook -manual-auth-hook -manual-cleanup-hook",
    ),
    "enscript": _holding("shell", "-filter"),
    "openvpn": _holding(
        "shell",
        "up down ipchange route-up route-pre-down client-connect client-disconnect tls-verify "
        "auth-user-pass-verify learn-address",
        clusters=False,
    ),
    "scrot": _holding("shell", "e -exec"),
    "nano": _holding("shell", "s -speller"),
    "pico": _holding("shell", "s"),
    "tmate": _holding("shell", "c"),
    "tsc-watch": _holding(
        "shell", "-onSuccess -onFailure -onFirstSuccess -onEmit -onCompilationComplete"
    ),
    "chokidar": _holding("shell", "c -command"),
    "exiftool": _holding("perl", "if", clusters=False),
    "blender": _holding("python", "-python-expr", clusters=False),
    "rake": _holding("ruby", "e p E -execute -execute-print -execute-continue"),
    "knife": _holding("ruby", "E -exec"),
    "gem": _gem,
    **dict.fromkeys(
        names("lftp ftp tnftp ncftp psftp telnet smbclient tasksh ansible-console"), _transfer
    ),
    **dict.fromkeys(names("mail mailx s-nail"), _mail),
    "puppet": _puppet,
    **dict.fromkeys(names("gimp gimp-console"), _image_editor),
    "csvtool": _columns,
    "adb": _phone,
    "fastboot": _flasher,
    "capsh": _capabilities,
}
