"""Windows commands that show, copy or dump secrets of the host and its users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from app.policy.risk.call import Answer, ask, names
from app.policy.risk.secrets import is_secret_name
from app.policy.risk.windows_shares import is_text

STORES = re.compile(
    r"\\ntds\.dit|\bntds\.dit|\\config\\(?:regback\\)?(?:sam|security|system)(?![\w.\\])"
    r"|\\repair\\(?:sam|security|system)\b"
    r"|(?:unattend|autounattend|sysprep)\.(?:xml|inf)|\\(?:groups|scheduledtasks|services"
    r"|datasources)\.xml"
    r"|consolehost_history|historysavepath|psreadline\\\S*history"
    r"|\\microsoft\\(?:credentials|protect|vault|crypto\\(?:rsa|keys)|systemcertificates)"
    r"|\\user data\\\S*(?:login data|cookies|local state|web data|history)"
    r"|\\google\\chrome\\user data|\\microsoft\\edge\\user data|\\brave-browser\\user data"
    r"|\\mozilla\\firefox\\profiles|\\thunderbird\\profiles|\blogins\.json|\bkey[34]\.db"
    r"|\\login data\b|filezilla\\\w+\.xml|\bwinscp\.ini|\bconfcons\.xml|\\\w*\.rdg\b"
    r"|\bultravnc\.ini"
    r"|\\\.(?:ssh|aws|gnupg|kube|azure)\\?[\"']?(?:\s|$)|simontatham\\putty\\(?:sessions|sshhost)"
    r"|harddiskvolumeshadowcopy|\\gcloud\\(?:credentials|access_tokens|application_default|legacy)"
    r"|\.azure\\(?:msal_token|accesstokens|azureprofile|service_principal)|\\github cli\\hosts"
    r"|\\\.?docker\\config\.json|\bhiberfil\.sys|\bpagefile\.sys|\\memory\.dmp|\\wlansvc\\profiles"
    r"|\\\.ssh\\(?:id_\w+(?!\.pub)(?:$|[\s\"',;)])|$)|\\msoidcred|\\wcmsvc"
    r"|\\inetsrv\\config\\applicationhost",
    re.IGNORECASE,
)
"""Files and folders of secrets of Windows and its programs."""
_LOOKS = frozenset(
    names(
        "test-path dir ls gci get-childitem get-item gi get-acl attrib where where.exe "
        "resolve-path "
        "rvpa get-filehash cd chdir sl set-location push-location pushd tree icacls remove-item ri "
        "del erase rd rmdir if mkdir md new-item ni get-service"
    )
)
"""Commands that show a file's name, or remove it."""
_DUMPERS = frozenset(
    names(
        "sqldumper rdrleakdiag createdump dump64 dumpminitool dumpminitool.x86 dumpminitool.arm64 "
        "adplus tttracer nanodump handlekatz physmem2profit dumpit winpmem winpmem_mini magnetram"
    )
)
_ATTACKS = re.compile(
    r"(?:invoke-)?(?:mimikatz|mimikittenz|kerberoast|rubeus|sharphound|bloodhound|lazagne|pypykatz|"
    r"gsecdump|fgdump|pwdump\w*|wce(?:64)?|secretsdump(?:\.py)?|crackmapexec|netexec|nxc"
    r"|evil-winrm|"
    r"sharpdpapi|sharpchrome|safetykatz|dcsync|ninjacopy|powerdump|lsassy|nirsoft|mailpassview|"
    r"webbrowserpassview|chromepass|seatbelt|winpeas\w*|powerup|allchecks|sharpup|juicypotato|"
    r"printspoofer\w*|roguepotato|godpotato|getsystem|tokenmanipulation|dllinjection|"
    r"reflectivepeinjection|shellcode)"
)
_TOOLS: dict[str, str] = {
    "netsh": r"key\s*=\s*clear",
    "reg": r"^(?:save|export)\s+\S*(?:hklm|hkey_local_machine)\\\"?(?:sam|security|system)(?:\s"
    r"|\"|\\policy|\\sam|$)"
    r"|^query\s.*(?:winlogon.*password|defaultpassword|/f\s+\"?(?:pass|pwd|secret|cred)"
    r"|\\lsa\\?(?:secrets|jd|skew1)"
    r"|simontatham\\putty\\(?:sessions|sshhost)|\\(?:real|orl|tight)?vnc\S*(?:password|server"
    r"|4)|\\snmp\\param"
    r"|openssh\\agent\\keys|\\(?:sam|security)(?:\\|\s|$)|martin prikryl)",
    "vaultcmd": r"/listcreds",
    "manage-bde": r"protectors\s.*-get|-get\s|-getkey",
    "ntdsutil": r"\bifm\b|create\s+full|snapshot",
    "dsdbutil": r"snapshot|ifm",
    "wbadmin": r"ntds|systemstate|config\\",
    "certutil": r"[-/](?:exportpfx|mergepfx|recoverkey|getkey|dspublish)|[-/]exportpvk",
    "procdump": r"\blsass|(?:^|\s)-(?:m\w+|r)\s+(?:\S+\s+)*?\d+(?:\s|$)",
    "procdump64": r"\blsass|(?:^|\s)-(?:m\w+|r)\s+(?:\S+\s+)*?\d+(?:\s|$)",
    "rundll32": r"minidump|keymgr",
    "findstr": r"\bcpassword\b",
    "select-string": r"\bcpassword\b",
    "aspnet_regiis": r"-p(?:d|df|x)\b",
    "appcmd": r"list\s.*(?:password|/text:\*|/config)",
    "wmic": r"\bshadowcopy\b.*create|useraccount.*password",
    "vssadmin": r"^create\b",
    "diskshadow": r"\S",
    "laps.ui": r"\S",
    "sqlcmd": r"sys\.sql_logins|password_hash",
    "tsecimp": r"\S",
    "dpapi": r"\S",
    "bcp": r"sys\.sql_logins",
}
_GETS = re.compile(
    r"new-\w*sastoken|get-(?:\w*(?:adrepl(?:account|icationsecret)|adreplaccount|addbaccount"
    r"|bootkey"
    r"|lsasecret\w*|lsacachedcredential"
    r"|vaultcredential\w*|storedcredential\w*|cachedgpppassword|gpppassword|gppautologon"
    r"|lapsadpassword|lapspassword"
    r"|lapsaadpassword|admpwdpassword|adserviceaccountpassword|admanagedpassword|adkdsrootkey"
    r"|kdsrootkey\w*"
    r"|addbbackupkey|adreplbackupkey|wlanpassword\w*|wifi(?:password|profile\w*key)\w*"
    r"|webcredentials?"
    r"|browserdata|chromedump|clipboardcontents|keystrokes|timedscreenshot|passhashes|hashdump"
    r"|unattended\w*file"
    r"|registryautologon|applicationhost|sitelistpassword|secretvalue"
    r"|secsecretvalue"
    r"|accountaccesskeys?|apikeyvalue|publishingprofile\w*|publishingcredential\w*"
    r"|connectionstrings?|"
    r"accesstoken|authtoken|sessiontoken|federationtoken|passworddata|iamcredentialreport)"
    r"|az\w*(?:(?<!keyvault)(?<!ssh)(?<!hsm)key|keys|listkey|listkeys|accesstoken"
    r"|admincredential|kubeconfig)"
    r"|azureadbitlockerkey|bitlockerkey\w*|bitlockerrecovery\w*)"
)
_HARMLESS_GETS = frozenset(
    names("get-azkeyvaultkey get-azsshkey get-azkeyvaultmanagedhsmkey get-azdiskencryptionsetkey")
)
_PLAIN = re.compile(r"-asplaintext\b|-withdecryption\b|-decrypt\b|-secretvaluetext\b")
_SHOWS_SECRET = re.compile(
    r"getnetworkcredential\(\)|networkcredential\b[^;\n]{0,200}\)\.password\b"
    r"|convertfrom-securestring\b[^;\n]{0,300}-asplaintext|\bdefaultpassword\b"
    r"|ptrtostring(?:auto|bstr|uni|ansi)\b|securestringto(?:bstr"
    r"|globalalloc|cotaskmem)"
    r"|protecteddata\]::unprotect|passwordvault|retrievepassword|\.secretvaluetext"
    r"|recoverypassword\b"
    r"|credentialcache\]::default|credread\w*\(|lsadump|sekurlsa|minidumpwritedump|out-minidump"
    r"|\bhistorysavepath|cryptunprotectdata|dpapi\]::|(?:microsoft\.win32\.registry\]|hk(?:lm"
    r"|ey_local_machine):?)\S*\\(?:sam|security\\policy)\b"
    r"|-property\s+\S*(?:ms-mcs-admpwd|mslaps-password|unixuserpassword|msds-managedpassword)"
    r"|ms-mcs-admpwd|msds-managedpassword",
    re.IGNORECASE,
)
_TEXT_LITERAL = re.compile(
    r"^\s*(?:write-(?:host|output|verbose|warning)|echo)\s+(['\"])[^'\"$]*\1\s*$", re.IGNORECASE
)


_SHOWN_ALONE = re.compile(
    r"(?:^|[;&|]\s*)(?:echo\s+|write-(?:host|output)\s+)?(?:\$env:(?P<a>\w+)|%(?P<b>\w+)%)\s*(?:$|[;&|])",
    re.IGNORECASE,
)
_SEARCHED = re.compile(
    r"(?:get-childitem|get-item|get-content|gci|gi|dir|ls|gc|cat|type)\s+\\?['\"]?env:\\?\w*"
    r"(?:token|secret|passw|_key)\w*|\benv:\S*\s*\|[^|]*(?:match|like|select-string|findstr)[^|]*(?:token|secret|pass|key)"
    r"|(?:^|[&|]\s*)set\s*\|\s*find(?:str)?\b[^|]*(?:token|secret|pass|key)",
    re.IGNORECASE,
)


def _environment_shown(text: str) -> bool:
    """Return whether a line prints a secret of the environment."""
    found = _SHOWN_ALONE.search(text)
    name = (found["a"] or found["b"]) if found else ""
    return is_secret_name(name) or _SEARCHED.search(text) is not None


def shown_in_text(text: str) -> Iterator[Answer]:
    """Ask about a text that shows a secret: of the environment, or from a store."""
    if _environment_shown(text):
        yield ask("secret_read", "shows a secret of the environment")
    if (found := _SHOWS_SECRET.search(text)) and not _TEXT_LITERAL.match(text):
        yield ask("secret_read", f"shows a secret through {found.group()}")


def secrets_shown(name: str, args: Sequence[str]) -> Iterator[Answer]:
    """Yield findings for the command `name` if it shows or copies a secret of the host."""
    if is_text(name) and name not in {"findstr", "select-string", "sls"}:
        return
    text = " ".join(args).replace("/", "\\")
    lowered = " ".join(args).lower()
    if name in _DUMPERS and args:
        yield ask("secret_read", f"{name} writes the memory of a process, including its secrets")
    elif _ATTACKS.fullmatch(name):
        yield ask("secret_read", f"{name} is a tool for obtaining secrets or permissions")
    elif (pattern := _TOOLS.get(name)) and _compiled(pattern).search(lowered):
        yield ask("secret_read", f"{name} shows or copies secrets")
    elif _GETS.fullmatch(name) and name not in _HARMLESS_GETS:
        yield ask("secret_read", f"{name} shows secrets")
    elif _PLAIN.search(lowered) and name.startswith(("get-", "convertfrom-", "unprotect-")):
        yield ask("secret_read", f"{name} shows a secret as plain text")
    elif name not in _LOOKS and (found := STORES.search(text)):
        yield ask("secret_read", f"{name} uses {found.group()}, which contains secrets")
    elif (
        name not in _LOOKS
        and not is_text(name)
        and _LSASS.search(lowered)
        and name not in _LISTS_PROCESSES
    ):
        yield ask(
            "secret_read",
            f"{name} works on lsass, which holds the passwords of all who are logged on",
        )


_LSASS = re.compile(r"\blsass(?:\.exe)?\b")
_LISTS_PROCESSES = frozenset(
    names(
        "tasklist get-process gps ps findstr find select-string where-object sort-object pslist "
        "? where"
    )
)


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
