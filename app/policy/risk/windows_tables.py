"""Commands of cmd and PowerShell that change a host, in lower case, with their effects."""

from __future__ import annotations

from app.policy.risk.call import names

DELETES = frozenset(
    names(
        "remove-item ri rm del erase rd rmdir remove-itemproperty rp clear-content "
        "clc clear-item cli clear-recyclebin deltree rimraf unlink sdelete sdelete64"
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
            "set-adaccountpassword",
        ],
        "changes accounts",
    ),
    **dict.fromkeys(
        [
            "remove-vm",
            "remove-azresourcegroup",
            "remove-partition",
            "remove-azvm",
            "remove-netfirewallrule",
            "remove-wmiobject",
            "remove-ciminstance",
        ],
        "deletes resources",
    ),
    **dict.fromkeys(
        names("takeown icacls cacls cipher bcdedit bootrec regini wevtutil clear-eventlog"),
        "changes protection or logs",
    ),
    **dict.fromkeys(
        ["uninstall-package", "uninstall-module", "remove-appxpackage"], "removes software"
    ),
    **dict.fromkeys(["add-type"], "compiles and loads code"),
    "logoff": "ends the session",
    **dict.fromkeys(names("mshta regsvr32 rundll32 bitsadmin"), "loads or fetches code"),
    **dict.fromkeys(["invoke-history", "ihy"], "runs earlier commands"),
    **dict.fromkeys(
        names(
            "set-acl set-netfirewallprofile set-netfirewallrule new-netfirewallrule "
            "enable-psremoting"
        ),
        "opens the host",
    ),
}
DENIES: dict[str, str] = {
    **dict.fromkeys(["format", "format.com"], "formats a drive"),
    **dict.fromkeys(
        [
            "clear-disk",
            "format-volume",
            "initialize-disk",
            "diskpart",
            "reset-physicaldisk",
        ],
        "wipes a disk",
    ),
    **dict.fromkeys(
        names("stop-computer restart-computer psshutdown psshutdown64"), "turns the host off"
    ),
}
ALIASES = {
    "icim": "invoke-cimmethod",
    "iwmi": "invoke-wmimethod",
    "swmi": "set-wmiinstance",
    "rwmi": "remove-wmiobject",
    "rcim": "remove-ciminstance",
    "scim": "set-ciminstance",
    "ncim": "new-ciminstance",
    "clp": "clear-itemproperty",
    "ipmo": "import-module",
}
"""Unambiguous short names of cmdlets."""
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
OWN = frozenset(
    names(
        # cmd and Windows commands whose name differs in meaning from Unix.
        "assoc at attrib break call cd chdir chkdsk choice cls clip color comp compact convert "
        "copy date dir doskey echo endlocal exit expand fc find findstr for goto help hostname "
        "label logoff md mkdir mklink mode more move path pause popd print prompt pushd recover "
        "rem ren rename replace set setlocal setx shift sort start subst time timeout title tree "
        "type ver verify vol where whoami xcopy "
        # Aliases of PowerShell.
        "cat clear compare cp diff ft fl foreach gc gci gi group history h ls man "
        "measure mi mount mv ni nv ps pwd r rv select si sl sleep sls sp sv tee write "
        # Words of PowerShell's language.
        "begin break catch class continue do else elseif end exit finally function if in param "
        "process return switch throw trap try until using while"
    )
)
"""Names that a Unix rule would misinterpret."""
