"""Methods of .NET and COM in a PowerShell text, which are not commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, ask, deny
from app.policy.risk.rules.protections import TELLING, switched_off
from app.policy.risk.windows_files import SYSTEM
from app.policy.risk.windows_places import is_whole

_METHOD = re.compile(
    r"\[(?:system\.)?io\.(?:file|directory)\]::\s*delete|\.delete(?:file|folder)?\(|::delete\w*\(|"
    r"\.(?:uninstall|terminate)\(\)|\[scriptblock\]::create|\.invoke\(|downloadstring"
    r"|\[system\.reflection|\[reflection\.assembly|::start\(|shellexecute|::kill\(|\.kill\("
    r"|wscript\.shell|invokescript\(|\binvokecommand\.|::createinstance\("
    r"|setenvironmentvariable\([^,()]*,[^,()]*,",
    re.IGNORECASE,
)
_CHANGES_HOST = re.compile(
    r"\.clearlog\(|\[wmiclass\][^;\n]{0,300}\.create\(|amsi(?:utils|initfailed|scanbuffer|context)"
    r"|win32_(?:shadowcopy|process|service)\b[^;\n]{0,300}\.create\("
    r"|currentdomain\.load\(|assembly\]::\w*load|\.setpassword\("
    r"|registry(?:key)?\]::(?:setvalue|deletevalue)|\.(?:createsubkey|deletesubkey(?:tree)?"
    r"|deletevalue)\("
    r"|\.registertask(?:definition)?\(|\.(?:commitchanges|setinfo)\(|tcplistener"
    r"|\.rules\.(?:add|remove)\("
    r"|\.firewallenabled|\.(?:setaccesscontrol|addmember|addtogroup|removemember)\("
    r"|\.changestartmode\("
    r"|\.(?:stopservice|setdnsserversearchorder|enablestatic|enabledhcp)\("
    r"|win32_volume[^;\n]{0,300}\.format\("
    r"|psetwevent|etwprovider\b|m_enabled\b|getdelegateforfunctionpointer|virtualalloc"
    r"|createremotethread",
    re.IGNORECASE,
)
_BY_NAME = re.compile(r"\.foreach\(\s*['\"](?:delete|kill)", re.IGNORECASE)
_POWER = re.compile(r"\.(?:win32shutdown\w*|reboot|shutdown)\(", re.IGNORECASE)
_DOWNLOADS = re.compile(r"\.downloadfile\([^,)]{0,500},\s*['\"]([^'\"]+)", re.IGNORECASE)
_DECODES = re.compile(r"frombase64string", re.IGNORECASE)
_RUNS = re.compile(
    r"\b(?:iex|icm|saps|cmd|pwsh|powershell|start|invoke-\w+|start-\w+)\b|(?:^|[\s;"
    r"|{(])[&.]\s*[($]",
    re.IGNORECASE,
)
_DELETED = re.compile(r"::\s*delete\(\s*(['\"])([^'\"]*)\1\s*,\s*\$true", re.IGNORECASE)
_WRITTEN = re.compile(
    r"io\.(?:file|directory)\]::\s*(?:write|append|create|copy|move|replace|open)\w*\("
    r"(?P<paths>[^)]*)",
    re.IGNORECASE,
)


def downloaded(text: str) -> list[str]:
    """Return the files that `WebClient.DownloadFile` saves."""
    return _DOWNLOADS.findall(text) if "(" in text else []


_SETS = re.compile(r"\$env:(\w+)\s*=\s*['\"]?([^'\";\s]*)", re.IGNORECASE)
_UNCHECKED = re.compile(r"ServerCertificateValidationCallback\s*=", re.IGNORECASE)


def _settings(text: str) -> Iterator[Answer]:
    """Detect variables that affect later programs, and disabled certificate checks."""
    for name, value in _SETS.findall(text):
        if name.upper() in TELLING:
            yield from switched_off(name.upper(), value)
    if _UNCHECKED.search(text):
        yield ask("protection_off", "certificates are no longer checked")


def methods(text: str) -> Iterator[Answer]:
    if "$env:" in text.lower() or "ValidationCallback" in text:
        yield from _settings(text)
    if "(" not in text and "::" not in text and "." not in text:
        return
    for match in _DELETED.finditer(text):
        if is_whole(match.group(2), "", "/"):
            yield deny("catastrophic_delete", "deletes a whole drive, home or system folder")
    if _POWER.search(text) and "win32_operatingsystem" in text.lower():
        yield deny("host_power", "turns the host off or restarts it")
    bare = re.sub(r"'(?:[^']|'')*'", "''", text)
    if (
        _METHOD.search(bare)
        or _BY_NAME.search(text)
        or (_DECODES.search(bare) and _RUNS.search(bare))
    ):
        yield ask("code_danger", "calls a .NET method that deletes or runs code")
    if _CHANGES_HOST.search(text):
        yield ask("windows_admin", "calls a method that changes the system or its protection")
    for match in _WRITTEN.finditer(text):
        if any(SYSTEM.match(path) for path in re.findall(r"['\"]([^'\"]*)", match["paths"])):
            yield ask("system_write", "writes a system or start-up file")
