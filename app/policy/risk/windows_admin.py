"""Administrative tools of Windows: words that change something.

Most of them only show something with a showing verb or no words, and change something with others;
a few are listed by their changing words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from app.policy.risk.call import Answer, CommandCall, ask, names
from app.policy.risk.model import RiskLevel
from app.policy.risk.strangers import stranger
from app.policy.risk.windows_verbs import is_cmdlet

_SHOWS: dict[str, str] = {
    "bitsadmin": r"(?:/(?:raw\w+|wrap|nowrap) )*/(?:list|info|monitor|help|util /(?:version"
    r"|getie)|get\w+)",
    "schtasks": r"[/-](?:query|showsid)|(?:.* )?[/-]query",
    "bcdedit": r"/(?:enum|v|export)|(?:.* )?/enum",
    "pnputil": r"[/-](?:enum-\w+|export-driver|e(?:$| ))",
    "winrm": r"(?:g|get|e|enum|enumerate|id|identify|helpmsg|help)(?:$| )",
    "wecutil": r"(?:es|gs|gr|enum-\w+|get-\w+)(?:$| )",
    "wbadmin": r"get(?:$| )",
    "manage-bde": r"[-/](?:status|h|help)(?:$| )",
    "manage-bde.wsf": r"[-/](?:status|h|help)(?:$| )",
    "dnscmd": r"(?:\S+ )?/(?:info|enum\w+|zoneinfo|zoneprint|statistics|ipvalidate)",
    "powercfg": r"[/-](?:l|list|q|qh|query|a|availablesleepstates|batteryreport|energy|requests"
    r"|devicequery|lastwake|waketimers|getactivescheme|aliases|sleepstudy|srumutil|systemsleep\w*"
    r"|systempowerreport|export|getsecuritydescriptor)(?:$| )",
    "reagentc": r"/info",
    "secedit": r"/(?:analyze|export|validate|generaterollback)",
    "appcmd": r"(?:list|search|inspect)(?:$| )",
    "fltmc": r"(?:filters|instances|volumes|help)(?:$| )",
    "verifier": r"/query",
    "devcon": r"(?:find\w*|status|hwids|driver\w+|resources|stack|classes|listclass|help"
    r"|dp_enum)(?:$| )",
    "vssadmin": r"(?:list|query)(?:$| )",
    "diskshadow": r"/\?",
    "ntdsutil": r"(?:help|\?)(?:$| )",
    "dsdbutil": r"(?:help|\?)(?:$| )",
    "dsmgmt": r"(?:help|\?)(?:$| )",
    "netdom": r"(?:query|verify|help)(?:$| )",
    "ocsetup": r"/\?",
    "repadmin": r"/(?:show\w*|replsummary|queue|bind|viewlist|dsaguid|istg|kcc|latency|failcache)",
    "dfsutil": r"(?:view|domain|server|client info|diag view\w*|root(?: \S+)?$|link(?: \S+)?$)",
    "cipher": r"(?:/c|/y|/n|[^/]\S*)(?:$| )",
    "mpcmdrun": r"-(?:scan|signatureupdate|getfiles|listalldynamicsignatures|h|\?|validate\w+)",
    "logman": r"(?:query|export|start|create)(?:$| )",
    "w32tm": r"/(?:query|monitor|stripchart|tz|dumpreg|ntte|ntpte|resync)",
    "tzutil": r"/[gl](?:$| )",
    "nltest": r"(?:.*/server:\S+ )?/(?:ds\w+|dclist|domain_trusts|trusted_domains|sc_query|query"
    r"|whowill|parentdomain|finduser|sc_verify)",
    "wusa": r"/\?",
    "sfc": r"/(?:scannow|verify\w*|scanfile\S*)",
    "slmgr": r"/(?:dli|dlv|xpr|dti)",
    "slmgr.vbs": r"/(?:dli|dlv|xpr|dti)",
    "nssm": r"(?:status\w*|get|list|dump|processes|start|restart|help)(?:$| )",
    "psr": r"/\?",
    "pktmon": r"(?:list|status|counters|comp|help|etl2\w+|filter list|stop)(?:$| )",
    "nmcap": r"/\?",
    "bdehdcfg": r"-driveinfo",
    "chglogon": r"/query",
    "chgport": r"/query",
    "chgusr": r"/query",
    "dfsrmig": r"/get\w*",
    "eventtriggers": r"/query",
    "ktmutil": r"(?:list|tx|tm)\s*(?:$|list)",
    "mapadmin": r"(?:list|.*\slist)",
    "pagefileconfig": r"/query",
    "prnqctl": r"-e",
    "serverceipoptin": r"/query",
    "serverweroptin": r"/query",
    "tapicfg": r"show",
    "tsprof": r"/q",
    "wdsutil": r"(?:/\w+ )*/get-",
    "bootcfg": r"/query",
    "wpeutil": r"(?:initializenetwork|updatebootinfo|listkeyboardlayouts)",
    "vshadow": r"-q\w*",
    "tpmtool": r"(?:getdeviceinformation|gatherlogs|parsetcglogs|drivertracing)",
    "certutil": r"[-/](?:v |user |enterprise |silent |f )*[-/]?(?:hashfile|urlcache$|dump\w*"
    r"|verify(?!ctl)\w*|"
    r"store(?:$| )|view\w*|asn|schema|ping\w*|template\w*|catemplates|scinfo|csplist|cainfo|"
    r"getreg|error|dcinfo|tcainfo|ca$|adtemplate|enumstore|displaytemplate|encode(?:hex)?)",
}
"""Tools that ask unless their words match: those that show, or have no lasting effect."""
_CHANGES: dict[str, str] = {
    "netsh": r"(?:^|\s)(?:set|delete|add|reset|import|install|uninstall|exec|start"
    r"|connect)(?:\s|$)|(?:^|\s)-f\s",
    "regedit": r"/s|\.reg\b",
    "fsutil": r"^(?!\S+ query)\S+ (?:.*\s)?(?:set\w*|delete\w*|dismount|disable\w*|enable\w*)"
    r"(?:\s|$)|createnew\s+(?:\S*:|[\\/])",
    "mountvol": r"/[drpn]\b",
    "setx": r"(?:^|\s)(?:path|pathext|comspec|psmodulepath)(?:\s|$)|(?:^|\s)[/-]m(?:\s|$)",
    "flattemp": r"/(?:enable|disable)",
    "mqbkup": r"[-/]r",
    "nfsadmin": r"(?:^|\s)(?:stop|start|config|\w+groups?|\w+members?|-r)(?:\s|$)",
    "nfsshare": r"=|/delete|-o",
    "openfiles": r"/disconnect|/local\s+o",
    "prncnfg": r"(?:^|\s)-[tx](?:\s|$)",
    "prndrvr": r"(?:^|\s)-[adx](?:\s|$)",
    "prnjobs": r"(?:^|\s)-[xzm](?:\s|$)",
    "prnmngr": r"(?:^|\s)-[adxt](?:\s|$)",
    "prnport": r"(?:^|\s)-[adt](?:\s|$)",
    "tlntadmn": r"(?:^|\s)(?:config|start|stop|pause|continue|-k|-m)(?:\s|$)",
    "psservice": r"(?:^|\s)(?:stop|pause|setconfig|restart)(?:\s|$)",
    "psloglist": r"(?:^|\s)-c(?:\s|$)",
    "nircmd": r"exitwin|killprocess|elevate|^service|^reg(?:set|del)|^win\s+close|closeprocess",
    "psexec": r"(?:^|\s)[-/](?:s|h|c)(?:\s|$)",
    "psexec64": r"(?:^|\s)[-/](?:s|h|c)(?:\s|$)",
    "date": r"^\d",
    "time": r"^\d",
    "auditpol": r"/(?:clear|remove|set|restore|resourcesacl.*/(?:set|remove|clear))\b",
    "dism": r"/(?:remove|disable|reset|add|enable|apply|set)[\w-]*|/startcomponentcleanup",
    "msiexec": r"[-/](?:x|uninstall)",
    "cmdkey": r"/delete",
    "assoc": r"=",
    "ftype": r"=",
    "at": r"\d\s+\S|/delete",
    "set-service": r"-startup\w*\s+disabled|-status\s+stopped",
    "copy": r"(?:^|\s)nul\s+[^\s+>]",
    "route": r"(?:^|\s)(?:add|delete|change)\s|(?:^|\s)[-/]f(?:\s|$)",
    "arp": r"(?:^|\s)[-/][ds](?:\s|$)",
    "ipconfig": r"/release",
    "klist": r"purge|add_bind",
    "setspn": r"(?:^|\s)[-/][asdru](?:\s|$)",
    "dsacls": r"(?:^|\s)/(?:g|d|r|s|t|i|resetdefaultdacl\w*|takeownership)(?:\s|:|$)",
    "iisreset": r"/(?:stop|disable|reboot\w*)",
    "aspnet_regiis": r"[-/](?:[iudrs]|ir|ua|pdf?|pef?|px|pi|pz|ga)\b",
    "csvde": r"(?:^|\s)-i(?:\s|$)",
    "ldifde": r"(?:^|\s)-i(?:\s|$)",
    "esentutl": r"^/(?:p|r|d)(?:\s|$)",
    "chkntfs": r"/[dxct]\b",
    "chkdsk": r"/(?:f|r|x|b|spotfix|offlinescanandfix)\b",
    "convert": r"/fs:",
    "change": r"(?:logon\s+/(?:disable|drain\w*)|user\s+/install|port\s+\S+=)",
    "reset": r"session",
    "cleanmgr": r"/(?:sagerun|autoclean|lowdisk|verylowdisk|d)",
    "lodctr": r"/[rs]\b",
    "wmic": r"\b(?:delete|call|create|set|uninstall)\b",
    "wevtutil": r"^(?:cl|clear-log|sl|set-log|um|uninstall-manifest|im|install-manifest)\b",
    "icacls": r"/(?:grant|deny|remove|reset|setowner|inheritance|restore|setintegritylevel"
    r"|substitute)",
    "cacls": r"(?:^|\s)/[gprds](?:\s|:|$)",
    "certreq": r"[-/](?:submit|accept|sign|policy)",
    "winget": r"^(?:source\s+(?:add|remove|reset|update -)|settings\s+--enable"
    r"|configure\b(?!.*--(?:show|test))"
    r"|install\b.*\s(?:-m|--manifest)|pin\s+remove)",
    "scoop": r"^(?:bucket\s+(?:rm|add\s+\S+\s+\S)|uninstall|cleanup|cache\s+rm)",
    "choco": r"^(?:source\s+(?:add|remove|disable)|uninstall|feature\s+(?:enable|disable)"
    r"|apikey|push)",
    "nuget": r"^sources?\s+(?:add|remove|disable|update)",
    "wsl": r"--(?:unregister|shutdown|terminate|uninstall)|(?:^|\s)-t\s",
    "vssadmin": r"^(?:delete|resize|create|revert|add|protect)\b",
    "label": r"^(?:[a-z]:)?\s*\S",
}
"""Tools that ask if their words match."""
_ALWAYS = frozenset(
    names(
        "dsadd dsmod dsrm dsmove djoin dcpromo adprep redircmp redirusr ksetup lgpo sdbinst "
        "unlodctr rwinsta tsdiscon tscon tsshutdn bcdboot bootsect bootim "
        "servermanagercmd netcfg lpksetup dcgpofix rendom gpfixup subinacl setacl xcacls "
        "autoconv autofmt cprofile diskcopy evntcmd fveupdate jetpack macfile pbadmin pnpunattend "
        "recover repair-bde rexec risetup rsh shadow sysocmgr tcmsetup winnt winnt32 winpop "
        "ktpass pskill pspasswd pssuspend diskraid mbr2gpt nvspbind auditusr tpmvscmgr wsreset "
        "fodhelper computerdefaults sdclt slui"
    )
)
"""Tools that change something with any words."""
_ALONE = frozenset(
    names("fveupdate dcpromo wsreset fodhelper computerdefaults sdclt slui tsdiscon dcgpofix")
)
"""Tools among them that need no words for it."""


JUDGED_BY_WORDS = frozenset(names("bitsadmin schtasks bcdedit icacls cacls wevtutil cipher"))
"""Commands that ask by name although they may only show something."""


def changed_by(name: str, args: Sequence[str]) -> Iterator[Answer]:
    """Yield findings for the tool `name` if its words change the host."""
    if not args and name not in _ALONE:
        return
    text = " ".join(args).lower()
    if name in _ALWAYS:
        yield ask("windows_admin", f"{name} changes the system")
    elif (shows := _SHOWS.get(name)) is not None:
        if not _compiled(shows).match(text):
            yield ask("windows_admin", f"{name} changes the system")
    elif (changes := _CHANGES.get(name)) is not None and _compiled(changes).search(text):
        yield ask("windows_admin", f"{name} changes the system")
    elif name in {"net", "net1"}:
        yield from _net([arg.lower() for arg in args])
    elif name == "sc":
        yield from _service(text.split())
    elif name == "reg":
        yield from _registry(text.split())


def is_listed(name: str) -> bool:
    """Return whether a table here knows the words of the tool `name`."""
    return name in _SHOWS or name in _CHANGES


_REMOVES = re.compile(
    r"--(?:uninstall|wipe|unregister)|"
    r"[-/](?:delete|remove|uninstall|wipe|purge|erase|destroy|unregister|disable"
    r"|revoke)[a-z-]*(?:[:=].*)?",
    re.IGNORECASE,
)


_REMOVING_VERB = re.compile(
    r"(?:delete|destroy|wipe|purge|erase|uninstall|unregister)[a-z]*", re.IGNORECASE
)


def removed_by_shape(name: str, args: Sequence[str], home: str) -> Iterator[Answer]:
    """Yield findings for an unknown program by a destructive verb or switch."""
    if is_listed(name):
        return
    words = [arg for arg in args if not arg.startswith(("-", "/"))][:1]
    has_verbs = not is_cmdlet(name)
    removes = has_verbs and any(map(_REMOVING_VERB.fullmatch, words))
    if removes or any(map(_REMOVES.fullmatch, args)):
        yield ask("unknown_destroy", f"{name} may destroy something", RiskLevel.MEDIUM)
    elif has_verbs:
        yield from stranger(CommandCall(name, list(args), None, home))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_ACCOUNTS = frozenset(names("user localgroup group"))


def _net(words: list[str]) -> Iterator[Answer]:
    """Handle `net`: changes of accounts, shares, services and sessions."""
    verb, *rest = words
    switches = [word for word in rest if word.startswith("/") and word != "/domain"]
    named = [word for word in rest if not word.startswith("/")]
    if verb in _ACCOUNTS:
        changes = bool(switches) or len(named) > 1
    elif verb == "share":
        changes = bool(switches) or "=" in "".join(named)
    elif verb in {"accounts", "config", "computer", "time"}:
        changes = any(re.match(r"/(?!domain)\w+(?::|$)", word) for word in switches)
    elif verb in {"stop", "pause"}:
        changes = bool(rest)
    else:
        changes = bool({"/delete", "/d", "/close"} & set(switches))
    if changes:
        yield ask("windows_admin", f"net {verb} changes the system")


_SERVICE_VERBS = frozenset(
    names("delete stop config create failure failureflag pause sdset sidtype privs triggerinfo")
)


def _service(words: list[str]) -> Iterator[Answer]:
    """Handle `sc`: the verb follows the name of a server."""
    verb = next((word for word in words if not word.startswith("\\\\")), "")
    if verb in _SERVICE_VERBS:
        yield ask("windows_admin", f"sc {verb} changes the system")


def _registry(words: list[str]) -> Iterator[Answer]:
    if words[0] in {"delete", "add", "import", "restore", "load", "unload", "copy", "flags"}:
        yield ask("windows_admin", f"reg {words[0]} changes the system")
