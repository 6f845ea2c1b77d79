"""Boards, phones and security keys: erasing, flashing, unlocking, resetting."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, RuleTable, ask, options, table
from app.policy.risk.shapes import Rows, Shape, compiled, shaped, together

_WHY = "changes or erases a device"
_HELP = r"^(?:-h|--help|-V|--version)$"
_TOUCHED = r"(?:reset|delete|remove|erase|wipe|format|clear|unset|factory[-_]?reset|destroy|purge)"

_KEYS: Rows = {
    "ykman": (
        Shape(rf"(?:\S+ ){{1,4}}{_TOUCHED}\b"),
        Shape(r"config (?:usb|nfc|mode|set-lock-code|reset|interfaces)\b|mode \S"),
        Shape(
            r"(?:piv|openpgp|oath|fido|otp|hsmauth) access (?:change\S*|set\S*|"
            r"unblock\S*|force\S*)\b|otp (?:swap|chalresp|hotp|static|yubiotp|"
            r"settings)\b"
        ),
        Shape(r"(?:piv|openpgp) (?:keys|certificates|objects) (?:generate|import|set-\S+|move)\b"),
    ),
    "yubico-piv-tool": (
        Shape(
            having=r"^(?:-a|--action)(?:=|\n)?(?:reset|set-\S+|change-\S+|unblock-pin|"
            r"delete-\S+|import-\S+|generate|write-object|pin-retries|move-key)"
        ),
    ),
    "ykpersonalize": (Shape(having=r"^-(?:1|2|z|x|m\S*|o\S*|n\S*|u|s\S*)$", unless=r"^-(?:V|h)$"),),
    "nitropy": (
        Shape(rf"(?:\S+ ){{1,3}}{_TOUCHED}\b"),
        Shape(
            r"(?:\S+ )?(?:update|set-pin|change-pin|reboot|validate-update|set-config|"
            r"provision|add-\S+|delete-\S+|set-\S+|restore)\b|nethsm (?:delete|factory|"
            r"lock|shutdown|reboot|update|restore|set|cancel|commit)\S*"
        ),
    ),
    "solo1 solo solo2": (
        Shape(
            rf"(?:\S+ ){{0,2}}(?:{_TOUCHED}|program|update|set-pin|change-pin|"
            rf"disable-updates|bootloader|mergehex|enter-\S+)\b"
        ),
    ),
    "gpg-card": (
        Shape(
            rf"(?:{_TOUCHED}|factory-reset|passwd|generate|writekey|writecert|unblock|"
            rf"yubikey disable|yubikey enable|forcesig|uif|salut|login)\b"
        ),
    ),
    "fido2-token": (Shape(having=r"^-\w*[RDSCadfu]", unless=r"^-[LIGV]"),),
    "pkcs15-init": (
        Shape(
            having=r"^-\w*[ECPSXFDuT]|^--(?:erase\S*|create\S*|delete\S*|store\S*|generate\S*|"
            r"finalize|update\S*|sanity-check|change\S*)"
        ),
    ),
    "pkcs15-tool": (Shape(having=r"^--(?:change-pin|unblock-pin|update)"),),
    "pkcs11-tool": (
        Shape(
            having=r"^-\w*[bcwk]$|^--(?:delete-object|init-token|init-pin|change-pin|"
            r"unlock-pin|write-object|keypairgen|keygen)"
        ),
    ),
    "cardos-tool openpgp-tool sc-hsm-tool iasecc-tool gids-tool piv-tool "
    "cryptoflex-tool westcos-tool npa-tool dnie-tool": (
        Shape(
            having=r"^--(?:format|erase|initialize|wrap-key|unwrap-key|delete\S*|change-\S+|"
            r"unblock\S*|pin-cmd|do|verify-pin|gen\S*|del-key|create\S*|admin|write|"
            r"unblock|startkey|change-startkey)|^-[fEX]$"
        ),
    ),
    "trezorctl": (
        Shape(
            r"(?:device (?:wipe|recover|setup|load|reboot-to-bootloader|"
            r"unlock-bootloader|set-busy)|firmware (?:update|upgrade)|set \S|fido "
            r"credentials remove|wipe-device|recovery-device|change-\S+)"
        ),
    ),
    "ledgerctl ledgerblue": (Shape(rf"(?:{_TOUCHED}|install|upgrade|uninstall)\b"),),
    "hsmtool lunacm cmu vtl yubihsm-shell softhsm2-util pkcs11-keyutil": (
        Shape(
            having=r"^--(?:init-token|delete-token|import)|(?:reset|delete|zeroize|"
            r"factoryreset|initialize|clear)\b"
        ),
    ),
    "tpm2_clear tpm2_clearcontrol tpm2_evictcontrol tpm2_nvundefine "
    "tpm2_changeauth tpm2_nvwrite tpm2_nvdefine "
    "tpm2_hierarchycontrol tpm2_dictionarylockout tpm2_setprimarypolicy "
    "tpm2_changeeps tpm2_changepps tpm2_nvwritelock "
    "tpm2_pcrreset tpm2_pcrallocate tpm_clear tpm_takeownership "
    "tpm_setclearable tpm_changeownerauth tpm2_flushcontext": (
        Shape(unless=_HELP, why="changes the contents of the security chip"),
    ),
}
_BOARDS: Rows = {
    "esptool esptool.py": (
        Shape(
            r"(?:\S+ )?(?:write|erase|load|run|merge_bin_to_flash)[-_]?(?:flash\S*|"
            r"region|mem|ram|status\S*|reg\S*)?\b",
            valued="-port p b c -baud -chip -before -after -connect-attempts a",
        ),
    ),
    "espefuse espefuse.py": (
        Shape(r"(?:burn|write|read[-_]protect|set[-_]flash|execute)\S*", valued="-port p c -chip"),
    ),
    "idf.py": (
        Shape(
            r"(?:\S+ )*(?:flash|erase[-_]flash|erase[-_]otadata|app-flash|"
            r"bootloader-flash|partition[-_]table-flash|efuse-burn\S*|dfu-flash)\b",
            valued="p b B C",
        ),
    ),
    "avrdude": (Shape(having=r"^-\w*e$|(?:^|:)[wv]:|^-U\n?\S*:w:"),),
    "dfu-util": (Shape(having=r"^(?:-D|--download|-e|--detach|-s\n?\S*mass-erase)"),),
    "dfu-programmer": (Shape(r"\S+ (?:erase|flash\S*|setsecure|configure|launch|reset|start)\b"),),
    "st-flash": (Shape(r"(?:write|erase|reset)\b", valued="-serial -format -freq"),),
    "stm32_programmer_cli stm32programmercli stm32_programmer.sh st-link_cli": (
        Shape(
            having=r"(?i)^-(?:w\w*|e|me|p|d|c2|ob|otp|rdu|rst|hardrst|tsvr|fwupgrade|fwdelete|"
            r"antirollback)$"
        ),
    ),
    "stm32flash": (Shape(having=r"^-[wojukeR]"),),
    "openocd": (
        Shape(
            having=r"\b(?:program|mass_erase|erase\w*|flash\s+(?:erase\w*|write\w*|fill\w*|"
            r"protect|pad\w*)|write_image|lock|unlock|recover|load_image|mw[bwhd])\b"
        ),
    ),
    "pyocd": (
        Shape(r"(?:erase|flash|load|reset|run)\b"),
        Shape(having=r"^-c\n.*\b(?:erase|load|write\w*|unlock)\b"),
    ),
    "probe-rs": (Shape(r"(?:download|erase|run|reset|write|profile|attach-erase)\b"),),
    "nrfjprog": (
        Shape(
            having=r"^(?:-e|-f\n\S+\n-e|--(?:eraseall|erasepage|eraseuicr|erasectrl|program|"
            r"recover|rbp|memwr|qspieraseall|qspieraserange|sectorerase\w*|chiperase|"
            r"reset|pinreset|debugreset|ramoff))"
        ),
    ),
    "nrfutil": (
        Shape(
            r"(?:device|dfu|npm) ?(?:erase|recover|program|protection-set|reset|write|"
            r"x-\S+|usb-serial|serial|ble|fw-\S+|w\S*)\b"
        ),
    ),
    "jlinkexe jlink": (Shape(having=r"(?i)^-commander?(?:script|file)$"),),
    "commander": (
        Shape(
            r"(?:flash|device (?:masserase|pageerase|recover|lock|unlock|reset|protect)|"
            r"security (?:erasedevice|disabledebug|lock\w*|write\w*)|convert-flash)\b"
        ),
    ),
    "picotool": (
        Shape(r"(?:load|erase|otp (?:set|load|white-label)|seal|partition create|reboot)\b"),
    ),
    "bossac": (Shape(having=r"^-\w*[ewusl]|^--(?:erase|write|unlock|security|lock)"),),
    "teensy_loader_cli mspdebug uuu uniflash dslite.sh cc-tool wlink wchisp "
    "lpc21isp blhost sdphost bcu flash_download_tool": (
        Shape(
            having=r"^(?!-h$|--help$|-V$|--version$|-lsusb$|info$|list$|status$|probe$)\S",
            unless=r"^(?:info|list|status|probe|-lsusb|--usb-list)$|" + _HELP,
        ),
    ),
    "arduino-cli arduino": (
        Shape(r"(?:upload|burn-bootloader)\b"),
        Shape(having=r"^(?:-u|--upload)$"),
    ),
    "pio platformio": (
        Shape(
            r"run\b",
            having=r"^(?:-t|--target)(?:=|\n)?(?:erase\w*|upload\w*|program|fuses|bootloader)",
        ),
        Shape(
            r"(?:org|team|package|pkg|access|account) (?:destroy|remove|unpublish|"
            r"revoke|delete)\b"
        ),
    ),
    "west": (Shape(r"(?:flash|forall)\b"),),
    "particle": (
        Shape(
            r"(?:flash|device (?:remove|doctor)|keys (?:doctor|new|load|server|address)|"
            r"update\S*|library delete|webhook delete|product device remove|usb (?:dfu|"
            r"reset|safe-mode|stop-listening|cloud-disconnect))\b",
            valued="-factory",
        ),
        Shape(r"serial (?:flash|wifi)\b|identify-reset\b|nyan\b", having=r"\S"),
    ),
    "balena": (
        Shape(
            r"(?:\S+ )?(?:rm|purge|shutdown|reboot|deactivate|stop-service|os-update|"
            r"local-mode|public-url|move|configure|flash|revoke|cancel)\b|leave\b|push\b"
        ),
    ),
    "mender-cli mender-artifact mender rauc swupdate fwup fwupdate fw_setenv": (
        Shape(
            r"(?:install|rollback|commit|mark-\S+|write-slot|\S+ \S+)|\S+",
            having=r"^(?:install|rollback|commit|mark-\S+|write-slot|-i|-a|-d|--apply|-e|"
            r"--eject)|^\w+\n\S",
            unless=r"^(?:info|status|--list|-l|--metadata|read|validate|show-\S+|-m|-t|"
            r"check-update)$|" + _HELP,
        ),
    ),
    "sunxi-fel rkflashtool upgrade_tool edl edl.py mtk mtk.py spflash heimdall odin4 qdl": (
        Shape(
            r"(?:write\S*|w|wl|wf|ws|e|es|erase|el|e\S+|flash|reset|uboot|spl|da|ef|db|"
            r"uf|ul|di|ld|rd|--?\S*flash|xflash|peekwrite|modules|secureboot|nop|"
            r"provision|setactiveslot|setbootablestoragedrive|poke|payload|program|"
            r"rawprogram|patch)\b",
            unless=_HELP,
        ),
        Shape(
            having=r"^--(?:write|erase|flash|repartition|boot|recovery|system|userdata)|^-(?:w|"
            r"e|a|b|c|s)$",
            unless=r"^(?:print-pit|detect|info|version)$|" + _HELP,
        ),
    ),
    "rkdeveloptool": (Shape(r"(?:ef|wl|wlx|ul|db|rd|gpt|prm|pt|uf|el)\b"),),
    "flash_erase flash_eraseall flash_unlock flash_lock flashcp "
    "flash_otp_write nandwrite nandtest ubiformat ubirmvol ubimkvol "
    "ubiupdatevol ubidetach ubirsvol nftl_format sumtool mtdpart": (Shape(r"\S", unless=_HELP),),
    "mtd": (Shape(r"(?:erase|write|unlock|refresh|fixtrx|resetbc)\b"),),
    "mtd_debug": (Shape(r"(?:erase|write)\b"),),
    "i2cset": (Shape(r"\S+ \S+"),),
    "setpci wrmsr": (Shape(having=r"=|^0x\S+\n\S"),),
    "flint mstflint": (
        Shape(
            r"(?:\S+ )?(?:b|burn|sg|smg|sv|set_\S+|clear_\S+|ri_restore|brom|swreset|hw "
            r"set|hw_access|erase|ww\w*|bb|e|import\S*|br)\b",
            valued="d i",
        ),
    ),
    "mlxconfig mstconfig": (Shape(r"(?:\S+ )?(?:set\S*|s|reset|r|apply|a)\b", valued="d"),),
    "mlxfwmanager mstfwmanager": (Shape(having=r"^(?:-u|--update)$"),),
    "ectool": (
        Shape(
            r"(?:flash(?:write|erase|protect)|reboot_ec|reboot_ap_on_g3|battery\S*set|"
            r"chargecontrol|gpioset|i2cwrite|panicinfo reset|rwsig\S*|port80flood|"
            r"forcelidopen|usbpd\S*)"
        ),
    ),
    "crossystem": (Shape(having=r"=\S"),),
    "nvidia-smi": (
        Shape(
            having=r"^(?:-r|--gpu-reset|-mig|--multi-instance-gpu|-e|--ecc-config|-p|"
            r"--reset-ecc-errors|-gom|-dm|-fdm|-pl|--power-limit|-lgc|-rgc|-ac|-rac|-c|"
            r"--compute-mode)(?:=|$)"
        ),
        Shape(r"(?:mig|drain|nvlink|vgpu)\b", having=r"^(?:-d\w*|-m|-p|-r\w*|-c\w*|-l\w*reset)$"),
    ),
    "rocm-smi amd-smi": (
        Shape(having=r"^(?:--(?:gpureset|set\w+|reset\w+|loadvbios|rasinject|rasdisable)|-r)"),
        Shape(r"(?:reset|set)\b"),
    ),
    "uhubctl": (Shape(having=r"^(?:-a|--action)(?:=|\n)?(?:0|off|2|cycle|3|toggle)$"),),
}
_PHONES: Rows = {
    "adb": (
        Shape(
            r"(?:sideload|uninstall|reboot\S*|root|unroot|remount|disable-verity|"
            r"enable-verity|restore|disconnect-all|shell reboot|install-multi-package|"
            r"emu kill|shell recovery)\b",
            valued="s t H P L",
        ),
    ),
    "pm": (
        Shape(
            r"(?:clear|uninstall\S*|disable\S*|hide|suspend|remove-user|create-user|"
            r"revoke|grant|reset-permissions|trim-caches|set-home-activity|block|"
            r"install-existing|unhide)\b"
        ),
    ),
    "am": (
        Shape(
            r"(?:kill\S*|force-stop|stop-user|crash|hang|restart|idle-maintenance|"
            r"clear-\S+|switch-user|factory)\b"
        ),
    ),
    "settings": (Shape(r"(?:put|delete|reset)\b", valued="-user"),),
    "content": (Shape(r"(?:delete|insert|update)\b"),),
    "svc": (
        Shape(
            r"(?:power (?:shutdown|reboot)|wifi disable|data disable|usb "
            r"(?:setFunctions|reset\S*)|nfc disable|bluetooth disable)\b"
        ),
    ),
    "recovery": (Shape(having=r"^--(?:wipe|format|update|sideload)"),),
    "dpm": (Shape(r"(?:set-\S+|remove-\S+|clear-\S+|force-\S+)\b"),),
    "locksettings": (Shape(r"(?:clear|set-\S+)\b"),),
    "hdc": (
        Shape(
            r"(?:uninstall|target (?:boot|mount)|flash|erase|format|update|smode)\b", valued="t s"
        ),
    ),
    "irecovery": (Shape(having=r"^-(?:c|s|f|k|r|n)$"),),
    "idevicerestore": (Shape(unless=r"^(?:-h|--help|-l|--list|-V|--version|-t|--shsh|-i\n)$"),),
    "ideviceinstaller": (
        Shape(r"(?:uninstall|remove-archive|restore|archive|upgrade)\b"),
        Shape(having=r"^(?:-U|--uninstall|-R|--remove-archive|-r|--restore)$"),
    ),
    "idevicebackup2": (
        Shape(
            r"(?:\S+ )?(?:restore|erase|encryption|changepw|unback)\b",
            valued="u s -source -password",
        ),
    ),
    "idevicediagnostics": (Shape(r"(?:restart|shutdown|sleep)\b", valued="u"),),
    "ideviceprovision": (Shape(r"(?:remove\S*|install)\b", valued="u"),),
    "ideviceenterrecovery idevicedevmodectl": (Shape(r"(?!list)\S"),),
    "cfgutil": (
        Shape(
            r"(?:erase|restore|revive|remove-\S+|clear-\S+|prepare|install-\S+|set-\S+|"
            r"update|restart|shut-down|unpair|activate|restore-backup|rename|add-tags)\b",
            valued="e f",
        ),
    ),
    "ios-deploy": (Shape(having=r"^(?:-9|--uninstall_only|-r|--uninstall|--rmtree|-R|-D|--rm)$"),),
    "xcrun": (
        Shape(
            r"simctl (?:erase|delete|uninstall|privacy \S+ (?:grant|revoke|reset)|"
            r"keychain \S+ reset|runtime delete|unpair|shutdown all)\b|devicectl "
            r"(?:device (?:uninstall|reboot|process terminate|install profile)|manage "
            r"(?:unpair|delete))\b"
        ),
    ),
    "simctl": (Shape(r"(?:erase|delete|uninstall|unpair|keychain \S+ reset|runtime delete)\b"),),
    "pymobiledevice3 tidevice": (
        Shape(
            r"(?:\S+ ){0,3}(?:erase\S*|restore|uninstall|remove\S*|reboot|restart|"
            r"shutdown|delete|rm|unpair|reset\S*|factory\S*|exit-recovery|update|wipe|"
            r"clear|sleep|rmtree|killall|kill)\b"
        ),
    ),
}


def _flasher(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "s i c S -slot").rest
    wipes = any(arg == "-w" for arg in call.args)
    if words[:1] in (["getvar"], ["devices"], ["help"], ["get_staged"], ["fetch"]):
        return
    if wipes or (words and compiled(_FASTBOOT).match(words[0])):
        yield ask("raw_copy", f"fastboot {' '.join(words[:2])} overwrites the device")


_FASTBOOT = (
    r"(?:erase|format\S*|flash\S*|update\S*|oem|wipe-super|set_active|create-logical-partition|"
    r"delete-logical-partition|resize-logical-partition|snapshot-update|gsi|"
    r"reboot\S*|continue|boot)$"
)

RULES: RuleTable = together(
    shaped("device_change", _WHY, _KEYS, _BOARDS, _PHONES),
    table("fastboot", _flasher),
)
