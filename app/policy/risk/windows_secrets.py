"""Secrets in cmd and PowerShell lines: reads and sends.

Pipes and variables are not tracked, so a line that reads a secret and sends asks. A secret that
only authenticates, in a header or as a credential, does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.policy.risk.call import Answer, ask, names
from app.policy.risk.secrets import ALL_OF, held, is_secret_name
from app.policy.risk.windows_credentials import STORES

_SENDERS = names(
    "irm iwr invoke-restmethod invoke-webrequest invoke-azrestmethod invoke-mggraphrequest curl "
    "wget lpr rcp irftp scp sftp ftp tftp nc ncat netcat telnet finger rsync croc plink pscp "
    "psftp winscp "
    "send-mailmessage start-bitstransfer bitsadmin certreq aws gsutil azcopy rclone "
    "resolve-dnsname nslookup test-connection ping set-azstorageblobcontent "
    "set-azstoragefilecontent set-azurestorageblobcontent new-gcsobject write-gcsobject "
    "copy-s3object new-azdatalakegen2item add-ftpitem"
)
_SENDING_VERBS = (
    r"write-(?:s3|glc|ec2)\w+|set-(?:az\w*blob|scp|sftp|ftp|mg)\w*|new-(?:scp|sftp|gist)\w*"
    r"|send-(?!keys)\w+|publish-\w+|add-pnp\w+|invoke-ftp\w*"
)
_COPIERS = names(
    "copy xcopy robocopy cp cpi copy-item move mv mi move-item makecab diantz compress-archive tar "
    "7z rar esentutl out-file set-content add-content tee-object print replace expand extrac32"
)
_SENDS = re.compile(
    rf"(?<![\w.-])(?:(?:{'|'.join(_SENDERS)})(?:\.exe|\.com)?|{_SENDING_VERBS}"
    r"|gh\s+(?:gist|issue|release|api)|az\s+storage)(?![\w-])"
    # Programs whose names are common words.
    r"|(?:^|[\n;|&({])\s*(?:ssh|https?|xh|hurl|aria2c|chrome|msedge|firefox|iexplore)(?:\.exe)?\s"
    r"|(?<![\w-])(?:start|explorer|saps|start-process)\s[^\n;|&]{0,300}?https?://"
    r"|\.(?:upload(?:file|string|data|values)|(?:post|put|send|get)async|downloadstring)\b"
    r"|net\.sockets|tcpclient|smtpclient|webclient|httpclient|udpclient|outlook\.application"
    r"|\[(?:system\.)?net\.dns\]"
    # A share of another host is a path.
    rf"|(?<![\w-])(?:{'|'.join(_COPIERS)}|export-\w+)(?:\.exe)?\s[^\n;|&]{{0,300}}?\\\\[\w.@-]+\\"
    r"|>\s*['\"]?\\\\[\w.@-]+\\",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"(?:\b(?:gci|dir|ls|gi|get-childitem|get-item)|(?<![\w$-])cat"
    r"|type)\s+(?:-path\s+)?['\"]?env:(?:\\?\*)?['\"]?(?=[\s|)};]|$)"
    r"|\b(?:gci|dir|ls|get-childitem)\s+-(?:path|literalpath)\s+env:|getenvironmentvariables\("
    r"|get-clipboard\b|clipboard\]::gettext"
    r"|(?:^|[&(|]\s*)set\s*(?:\||>)",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"\$\{?env:(?P<a>\w+)|%(?P<b>\w+)%|getenvironmentvariable\(\s*['\"](?P<c>\w+)|!(?P<d>\w+)!",
    re.IGNORECASE,
)
_LOGS_IN = re.compile(
    r"-headers?\s+(?:@\{[^}]*\}|\S+)|(?:-H|--header)\s+(?:\"[^\"]*\"|'[^']*'|\S+)"
    r"|-(?:credential|token|authentication|apikey|certificate|u|user|b|cookie)\s+(?:\"[^\"]*\""
    r"|'[^']*'|\S+)"
    r"|\$headers?\s*=\s*@\{[^}]*\}|\bauthorization['\"]?\s*=\s*(?:\"[^\"]*\"|'[^']*'|\S+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s\"'|;,()<>=@{}]+")
_ADDRESS = re.compile(r"https?://(?:[^/@\s'\"]*@)?(?P<host>[^/:'\"\s?]+)", re.IGNORECASE)
_NEAR = re.compile(r"localhost|127(?:\.\d+){3}|\[::1\]?", re.IGNORECASE)


def secrets_sent(text: str) -> Iterator[Answer]:
    """Ask about a line that reads a secret and sends."""
    sender = _SENDS.search(text)
    if sender is None:
        return
    hosts = [found["host"] for found in _ADDRESS.finditer(text)]
    if hosts and all(map(_NEAR.fullmatch, hosts)):
        return
    what = _secret_in(_LOGS_IN.sub(" ", text)) or _dumped(text, sender.start())
    if what:
        yield ask("secret_sent", f"{sender.group().strip('.(')} sends {what} to another host")


_DUMPERS = names(
    "csvde ldifde mysqldump mariadb-dump pg_dump pg_dumpall mongodump mongoexport ntdsutil bcp "
    "vaultcmd procdump backup-sqldatabase backup-dbadatabase screenshot copyfromscreen"
)
_DUMPS = re.compile(
    rf"(?<![\w-])(?:(?:{'|'.join(_DUMPERS)})(?:\.exe)?|redis-cli\s+--rdb|reg\s+(?:save|export)"
    r"|git\s+(?:archive|bundle)|wevtutil\s+epl|cmdkey\s+/list|netsh\s+wlan\s+export|net\s+user"
    r"|get-ad(?:user|computer)\b[^\n;]{0,300}?(?:\*|-properties)|psr(?:\.exe)?\s+/start)(?![\w-])"
    r"|(?:compress-archive|tar(?:\.exe)?\s+-?[a-z]*c[a-z]*|7z(?:\.exe)?\s+a|createfromdirectory\()"
    r"[^\n;|&]{0,300}?(?<=[\s'\"(,])(?:\.|\*|\.\\\*?|\$pwd|\$home|~|%userprofile%|%cd%"
    r"|\$env:userprofile|c:\\(?:users(?:\\\w+)?)?\\?)(?=[\s'\",;)|&]|$)",
    re.IGNORECASE,
)
"""Commands that write a database, a user directory, or a whole folder to a file or pipe."""


def _dumped(text: str, sender: int) -> str:
    found = _DUMPS.search(text)
    return found.group().split()[0] + " writes" if found and found.start() < sender else ""


_SENDS_FOLDERS = re.compile(
    r"(?:write-s3object|set-az(?:ure)?storage(?:blob|file|share|file\w*)content|copy-s3object"
    r"|new-gcsobject|write-gcsobject"
    r"|set-scp(?:item|folder|file)|set-sftp(?:item|folder|file)|add-ftpitem|publish-azwebapp"
    r"|pscp|winscp|write-glcarchive"
    r"|start-awstransfer\w*|set-az\w*gen2item|new-azdatalakegen2item|import-azdatalakestoreitem"
    r"|add-pnp(?:file|folder))"
)
_ALL_FILES = frozenset(
    names(r". * .\ ./ .\* ./* *.* $pwd $home ~ %cd% %userprofile% $env:userprofile c:\ c:\users")
)


def sends_whole(name: str, args: Sequence[str]) -> Iterator[Answer]:
    """Ask about a cmdlet that sends a whole folder to a store of another host."""
    if _SENDS_FOLDERS.fullmatch(name) and any(arg.lower() in _ALL_FILES for arg in args):
        yield ask("secret_sent", f"{name} sends a whole folder to another host")


def _secret_in(text: str) -> str:
    if _ENVIRONMENT.search(text):
        return "the environment"
    for found in _VARIABLE.finditer(text):
        name = next((part for part in found.groups() if part), "")
        if is_secret_name(name):
            return str(name)
    if store := STORES.search(text):
        return store.group()
    return next((word for word in _WORD.findall(text) if _is_secret_file(word)), "")


_AT_HOME = re.compile(r"~|\$(?:env:)?(?:home|userprofile)\b|%userprofile%", re.IGNORECASE)


def _is_secret_file(word: str) -> bool:
    """Return whether a word names a file with secrets, in any folder."""
    path = re.sub(
        r"^(?:[a-z]:|~|%\w+%|\$\{?(?:env:)?\w+\}?)",
        "",
        word.replace("\\", "/"),
        flags=re.IGNORECASE,
    )
    if "://" in word or ("/" not in path and "." not in path and not path.startswith("id_")):
        return False
    at_home = path if _AT_HOME.match(word) else ""
    found = held(f"/home/-{at_home}" if at_home else f"/-/{path.lstrip('/')}", "/home/-")
    return bool(found) and not found.startswith(ALL_OF)
