"""macOS: settings of security, network and start-up, disks, keychains, profiles, backups."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk import floor
from app.policy.risk.call import (
    Answer,
    CommandCall,
    RuleTable,
    ask,
    deny,
    names,
    only_help,
    options,
    table,
)
from app.policy.risk.shapes import Rows, Shape, shaped, together

_WHY = "changes the settings of the system"
_SECURE_DOMAINS = (
    r"(?i)(?:com\.apple\.(?:screensaver|loginwindow|security\S*|alf\S*|SoftwareUpdate|commerce|"
    r"LaunchServices|TimeMachine|RemoteManagement|RemoteDesktop|SystemConfiguration\S*|MCX\S*|TCC|"
    r"smb\.server|AppleFileServer|ARDAgent|diskarbitrationd|backupd|Safari\S*|"
    r"AppStore|applicationaccess|"
    r"systempolicy\S*|ScreenSharing|NetworkBrowser|mDNSResponder|launchd\S*|"
    r"access_\S+|XProtect\S*)|"
    r"/Library/\S+|/private/\S+|/System/\S+)$"
)
_SECURE_KEYS = (
    r"(?i)^(?:\S*quarantine\S*|askForPassword\S*|SecureKeyboardEntry|\S*AutoLogin\S*|autoLoginUser|"
    r"GuestEnabled|\S*Automatic\S*(?:Check|Download|Update|Install)\S*|\S*CriticalUpdate\S*|"
    r"globalstate|stealthenabled|LoginHook|LogoutHook|\S*Gatekeeper\S*|"
    r"\S*Password\S*|\S*Firewall\S*)$"
)
_SETTINGS: Rows = {
    "systemsetup": (Shape(having=r"(?i)^-(?:set\w+|delete\w+)"),),
    "networksetup": (
        Shape(
            having=r"(?i)^-(?:set\w+|remove\w+|create\w+|delete\w+|add\w+|switchtolocation|"
            r"order\w+|"
            r"duplicate\w+|rename\w+|connect\w*|disconnect\w*|import\w+|detectnewhardware)"
        ),
    ),
    "scutil": (
        Shape(
            having=r"^--set$|^--nc\n(?:start|stop|suspend|resume|select|disable|enable)|"
            r"^--(?:prefs|renew|allow-new-interfaces|disable-until-needed)$"
        ),
    ),
    "defaults": (
        Shape(
            r"(?:-\w+ )?(?:write|import|rename) ",
            having=_SECURE_DOMAINS.replace("(?i)", "(?i)^", 1),
            valued="host",
        ),
        Shape(r"(?:write|import|rename) ", having=_SECURE_KEYS, valued="host"),
        Shape(r"delete(?:-all)?\b", valued="host", why="deletes settings"),
    ),
    "plistbuddy": (
        Shape(having=r"(?i)^-c\n(?:delete|clear|set|add|merge|import|copy|revert|save)\b"),
    ),
    "plutil": (
        Shape(having=r"^-(?:remove|replace|insert)$[\s\S]*^/(?:Library|System|etc|private)"),
    ),
    "profiles": (Shape(having=r"(?i)^(?:install|remove|renew|sync|-[IRDFNW]\w*)$"),),
    "spctl": (
        Shape(
            having=r"^--(?:master-disable|global-disable|master-enable|global-enable|add|"
            r"remove|disable|enable|reset-default)$|^kext-consent$|^developer-mode$",
            unless=r"^(?:--status|--assess|-a|--list|status|list)$",
        ),
    ),
    "csrutil": (
        Shape(
            r"(?:disable|enable|clear|authenticated-root (?:disable|enable)|netboot "
            r"(?:add|remove))\b"
        ),
    ),
    "bputil": (
        Shape(
            unless=r"^-(?:d|-display-all-policies|-display-policy|h|-help)$|^--(?:display-\S+|"
            r"help)$"
        ),
    ),
    "nvram": (Shape(having=r"=|^-\w*[cdf]"),),
    "bless": (
        Shape(
            having=r"^-{1,2}(?:folder|mount|device|netboot|setBoot|nextonly|unbless|bootefi|"
            r"file|openfolder|reset\S*|personalize|create-snapshot|snapshot\S*|"
            r"last-sealed-snapshot)$",
            unless=r"^-{1,2}(?:info|getBoot|help|version)$",
        ),
    ),
    "kextload kextunload": (Shape(r"", unless=r"^-(?:h|help|\?)$|^--help$"),),
    "kextutil": (Shape(unless=r"^-(?:n|no-load|h|help|t)$|^-(?:print-diagnostics|show-\S+)$"),),
    "kextcache": (
        Shape(
            having=r"^-(?:i|u|invalidate|update-volume|system-\S+|clear-staging|"
            r"prelinked-kernel|m|K)$|^/"
        ),
    ),
    "kmutil": (
        Shape(
            r"(?:load|unload|install|create|trigger-panic-medic|clear-staging|"
            r"configure-boot|rebuild|migrate)\b"
        ),
    ),
    "systemextensionsctl": (Shape(r"(?:uninstall|reset|developer)\b"),),
    "pmset": (Shape(unless=r"^-g$|^(?:help|--help|-h)$", having=r"\S"),),
    "mas": (Shape(r"(?:uninstall|reset|signout|signin|upgrade --force)\b"),),
    "softwareupdate": (
        Shape(
            having=r"^(?:-\w*[iaRr]\w*|--(?:install|all|restart|ignore|reset-ignored|"
            r"clear-catalog|set-catalog|fetch-full-installer|install-rosetta|"
            r"background\S*|recommended))$|^--schedule\n(?:on|off)$",
            unless=r"^(?:-l|--list|-h|--help|--history|--list-full-installers)$",
        ),
    ),
    "startosinstall createinstallmedia": (
        Shape(unless=r"^--(?:usage|help|license)$", why="installs a system over the existing one"),
    ),
    "fdesetup": (
        Shape(
            r"(?:enable|disable|add|remove|removerecovery|changerecovery|authrestart|"
            r"sync|haspersonalrecoverykey set)\b"
        ),
    ),
    "tccutil": (Shape(r"(?:reset|insert|enable|disable|remove)\b"),),
    "sharing": (Shape(having=r"^-[aer]$"),),
    "kickstart": (
        Shape(
            having=r"^-(?:activate|deactivate|configure|restart|stop|uninstall|install|"
            r"targetdisk|allowAccessFor|access|privs)$"
        ),
    ),
    "dsenableroot": (Shape(unless=r"^-{1,2}h(?:elp)?$"),),
    "dsconfigad dsconfigldap": (
        Shape(
            having=r"^-(?:a|add|remove|r|f|force|mobile|groups|passinterval|alldomains|"
            r"enablesso|shell|localhome|packetsign|packetencrypt|preferred|nopreferred|"
            r"leave)$",
            unless=r"^-(?:show|s|l|h)$",
        ),
    ),
    "dseditgroup": (Shape(having=r"^-o\n(?:create|delete|edit)$"),),
    "pwpolicy": (
        Shape(
            having=r"^-{1,2}(?:set\w*|clear\w*|disable\w*|enable\w*|reset\w*)|^set\w+$|"
            r"^clear\w+$|^disable\w+$|^enable\w+$"
        ),
    ),
    "createhomedir createmobileaccount deletemobileaccount": (Shape(unless=r"^-h$"),),
    "mdutil": (Shape(having=r"^-\w*[EXdap]|^-i$"),),
    "chflags": (
        Shape(
            r"\S*(?:schg|uchg|sappnd|uappnd|simmutable|uimmutable|restricted|dump)\S* ",
            why="changes file protection",
        ),
    ),
    "pkgutil": (Shape(having=r"^--(?:forget|unlink|edit-pkg|learn|repair)$"),),
    "installer": (
        Shape(
            having=r"^-(?:pkg|package|store)$",
            unless=r"^-(?:pkginfo|dominfo|volinfo|query|showChoicesXML|showChoiceChangesXML|"
            r"help|vers)$",
        ),
    ),
    "atsutil": (
        Shape(r"databases", having=r"^-remove\w*$"),
        Shape(r"server\b", having=r"^-shutdown$"),
    ),
    "lsregister": (Shape(having=r"^-(?:kill|delete|unregister|u)$"),),
    "lpadmin": (Shape(having=r"^-x"),),
    "wdutil airport": (Shape(having=r"^(?:-z|--disassociate|log|diagnose)$|^prefs$"),),
    "jamf": (
        Shape(
            r"(?:removeFramework|policy|flushCaches|deleteAccount|deletePrinter|manage|"
            r"enablePermissions|bless|removeMdmProfile|mdm|unmountServer|"
            r"setComputerName|resetPassword|uninstall|createAccount|deleteSetupUser|"
            r"startSSH|setOFP|install)\b"
        ),
    ),
    "mdmclient": (
        Shape(r"(?:install\w*|remove\w*|dep\w*|enroll\w*)\b", having=r"(?i)install|remove|enroll"),
    ),
    "serveradmin": (Shape(r"(?:stop|settings|command)\b", having=r"=|^stop$|^command$"),),
    "cupsctl": (Shape(having=r"=|^--"),),
    "prlctl": (
        Shape(
            r"(?:delete|unregister|stop|reset|snapshot-delete|snapshot-switch|suspend|"
            r"reinstall|unpack|backup-delete)\b"
        ),
    ),
    "prlsrvctl": (Shape(r"(?:shutdown|set|user set|net del|deinstall-license|usb del)\b"),),
    "tart": (Shape(r"(?:delete|stop|prune)\b"),),
    "utmctl": (Shape(r"(?:delete|stop|suspend)\b"),),
    "vmrun": (
        Shape(
            r"(?:deleteVM|stop|reset|suspend|deleteSnapshot|revertToSnapshot|"
            r"killProcessInGuest|deleteFileInGuest|deleteDirectoryInGuest|"
            r"removeSharedFolder|detachVMDevice|deletePortForwarding|uninstall|"
            r"runProgramInGuest|runScriptInGuest)\b",
            valued="T h u p gu gp P vp",
        ),
    ),
    "hdiutil": (
        Shape(r"(?:erasekeys|chpass|resize|burn|compact|unflatten|segment)\b"),
        Shape(r"(?:detach|eject|unmount)\b", having=r"^-force$"),
    ),
    "asr": (
        Shape(r"(?:restore|server|adjust|partition)\b"),
        Shape(having=r"^-{1,2}(?:erase|restore)$"),
    ),
    "gpt": (
        Shape(
            r"(?:\S+ )?(?:destroy|remove|create|add|label|recover|set|unset|resize|"
            r"migrate)\b",
            unless=r"^-r$",
        ),
    ),
}
_KEYCHAINS: Rows = {
    "security": (
        Shape(
            r"(?:add-trusted-cert|remove-trusted-cert|dump-keychain|dump-trust-settings "
            r"-d|set-\S+|delete-\S+|"
            r"trust-settings-import|export|find-\S+password|authorizationdb (?:write|"
            r"remove|smartcard)|"
            r"create-filevaultmaster-keychain|import|add-certificates?|user-trust-settings-enable|"
            r"filevault skip-sc-enforcement|sc_auth|smartcard)\b"
        ),
        Shape(r"(?:default-keychain|login-keychain|list-keychains)\b", having=r"^-s$"),
        Shape(r"add-(?:generic|internet)-password\b", having=r"^-(?:A|U)$"),
    ),
    "certtool": (Shape(r"[ci]\b"),),
    "systemkeychain": (Shape(having=r"^-[CkT]"),),
    "sc_auth": (Shape(r"(?:pair|unpair|accept|remove|changepin|pairing_ui|enable|disable)\b"),),
}
_BACKUPS: Rows = {
    "tmutil": (
        Shape(
            r"(?:delete\w*|thin\w*|disable\w*|setdestination|removedestination|restore|"
            r"stopbackup|inheritbackup|associatedisk|setquota|removeexclusion)\b"
        ),
    ),
}
_DISK_READS = frozenset(
    names(
        "list info information activity listfilesystems verifydisk verifyvolume checkjournal quiet"
    )
)
_DISK_ERASES = frozenset(
    names(
        "erasedisk erasevolume zerodisk randomdisk secureerase reformat partitiondisk eraseoptical"
    )
)
_DISK_GROUPS = frozenset(names("apfs ap cs corestorage appleraid ar image"))


def _disk(call: CommandCall) -> Iterator[Answer]:
    words = [word.lower() for word in options(call.args).rest]
    if not words or only_help(call.args):
        return
    verb = words[1] if words[0] in _DISK_GROUPS and len(words) > 1 else words[0]
    if verb in _DISK_READS or verb.startswith("list") or (verb in _DISK_GROUPS and len(words) == 1):
        return
    device = any(floor.is_block_device(call.at(arg)) for arg in call.args if "/" in arg)
    if verb in _DISK_ERASES or device:
        yield deny("raw_device", "diskutil changes a raw device")
    else:
        yield ask("disk", f"diskutil {verb} changes a disk")


RULES: RuleTable = together(
    shaped("settings", _WHY, _SETTINGS),
    shaped("keys", "changes or shows the contents or trust of a keychain", _KEYCHAINS),
    shaped("volume", "deletes backups or stops making them", _BACKUPS),
    table("diskutil", _disk),
)
