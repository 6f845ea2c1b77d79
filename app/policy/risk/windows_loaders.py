"""Windows programs that run or load their arguments, possibly from another host.

Windows has about a hundred signed programs that run a script, library or installer in their words.
Those without another use ask with any words; the others ask if a word is an address, a share of
another host or a stream of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from app.policy.risk.call import Answer, ask, names, script
from app.policy.risk.windows_shares import (
    address,
    code_at_address,
    far_share,
    hidden_stream,
    is_text,
    public_share,
)

_ALWAYS = frozenset(
    names(
        "addinutil agentexecutor appvlp atbroker certoc cmdl32 cmstp configsecuritypolicy coregen "
        "customshellhost datasvcutil defaultpack desktopimgdownldr devicecredentialdeployment "
        "devtoolslauncher dnx dotnettojscript extexport gfxdownloadwrapper gpscript ieexec "
        "imewdbld infdefaultinstall installutil mavinject microsoft.workflow.compiler mofcomp msdt "
        "odbcconf offlinescannershell pcalua pcwrun pixtool presentationhost provlaunch pubprn "
        "pubprn.vbs rasautou regasm register-cimprovider regsvcs rpcping runexehelper runonce "
        "runscripthelper scriptrunner settingsynchost squirrel syncappvpublishingserver "
        "syncappvpublishingserver.vbs ttdinject tttracer ttdrecord verclsid vsiisexelauncher "
        "vsjitdebugger vsls-agent wfc winrs wlrmdr workfolders xbootmgr xbootmgrsleep xwizard "
        "devinit dxcap mftrace launch-vsdevshell psexesvc paexec remcom winexe wmiexec smbexec "
        "mshta regsvr32 rundll32"
    )
)
"""Programs that only run or load their arguments."""
_SOME: dict[str, str] = {
    "ie4uinit": r"-basesettings",
    "control": r"\.(?:cpl|dll|exe)\b|:\w",
    "print": r"/d:\S*\.\w|/d:\\\\",
    "netsh": r"add\s+helper",
    "msiexec": r"(?:^|\s)[-/][yz](?:\s|$)|\btransforms\s*=\s*\S*(?::|\\)",
    "msbuild": r"[-/](?:logger|l|dl|distributedlogger):\S*(?:\\\\|,[a-z]:\\(?:temp|users\\public))",
    "wuauclt": r"/updatedeploymentprovider",
    "wmic": r"/format:\s*\"?\S*(?:[\\/]|\.xsl)",
    "winrm": r"^(?:invoke|i)\s",
    "msdeploy": r"runcommand",
    "update": r"--(?:update\w*|download|processstart\w*|createshortcut)\W",
    "bginfo": r"(?:\\\\|https?:)",
    "cdb": r"(?:^|\s)-(?:c|cf|cfr|pd)(?:\s|$)|(?:^|\s)-g\s",
    "ntsd": r"(?:^|\s)-(?:c|cf|g)(?:\s|$)",
    "windbg": r"(?:^|\s)-(?:c|cf|g)(?:\s|$)",
    "remote": r"(?:^|\s)/[sc]\s",
    "te": r"\.(?:wsc|dll|sct)\b",
    "tracker": r"/c\s",
    "acccheckconsole": r"\.dll",
    "ftp": r"(?:^|\s)-s:",
    "certreq": r"[-/]post",
    "certutil": r"[-/](?:urlcache\s|verifyctl|url(?:$|\s)|decode\w*|encodehex\s.*\s12)|[-/]url\s",
    "dnscmd": r"serverlevelplugindll",
    "mpcmdrun": r"-(?:downloadfile|removedefinitions|restore|disableservice)",
    "devtunnel": r"^(?:host|port create)",
    "code": r"^tunnel|--install-extension\s+\S*[\\/]",
    "wsl": r"--import\b|--install\s.*--from-file",
    "vshadow": r"-exec=",
    "createdump": r"\S",
    "finger": r"@\d",
    "rcsi": r"\S",
    "msxsl": r"\S+\s+\S",
    "remotefxvgpudisablement": r"\S",
    "jjs": r"-scripting",
}
"""Programs that run or load something with some of their words."""
_RUNNERS = frozenset(
    names(
        "start start-process saps explorer invoke-item ii call import-module ipmo add-type msbuild "
        "csc vbc jsc fsi csi dotnet powershell pwsh cmd wscript cscript python python3 py node "
        "ruby "
        "perl php java javaw bash sh wsl msiexec hh control netsh sc schtasks at wmic psexec "
        "add-appxpackage add-appxprovisionedpackage install-package install-module "
        "import-pssession "
        "install-script register-psrepository winget scoop choco nuget pnputil dism wusa odbcad32 "
        "bginfo cdb ntsd windbg kd te tracker ngen ilasm xsd msxsl winword excel powerpnt mspub "
        "msaccess outlook visio winproj msohtmed msoxmled protocolhandler eqnedt32 aspnet_compiler "
        "vstest.console mmc conhost wt openconsole forfiles regedit reg sdbinst certutil "
        "wab ecmangen vslaunchbrowser update setup teams msedge_proxy mscopilot iexplore devcon "
        "logger mpiexec appcert applauncher sqlps sqltoolsps fsianycpu remote dtutil sqlcmd "
        "get-wmiobject ldifde nssm certreq java "
        "mpcmdrun msteams diskshadow testwindowremoteagent"
    )
)
"""Programs that run or load an argument, commonly used for local files."""
_OPENS_PAGES = frozenset(
    names(
        "start start-process saps explorer call dotnet python python3 py node ruby perl php java "
        "javaw bash sh wsl cmd powershell pwsh iexplore sqlcmd schtasks reg winget choco nuget "
        "install-package install-module install-script register-psrepository import-pssession sc "
        "forfiles csc ssh-keygen logger at wt conhost"
    )
)
"""Programs for which an address is a page to open, a source of packages, or text."""
_FETCHES = frozenset(
    names(
        "curl wget iwr irm invoke-webrequest invoke-restmethod start-bitstransfer bitsadmin aria2c "
        "git gh npm npx pnpm yarn pip pip3 pipx uv python python3 py node dotnet yt-dlp http https "
        "xh docker podman go cargo gem nuget choco msiexec winget scoop test-netconnection cmd wsl "
        "bash sh powershell pwsh az aws gsutil certutil resolve-dnsname"
    )
)
"""Programs that download an address, or that other rules know."""
_LAUNCHED_BY_OPTION = re.compile(
    r"--(?:[\w-]*launcher|[\w-]*cmd-prefix|browser-subprocess-path|process-?start|load-extension)"
    r"(?:=|$)"
)
_SCHEMES = re.compile(
    r"(?:ms-appinstaller|ms-msdt|ms-officecmd|search-ms|search|ms-cxh-full|ms-cxh|ms-wpc|shell|"
    r"ms-gamingoverlay|ms-excel|ms-word|ms-powerpoint|ms-publisher|ms-access|ms-visio|file|"
    r"hcp|wtai|jnlps?|rlogin|telnet|tn3270|ldap|its|mk|javascript|vbscript):(?!(?:startup)?$)",
    re.IGNORECASE,
)
_WEB_HOST = re.compile(
    r"https?://(?:[\w-]+\.)*(?:nuget\.org|powershellgallery\.com|chocolatey\.org|microsoft\.com|"
    r"localhost(?::\d+)?|127\.0\.0\.1(?::\d+)?)(?:/|$)",
    re.IGNORECASE,
)
_INSTALLERS = frozenset(
    names("winget scoop choco nuget install-package install-module install-script add-appxpackage")
)
_DEVICE = re.compile(r"\\\\\.\\(?:physicaldrive|harddisk|[a-z]:|cdrom)", re.IGNORECASE)
_HANDS_ON = frozenset(names("conhost wt openconsole pcalua pcwrun mpiexec applauncher"))


def loaded(word: str, name: str, args: Sequence[str]) -> Iterator[Answer]:
    """Yield findings for code loaded by `word`, the program `name` by its path, or its words."""
    if is_text(name):
        return
    if share := far_share([word]):
        yield ask("remote_code", f"runs a program from {share}")
    if stream := hidden_stream([word, *args]):
        yield ask("opaque_code", f"uses the stream {stream}, which is hidden behind a file")
    if any(map(_DEVICE.search, args)):
        yield ask("raw_device", f"{name} works on a raw device")
    text = " ".join(args).lower()
    if name in _ALWAYS and args:
        yield ask("remote_code", f"{name} runs or loads what it is given")
    elif (pattern := _SOME.get(name)) and _compiled(pattern).search(text):
        yield ask("remote_code", f"{name} runs, loads or fetches what it is given")
    else:
        yield from _from_elsewhere(name, args)
    if any(_LAUNCHED_BY_OPTION.match(arg) for arg in args):
        yield ask("remote_code", f"{name} runs the program that an option names")
    if name in _HANDS_ON:
        yield script(" ".join(arg for arg in args if not arg.startswith("-")), "cmd")


def _from_elsewhere(name: str, args: Sequence[str]) -> Iterator[Answer]:
    """Handle an operand on another host, given to a program that runs it."""
    share = far_share(args)
    if share and name in _RUNNERS and not _only_opens(name, args):
        yield ask("remote_code", f"{name} runs or loads what is on {share}")
    elif share := public_share(args):
        yield ask("new_destination", f"{name} reaches {share}, which is in no network here")
    elif name in _INSTALLERS and (source := _foreign_source(name, args)):
        yield ask("remote_code", f"{name} installs from {source}")
    elif name in _RUNNERS - _OPENS_PAGES and name not in _INSTALLERS and address(args):
        yield ask("remote_code", f"{name} runs or loads what is at an address")
    elif name not in _FETCHES and (found := code_at_address(args)):
        yield ask("remote_code", f"{name} is given the code at {found}")
    elif name in {"start", "start-process", "saps", "explorer"} and any(
        _SCHEMES.match(arg) for arg in args
    ):
        yield ask("remote_code", f"{name} hands an address to a program that runs what is there")


_RUN_BY_NAME = re.compile(
    r"\.(?:exe|com|bat|cmd|ps1|vbs|vbe|js|jse|wsf|hta|lnk|msi|scr|cpl|dll|reg|application|jar)\b",
    re.IGNORECASE,
)


def opens_share(words: Sequence[str]) -> bool:
    """Return whether a command is only a folder or document of a share, which is shown."""
    return bool(far_share(words[:1])) and not any(_RUN_BY_NAME.search(word) for word in words)


def _only_opens(name: str, args: Sequence[str]) -> bool:
    """Return whether a folder or document of a share is only shown."""
    return name in {"start", "explorer", "ii", "invoke-item", "start-process", "saps"} and not any(
        _RUN_BY_NAME.search(arg) for arg in args
    )


def _foreign_source(name: str, args: Sequence[str]) -> str:
    """Return a package source given to an installer, other than its known ones."""
    if name == "scoop" and args[:1] == ["bucket"]:
        return ""
    if name == "nuget" and args[:1] != ["install"]:
        return ""
    if name == "choco" and args[:1] not in (["install"], ["upgrade"], ["update"]):
        return ""
    return next(
        (arg for arg in args if (address([arg]) or far_share([arg])) and not _WEB_HOST.search(arg)),
        "",
    )


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
