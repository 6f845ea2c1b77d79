"""The commands of cmd and PowerShell that change a host, in lower case, and what they do."""

from __future__ import annotations

import re

from app.policy.risk.call import names

DELETES = frozenset(
    names(
        "remove-item ri rm del erase rd rmdir remove-itemproperty rp clear-content "
        "clc clear-item cli clear-recyclebin deltree rimraf unlink"
    )
)
ASKS: dict[str, str] = {
    **dict.fromkeys(
        names("stop-process spps taskkill tskill stop-service spsv remove-service"),
        "ends processes or services",
    ),
    **dict.fromkeys(
        [
            "invoke-expression",
            "iex",
            "invoke-command",
            "icm",
            "invoke-wmimethod",
            "invoke-cimmethod",
        ],
        "runs text as code",
    ),
    **dict.fromkeys(
        [
            "set-executionpolicy",
            "new-service",
            "register-scheduledtask",
            "schtasks",
            "set-mppreference",
            "add-mppreference",
        ],
        "changes what may run",
    ),
    **dict.fromkeys(
        [
            "remove-aduser",
            "remove-localuser",
            "new-localuser",
            "set-localuser",
            "add-localgroupmember",
            "disable-localuser",
        ],
        "changes accounts",
    ),
    **dict.fromkeys(
        [
            "remove-vm",
            "remove-azresourcegroup",
            "remove-azvm",
            "remove-netfirewallrule",
            "remove-wmiobject",
            "remove-ciminstance",
        ],
        "deletes resources",
    ),
    **dict.fromkeys(
        names("takeown icacls cacls cipher bcdedit wevtutil clear-eventlog"),
        "changes protection or logs",
    ),
    **dict.fromkeys(
        ["uninstall-package", "uninstall-module", "remove-appxpackage"], "removes software"
    ),
    **dict.fromkeys(["add-type"], "compiles and loads code"),
    **dict.fromkeys(names("mshta regsvr32 rundll32 bitsadmin"), "loads or fetches code"),
    **dict.fromkeys(["invoke-history", "ihy"], "runs earlier commands"),
    **dict.fromkeys(names("set-acl set-netfirewallprofile set-netfirewallrule"), "opens the host"),
}
DENIES: dict[str, str] = {
    **dict.fromkeys(["format", "format.com"], "formats a drive"),
    **dict.fromkeys(
        [
            "clear-disk",
            "format-volume",
            "initialize-disk",
            "remove-partition",
            "diskpart",
            "reset-physicaldisk",
        ],
        "wipes a disk",
    ),
    **dict.fromkeys(["stop-computer", "restart-computer"], "turns the host off"),
}
NAMES = tuple(
    sorted(
        {
            *DELETES,
            *ASKS,
            *DENIES,
            "reg",
            "vssadmin",
            "wmic",
            "netsh",
            "regedit",
            "wbadmin",
            "fsutil",
            "mountvol",
            "msiexec",
            "psexec",
            "psexec64",
            "certutil",
            "runas",
            "saps",
            "start-process",
            "set-itemproperty",
            "new-itemproperty",
            "invoke-sqlcmd",
            "forfiles",
            "robocopy",
            "net",
            "sc",
        }
        - {"iex", "rimraf", "unlink"}
    )
)
ROOT = re.compile(
    r"[a-z]:[\\/]*\*?(?:\.\*)?|[\\/]+\*?|~[\\/]?\*?|\$home[\\/]?\*?|"
    r"\$env:(?:userprofile|systemroot|windir|systemdrive|programfiles|"
    r"homepath)[\\/]*\*?"
    r"|%(?:userprofile|systemroot|windir|systemdrive|programfiles)%[\\/]*\*?|"
    r"[a-z]:[\\/](?:windows|users|program files(?: \(x86\))?|programdata)(?:[\\/]\*?)?"
    r"|[a-z]:[\\/]users[\\/][^\\/*]+(?:[\\/]\*?)?|[a-z]:[\\/]windows[\\/]system32(?:[\\/].*)?",
    re.IGNORECASE,
)
METHOD = re.compile(
    r"\[(?:system\.)?io\.(?:file|directory)\]::\s*delete|\.delete(?:file|folder)?\(|::delete\(|"
    r"\[scriptblock\]::create|\.invoke\(|downloadstring|frombase64string"
    r"|\[system\.reflection|\[reflection\.assembly|::start\(|shellexecute|::kill\(|\.kill\("
    r"|wscript\.shell|invokescript\(|\binvokecommand\.|::createinstance\("
    r"|setenvironmentvariable\([^,()]*,[^,()]*,",
    re.IGNORECASE,
)
ENDS = re.compile(
    r"(?:remove|unregister|uninstall|disable|stop|reset|revoke|clear|dismount|revert)-[a-z0-9]+"
)
"""What a cmdlet with one of these verbs does, it takes away, also one that no table names."""
ENDS_LITTLE = frozenset(
    names(
        "remove-module remove-variable remove-job remove-pssession remove-psdrive remove-alias "
        "remove-event remove-psbreakpoint remove-typedata remove-pssnapin unregister-event "
        "disable-psbreakpoint stop-job stop-transcript clear-host clear-variable clear-history"
    )
)
"""Those whose loss ends with the session."""
