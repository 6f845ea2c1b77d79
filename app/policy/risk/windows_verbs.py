"""Cmdlets assessed by the form of their names, which all PowerShell modules follow.

The verb is the action and the noun its object. A verb that removes or grants access asks for any
noun; a verb that creates or changes asks if the noun is an account, a right, a service, a part of
the network or another part of the host. Showing, testing, comparing and formatting does not ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, ask, names
from app.policy.risk.model import RiskLevel

_NAME = re.compile(r"([a-z]+)-([a-z][a-z0-9_]*)")
_ENDING = frozenset(
    names(
        "remove unregister uninstall disable stop reset revoke clear dismount revert suspend "
        "deny block unpublish restore resize delete lock"
    )
)
_OPENING = frozenset(names("grant enable unblock unlock approve register rename"))
_MAKING = frozenset(names("new set add update import install move write edit limit join"))
_MAKING_AND_DOING = _MAKING | frozenset(
    names("initialize close send invoke copy use merge expand flush hide disconnect")
)
HARMLESS = frozenset(
    names(
        # Objects created by the session, or ending with it.
        "remove-module remove-variable remove-job remove-pssession remove-psdrive remove-alias "
        "remove-event remove-psbreakpoint remove-typedata remove-pssnapin remove-cimsession "
        "remove-formatdata remove-psreadlinekeyhandler unregister-event disable-psbreakpoint "
        "disable-runspacedebug stop-job stop-transcript stop-pssession suspend-job "
        "suspend-bitstransfer clear-host clear-variable clear-history clear-dnsclientcache "
        "clear-azcontext clear-azdefault clear-awscredential disable-azcontextautosave "
        "disable-azdatacollection disable-azurermalias enable-psbreakpoint enable-runspacedebug "
        "enable-azcontextautosave enable-azurermalias enable-azdatacollection "
        "enable-experimentalfeature enable-computerrestore register-objectevent "
        "register-engineevent register-argumentcompleter register-azresourceprovider "
        "register-azproviderfeature register-dnsclient rename-item rename-itemproperty "
        # Description of a later cmdlet's action.
        "new-scheduledtask new-scheduledtaskaction new-scheduledtasktrigger "
        "new-scheduledtaskprincipal new-scheduledtasksettingsset new-jobtrigger new-cimsession "
        # Member of an object, a drive letter, a login of the user.
        "update-storageprovidercache update-hoststoragecache "
        "add-member new-smbmapping set-awscredential new-awscredential update-credential"
    )
)
"""Cmdlets of such a form without a lasting effect."""
_RIGHTS = re.compile(
    r"^(?:local(?:user|group)|iam|mg|msol|azuread|azad|entra|aad|mailbox|casmailbox|remotemailbox"
    r"|mailuser|mailcontact|distributiongroup|unifiedgroup|organization|transport|inbox|journal"
    r"|ad(?:user|group|computer|object|account|domain|forest|organizational|service|trust|principal"
    r"|fine|default|replication|central|resource|directory|claim|authentication|dc|optional|root"
    r"|fs|ds|sync|permission|connector|lds)|gp(?:o|link|permission|registry|pref|inheritance)"
    r"|spo|adminaudit|cs(?:user|tenant|online|teams|external)|kds|laps|spn|sqllogin|dbauser"
    r"|cognito|csonlineuser)"
    r"|(?:user|users|groupmembers?|members?|roles?|roleassignment|roledefinition|rolegroup"
    r"|permissions?|acls?|accesscontrol|accessrule|policy|policies|password|principal|accesskey"
    r"|loginprofile|login|delegate|delegation|owner|rights?|privileges?|credentials?"
    r"|securitydescriptor|trustedhosts?|exportrequest|membership|usertogroup|policydocument)$"
)
"""Accounts, groups, domains, mailboxes, and their rights."""
_HOST_PARTS = names(
    "service$ windowsservice scheduled(?:task|job)s?$ clusteredscheduledtask "
    # The network, and its services.
    "net(?!eventlog|core|framework|standard)[a-z0-9]+ dns dhcp smb nfs iscsi initiator masking "
    "targetport wsman winrm psremoting pssessionconfiguration$ vpn remoteaccess rd(?!b) dfs bgp "
    "nlb "
    "nps ipam gateway routing webapplicationproxy internetproxy winhttpproxy hns mpio msdsm tls "
    "da(?:client|server|entry|multi|mgmt|network|app|otp) bc(?:auth|cache|data|secret|minsmb) "
    # Disks, files and boot of the host.
    "partition disk$ volume$ physicaldisk virtualdisk pmem resiliency dedup refs fsrm "
    "fileintegrity "
    "storage(?!account|blob|share|queue|table|container) bcd secureboot bitlocker tpm wim "
    "wb(?:policy|backup|schedule|volume|system|bare|file|vss|performance) "
    "sr(?:group|partner|network) "
    "vm(?:firmware|security|keyprotector|host|switch|san|replication|migration) cluster wds wms "
    # Protection, trust, logs and updates.
    "mp(?:preference|threat) applocker cipolicy ruleoption hvci processmitigation hgs tlscipher "
    "certificate$ pfxcertificate certificateenrollment ca(?:authority|crl|template) adcs adrms rms "
    "dhas devicehealth audit eventlog winevent logproperties autologger etw kerberos wsus vamt "
    "windows(?:feature|optional|driver|package|capability|edition|reserved|update|product|search) "
    "appxprovisioned appxvolume provisioning trustedprovisioning appv uev deliveryoptimization "
    # The host itself, and its sources of code.
    "computer$ date$ timezone winsystemlocale autologon assignedaccess pnpdevice printerdriver "
    "odbcd(?:sn|river) dtc msmq mmagent pcsv wmiinstance wmievent ciminstance cimindication dsc "
    "webconfiguration iisconfig psrepository packagesource psresourcerepository"
)
_HOST = re.compile(
    rf"^(?:{'|'.join(_HOST_PARTS)})"
    r"|firewall|securityrule|signerrule|(?<!alert)rule$|(?<!storage)share$|vmextension$|runcommand$"
    r"|customscriptextension|ssmcommand$|portproxy|portmapping|unattend$"
)
"""Services, tasks, the network, disks, updates, trust and other parts of a host."""
_DOES = {
    "start-dscconfiguration": "changes the system",
    "export-pfxcertificate": "hands out private keys",
    "invoke-dscresource": "changes the system",
}
_STARTS = re.compile(r"start-\w*(?:recovery|failover|uninstall|rollback|cutover|migration)")
_HANDS_OUT = re.compile(
    r"export-\w*(?:secret|session|private)\w*key|export-(?:rmstpd|npsconfiguration)"
)
_TO_REGISTRIES = frozenset(names("publish-module publish-script publish-psresource"))


_OTHER_VERBS = frozenset(
    names(
        "get test show find measure select out read receive wait watch where foreach sort group "
        "compare convertto convertfrom convert format write export save search resolve trace debug "
        "start restart resume push pop enter exit connect complete confirm checkpoint backup mount "
        "optimize split step switch tee skip sync undo redo ping protect unprotect request assert"
    )
)


def is_cmdlet(name: str) -> bool:
    """Return whether a name is a cmdlet's, whose words are names and texts, not verbs."""
    found = _NAME.fullmatch(name)
    verbs = (_ENDING, _OPENING, _MAKING_AND_DOING, _OTHER_VERBS)
    return found is not None and any(found[1] in group for group in verbs)


def cmdlet(name: str) -> Iterator[Answer]:
    """Yield findings for the cmdlet `name`, by verb and noun."""
    found = _NAME.fullmatch(name)
    if found is None or name in HARMLESS:
        return
    verb, noun = found.groups()
    if verb in _ENDING:
        yield ask("windows_admin", f"{name} takes something away")
    elif verb in _OPENING:
        yield ask("windows_admin", f"{name} gives access or changes the system")
    elif name in _TO_REGISTRIES:
        yield ask("publish", f"{name} cannot be taken back", RiskLevel.MEDIUM)
    elif name in _DOES:
        yield ask("windows_admin", f"{name} {_DOES[name]}")
    elif _STARTS.fullmatch(name):
        yield ask("windows_admin", f"{name} puts something else in place of what is there")
    elif _HANDS_OUT.fullmatch(name):
        yield ask("secret_read", f"{name} hands out secrets")
    elif verb in _MAKING and _RIGHTS.search(noun):
        yield ask("windows_admin", f"{name} changes accounts or rights")
    elif verb in _MAKING_AND_DOING and _HOST.search(noun):
        yield ask("windows_admin", f"{name} changes the system")
