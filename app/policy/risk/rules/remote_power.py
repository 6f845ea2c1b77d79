"""Management controllers and fencing: power and settings of other hosts."""

from __future__ import annotations

from app.policy.risk.call import RuleTable
from app.policy.risk.shapes import Rows, Shape, shaped, together

_CONTROLLERS: Rows = {
    "ipmitool": (
        Shape(
            r"(?:chassis )?power (?:off|cycle|reset|soft|diag)\b", valued="I H U P f L p C A k o t"
        ),
        Shape(
            r"(?:mc|bmc) reset\b|sel (?:clear|delete|time set)\b|chassis (?:bootdev|"
            r"bootparam set|policy|poh reset)\b",
            valued="I H U P f L p C A k o t",
        ),
        Shape(
            r"user (?:set|enable|disable|priv)\b|lan set\b|channel setaccess\b|sol "
            r"(?:set|deactivate)\b",
            valued="I H U P f L p C A k o t",
        ),
        Shape(
            r"(?:raw|fru (?:write|edit)|hpm upgrade|mc (?:setenables|watchdog off)|"
            r"sensor thresh|pef policy|firewall (?:enable|disable|reset)|delloem|"
            r"ekanalyzer|ime update|fwum|dcmi (?:set|power|activate|deactivate))\b",
            valued="I H U P f L p C A k o t",
        ),
    ),
    "ipmipower ipmi-power": (Shape(having=r"^(?:-[fcrons]|--(?:off|cycle|reset|soft|pulse))$"),),
    "ipmi-sel ipmi-chassis ipmi-config bmc-config bmc-device ipmi-raw": (
        Shape(
            having=r"^--(?:clear|delete\S*|chassis-control\S*|commit|cold-reset|warm-reset|"
            r"set-\S+|chassis-identify)(?:=|$)"
        ),
    ),
    "racadm": (
        Shape(
            r"(?:systemerase|racreset\w*|serveraction (?!powerstatus)\S+|set|config|"
            r"clrsel|clrraclog|clrasrscreen|"
            r"jobqueue (?:delete|create)|storage:\S+|raid:\S+|fwupdate|update|"
            r"sslresetcfg|sslcertdelete|"
            r"vflashsd|vmdisconnect|closessn|deploy|biosscan|rollback|lclog (?:clear|"
            r"comment)|bioscert|"
            r"recover|remoteimage|license delete|usercertupload|sslkeyupload|"
            r"sslcertupload|httpsbootcert|"
            r"testemail|setniccfg|sshpkauth|plugin \S+|supportassist \S+|"
            r"autoupdatescheduler \S+|frontpanelerror)\b",
            valued="r u p i S",
        ),
    ),
    "ilorest redfish": (
        Shape(
            r"(?:reboot|factorydefaults|serverreset|iloreset|biosdefaults|clearlog|"
            r"deletecomp|uninstall\S*|set|commit|"
            r"flashfwpkg|uploadcomp|iloaccounts (?:add|delete|changepass|modify)|"
            r"drivesanitize|factoryresetcontroller|"
            r"deletevolume|delete\S*|rawdelete|rawpatch|rawpost|rawput|load|iloclone|"
            r"sigrecompute|virtualmedia|bootorder)\b",
            valued="-url u p -user -password",
        ),
    ),
    "hponcfg": (Shape(having=r"^-(?:r|b|f|i|reset)$"),),
    "redfishtool": (
        Shape(
            r"(?:\S+ )?(?:reset|set\w*|clearlog|delete\w*|add\w*|update\w*|patch|post)\b",
            valued="r u p S A",
        ),
    ),
    "apcctrl apctest": (Shape(r"\S"),),
    "upscmd upsrw": (Shape(unless=r"^(?:-l|-h|-V|--help)$"),),
    "xdsh psh rpower rinstall nodeset rmvm rmdsklsnode": (Shape(r"\S+ (?!stat)\S"),),
}
_FENCE = shaped(
    "remote_change",
    "shuts down another host",
    {
        "fence_ipmilan fence_virsh fence_xvm fence_apc fence_apc_snmp fence_aws "
        "fence_azure_arm fence_gce fence_vmware_rest "
        "fence_vmware_soap fence_idrac fence_ilo fence_ilo4 fence_ilo5 fence_drac5 "
        "fence_sbd fence_scsi fence_kdump "
        "fence_node fence_tool fence_rhevm fence_cisco_ucs fence_redfish fence_virt": (
            Shape(
                unless=r"^(?:-o|--action)(?:=|\n)?(?:status|monitor|list\S*|metadata|validate-all|"
                r"manpage)$|^(?:-h|-V|--help|--version)$"
            ),
        ),
    },
)

RULES: RuleTable = together(shaped("remote_change", "changes other hosts", _CONTROLLERS), _FENCE)
