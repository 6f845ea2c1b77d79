"""Disks, tapes, RAID controllers, printers and radios: erasing and reconfiguration."""

from __future__ import annotations

from app.policy.risk.call import RuleTable
from app.policy.risk.shapes import Rows, Shape, shaped

_HELP = r"^(?:-h|--help|-V|--version)$"
_STORAGE: Rows = {
    "sg_format sg_sanitize sg_write_same sg_unmap sg_wr_mode sg_reset "
    "sg_write_buffer sg_write_long sg_write_verify sg_write_x "
    "sg_reassign sg_stpg sg_start sg_zone sg_reset_wp sg_write_attr sg_rmsn "
    "sg_compare_and_write sg_senddiag sg_raw sg_prevent": (
        Shape(r"\S", unless=_HELP + r"|^(?:--dry-run|-d|--start|--test)$"),
    ),
    "sg_dd sgp_dd sgm_dd ddpt": (Shape(having=r"^of="),),
    "sg_persist": (
        Shape(having=r"^--(?:out|register|reserve|release|clear|preempt\S*)|^-[GRLCPAo]$"),
    ),
    "sdparm": (
        Shape(
            having=r"^--(?:set|clear|defaults|command=(?:stop|eject|unlock|sync|format))|^-[scD]"
        ),
    ),
    "storcli storcli64 perccli perccli64 storcli2 storelibtest": (
        Shape(
            having=r"(?i)^(?:del\w*|delete|erase|init\w*|clear|set|add|insert|spindown|spinup|"
            r"migrate|flush\w*|flash\w*|download|restart|shutdown|reset|compact|"
            r"transform|expand|remove|pause|stop|secureerase)(?:=|$)",
            unless=r"^(?:show|help)$",
        ),
    ),
    "megacli megacli64": (
        Shape(
            having=r"(?i)^-(?:Cfg\w*(?:Del|Clr|Add|ForeignClear|LdAdd|Restore|Import)\w*|"
            r"LD(?:Init|SetProp|Recon|BI|MakeSecure|Del\w*)|PD(?:Clear|Offline|Online|"
            r"MarkMissing|MakeGood|MakeJBOD|PrpRmv|HSP|Rbld|InstantSecureErase|"
            r"ReplaceMissing|SetProp)\w*|Ad(?:pFacDefSet|pSetProp|pFwFlash|pShutDown|"
            r"pEventLog|pBIOS|pM0Flash|pDowngrade|pReset\w*)|AdpFacDefSet|AdpEventLog|"
            r"AdpSetProp|AdpFwFlash|NVRamClear|SecureErase)(?:$|\n)",
            unless=r"(?i)^-(?:Get\w*|ShowProg|Info|PrintAll|Dsply|GetEvents\w*)$",
        ),
    ),
    "ssacli hpssacli hpacucli": (
        Shape(
            having=r"(?i)^(?:delete|create|modify|erase\S*|add|remove|clear\S*|restart|flash|"
            r"set|sanitize|enable|disable|reenable|diag)$"
        ),
    ),
    "arcconf": (
        Shape(
            r"(?i)(?:delete|create|setstate|task|format|clear\S*|modify|rescan|"
            r"romupdate|uninit|setconfig|secureerase|setcontroller\S*|key|imageupdate|"
            r"setmaxcache|phyerrorlog|savesupport|resetstatisticscounters|setperform)\b"
        ),
    ),
    "tw_cli": (
        Shape(
            having=r"(?i)^(?:del|delete|remove|add|set|rescan|start|stop|commit|flush|migrate|"
            r"update)$"
        ),
    ),
    "sas2ircu sas3ircu": (
        Shape(
            r"\S+ (?i:delete\w*|create|hotspare|activate|locate|constchk|bootir|"
            r"altbootir|logir)\b",
            having=r"(?i)^(?!locate$)",
        ),
    ),
    "sedutil-cli": (
        Shape(
            having=r"(?i)^--(?:revert\w*|yesIREALLY\w*|PSID\w*|set\w*|initialSetup|"
            r"enableLocking\w*|eraseLockingRange|disable\w*|load\w*|rekey\w*|"
            r"activate\w*|setupLocking\w*|takeOwnership)"
        ),
    ),
    "nvme": (
        Shape(
            r"(?:format|sanitize\S*|write\S*|delete-ns|create-ns|attach-ns|detach-ns|"
            r"reset|subsystem-reset|fw-(?:download|commit|activate)|set-\S+|"
            r"security-send|ns-rescan-reset|dsm|capacity-mgmt|virt-mgmt|resv-\S+|"
            r"disconnect\S*|zns (?:reset|finish|close|open|offline|set)\S*|lockdown|"
            r"rpmb|admin-passthru|io-passthru|ns-descs-write|dir-send|copy|"
            r"compare-write|io-mgmt-send|tls-key|wdc (?:clear|purge|drive-resize|"
            r"namespace-resize|vs-fw-activate)\S*|\S+ (?:clear|format|delete|purge|"
            r"sanitize|reset)\S*)"
        ),
    ),
    "wodim cdrecord cdrskin xorriso": (
        Shape(having=r"^-?blank(?:=|$)|^-(?:rm|rm_r|rmdir|format|cut_out|update_r)$"),
    ),
    "dvd+rw-format growisofs": (Shape(r"\S", unless=r"^-dry-run$|" + _HELP),),
    "mt": (
        Shape(
            r"(?:erase|weof|eof|setdensity|setpartition|mkpartition|wset|eom_write)\b", valued="f t"
        ),
    ),
    "mtx": (Shape(having=r"^(?:load|unload|transfer|exchange|eject|inventory_reset)$"),),
    "smartctl": (
        Shape(
            having=r"^(?:-X|--abort)$|^(?:-s|--smart|-S|--saveauto|-o|--offlineauto)(?:=|"
            r"\n)?off$|^(?:--set=|-s\n)\S*(?:security-freeze|wcache|rcache|off|"
            r"standby,now)|^(?:-p|--presets)"
        ),
    ),
    "gphoto2": (
        Shape(
            having=r"^(?:-[dD]|--delete\S*|--reset|--set-config\S*|--rmdir|--mkdir|-[mr]|"
            r"--upload-file\S*|-u)"
        ),
    ),
    "mtp-delfile mtp-format mtp-deletealbum mtp-reset mtp-newplaylist "
    "mtp-sendfile mtp-sendtr mtp-newfolder": (Shape(unless=_HELP),),
    "lpadmin": (Shape(having=r"^-[xpdE]"),),
    "lprm cancel cupsdisable cupsreject": (
        Shape(unless=_HELP, why="removes print jobs or printers"),
    ),
    "bluetoothctl": (Shape(r"(?:remove|power off|block|disconnect|untrust|reset-alias)\b"),),
    "btmgmt hciconfig": (
        Shape(
            r"(?:\S+ )?(?:unpair|power off|down|reset|block|le off|bondable off|"
            r"static-addr|public-addr|name)\b",
            valued="-index",
        ),
    ),
    "rfkill": (Shape(r"(?:block|toggle)\b"),),
    "iw iwconfig iwctl": (
        Shape(
            having=r"^(?:del|disconnect|forget|power|txpower|essid|mode|key|down|"
            r"interface\nadd|set|leave|ibss)$",
            unless=r"^(?:list|info|link|scan|show|get-networks)$",
        ),
    ),
    "ethtool": (
        Shape(
            having=r"^(?:-[sKGACLEfPXU]|--(?:change|features|offload|set-\S+|coalesce|pause|"
            r"flash|change-eeprom|reset|config-\S+|rxfh|restart))(?:$|\n)",
            unless=r"^(?:-i|-S|-k|-g|-a|-c|-l|-T|-m|-e)$",
        ),
    ),
    "ha": (
        Shape(
            r"(?:\S+ )?(?:stop|shutdown|reboot|remove|uninstall|restore|rebuild|repair|"
            r"downgrade|reset|wipe|import|move|rollback|update|restart|new|import|"
            r"delete)\b|os datadisk (?:move|wipe)\b|host services\b.*stop",
            unless=r"^(?:info|list|logs|stats)$",
        ),
    ),
}

RULES: RuleTable = shaped("device_change", "changes or erases a device", _STORAGE)
