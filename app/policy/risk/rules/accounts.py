"""Users, services and autostart, except systemd tools."""

from __future__ import annotations

from app.policy.risk.call import RuleTable
from app.policy.risk.shapes import Rows, Shape, shaped, together

_HELP = r"^(?:-h|--help|--version|-V|--usage)$"
_USERS: Rows = {
    "newusers chgpasswd pwunconv grpconv grpunconv pwconv addgroup delgroup "
    "newgidmap newuidmap luserdel lgroupdel luseradd "
    "lusermod lgroupadd lgroupmod lpasswd lchsh chfn sudo_usermod smbpasswd "
    "pdbedit-import rmuser chpass": (Shape(unless=_HELP),),
    "pw": (
        Shape(
            r"(?:user|group)?(?:add|del|mod|lock|unlock)\b|(?:user|group) (?:add|del|"
            r"mod|lock|unlock)\b|(?:add|del|mod|lock|unlock) (?:user|group)\b"
        ),
    ),
    "homectl userdbctl": (
        Shape(
            r"(?:remove|create|update|passwd|resize|deactivate\S*|lock\S*|unregister|"
            r"adopt|register|rebalance|firstboot)\b"
        ),
    ),
    "htpasswd htdigest htdbm": (
        Shape(r"\S", unless=r"^-\w*[nv]\w*$|" + _HELP, why="changes who may log in to a server"),
    ),
    "smbpasswd": (Shape(unless=_HELP),),
    "pdbedit": (
        Shape(
            having=r"^(?:-\w*[axrCcmIGPfhBDSpN]|--(?:create|delete|modify|import|"
            r"account-policy|force-initialized-passwords|bad-password-count-reset))(?:=|"
            r"$)",
            unless=r"^(?:-L\w*|--list)$",
        ),
    ),
    "saslpasswd2 dovecotpw": (Shape(r"\S", unless=_HELP),),
    "kdb5_util": (
        Shape(
            r"(?:destroy|create|load|stash|purge_mkeys|use_mkey|update_princ_encryption|"
            r"add_mkey)\b",
            valued="r d",
        ),
    ),
    "kadmin kadmin.local": (
        Shape(
            having=r"\b(?:delprinc|delete_principal|delpol|delete_policy|ktremove|ktrem|"
            r"modprinc|addprinc|cpw|change_password|purgekeys|modify_principal|"
            r"rename_principal|delete|del|cpw|ext_keytab|add|modify|passwd|prune)\b",
            unless=r"^(?:list\w*|get\w*)$",
        ),
    ),
    "faillock pam_tally2": (Shape(having=r"^(?:--reset(?:=\S+)?|-r)$"),),
    "sss_override sss_cache sssctl": (
        Shape(
            r"(?:\S+-(?:add|del|import)|cache-remove|client-data-restore|logs-remove|"
            r"cache-upgrade)\b"
        ),
        Shape(having=r"^-E$|^--everything$"),
    ),
    "realm adcli": (
        Shape(
            r"(?:leave|deny|join|permit|delete-\S+|create-\S+|add-member|remove-member|"
            r"reset-computer|preset-computer|update|passwd-user)\b"
        ),
    ),
    "ipa": (
        Shape(
            r"(?:\S+-(?:del|disable|remove\S*|unprovision|purge|archive|mod|lock|"
            r"unapply|rollback))\b"
        ),
    ),
    "samba-tool": (
        Shape(
            r"(?:\S+ ){1,2}(?:delete|remove\S*|disable|demote|drop|reset|unlock|"
            r"setexpiry|move|rename|leave|del|purge)\b"
        ),
    ),
    "quotaoff setquota edquota": (Shape(unless=_HELP),),
    "loginctl": (Shape(r"(?:terminate-\S+|kill-\S+|lock-sessions|flush-devices)\b"),),
}
_SERVICES: Rows = {
    "sv": (
        Shape(
            r"(?:down|d|stop|exit|x|force-\S+|kill|k|term|t|shutdown|quit|interrupt|"
            r"pause|p)\b",
            valued="w",
        ),
    ),
    "svc": (Shape(having=r"^-\w*[dkxtpihaoq]\w*$"),),
    "s6-svc": (Shape(having=r"^-\w*[dkxtpihaoqXrDU]\w*$", unless=_HELP),),
    "s6-rc": (Shape(r"(?:stop|change|start)\b", having=r"^(?:-\w*d\w*|stop)$"),),
    "s6-rc-update s6-svunlink s6-svscanctl": (Shape(unless=_HELP),),
    "svcadm": (Shape(r"(?:disable|mark|delegate|milestone)\b"),),
    "svccfg": (
        Shape(
            having=r"^(?:delete|import|export_no|delcust|apply|setprop|unselect|delpg|delprop|"
            r"restore)$"
        ),
    ),
    "rc-service rcctl service invoke-rc.d rcnginx": (
        Shape(
            r"(?:\S+ )?(?:stop|disable|zap|onestop|forcestop|kill|off|set \S+ status "
            r"off)\b|(?:stop|disable|set) \S+"
        ),
    ),
    "rc-update": (Shape(r"(?:add|del|delete|-[ad])\b"), Shape(having=r"^-[ad]$")),
    "update-rc.d": (
        Shape(r"\S+ \S+", unless=r"^-n$"),
        Shape(having=r"^(?:remove|disable|enable|defaults\S*)$", unless=r"^-n$"),
    ),
    "chkconfig insserv sysv-rc-conf ntsysv": (
        Shape(
            having=r"^(?:on|off|reset|resetpriorities|--(?:add|del|level\S*|override)|-[adrf])$",
            unless=r"^(?:--list|-n|--showall|-s)$|" + _HELP,
        ),
    ),
    "alternatives update-alternatives": (
        Shape(
            having=r"^--(?:set|remove|remove-all|install|auto|set-selections|config|all|"
            r"keep-missing|slave)$",
            unless=r"^--(?:list|display|query|get-selections|help|version)$",
            why="changes which program a name refers to",
        ),
    ),
    "update-alternatives-java update-java-alternatives": (
        Shape(having=r"^(?:-s|--set|-a|--auto)$"),
    ),
    "eselect": (Shape(r"\S+ (?:set|remove|delete|disable|enable|purge|update|add|unset|clean)\b"),),
    "pm2": (
        Shape(
            r"(?:delete|del|kill|startup|unstartup|flush|uninstall|module:uninstall|"
            r"cleardump|unlink)\b"
        ),
    ),
    "supervisorctl": (Shape(r"(?:stop|shutdown|remove|clear|signal)\b", valued="c s u p"),),
    "circusctl": (Shape(r"(?:quit|rm|stop|kill|decr)\b"),),
    "monit": (Shape(r"(?:stop|quit|unmonitor)\b", valued="c g l p s"),),
    "god eye bluepill": (Shape(r"(?:stop|quit|terminate|remove|unmonitor|delete|kill)\b"),),
    "initctl": (Shape(r"stop\b"),),
    "runsvchdir": (Shape(r"\S"),),
    "forever": (Shape(r"(?:stop|stopall|stopbypid|cleanlogs|clear)\b"),),
    "nssm": (Shape(r"(?:stop|remove|install|set|reset|unset|pause)\b"),),
    "dinitctl": (
        Shape(r"(?:stop|shutdown|unload|disable|enable|signal|kill|rm-dep)\b", valued="p"),
    ),
    "systemd-tmpfiles": (
        Shape(
            having=r"^--(?:remove|purge|clean|create)$",
            unless=r"^(?:--dry-run|--cat-config|--user)$",
        ),
    ),
    "systemd-sysusers": (Shape(unless=r"^--(?:dry-run|cat-config|tldr|help|version)$"),),
    "systemd-firstboot systemd-machine-id-setup": (
        Shape(
            having=r"^--(?:setup-\S+|locale\S*|root-\S+|hostname\S*|force|reset|"
            r"delete-root-password|prompt\S*|copy\S*|timezone\S*|keymap\S*|commit)"
        ),
    ),
    "systemd-cryptenroll": (
        Shape(
            having=r"^--(?:wipe-slot|password|recovery-key|tpm2-device|fido2-device|"
            r"pkcs11-token-uri)(?:=(?!list$)|$)"
        ),
    ),
    "systemd-sysext systemd-confext": (Shape(r"(?:merge|unmerge|refresh)\b"),),
    "portablectl": (Shape(r"(?:attach|detach|remove|reattach|set-limit|read-only)\b"),),
    "localectl": (Shape(r"set-\S+", why="changes the settings of the system"),),
    "hostnamectl": (
        Shape(
            r"(?:set-\S+|(?:hostname|icon-name|chassis|deployment|location) \S)",
            why="changes the settings of the system",
        ),
    ),
    "timedatectl": (
        Shape(r"(?:set-\S+|ntp-servers|revert)\b", why="changes the settings of the system"),
    ),
    "tuned-adm": (
        Shape(
            r"(?:profile|off|auto_profile|profile_mode)\b", why="changes the settings of the system"
        ),
    ),
    "powerprofilesctl cpupower": (
        Shape(
            r"(?:set|idle-set|frequency-set|frequency set)\b",
            why="changes the settings of the system",
        ),
    ),
    "gsettings dconf": (
        Shape(
            r"(?:reset|reset-recursively|load|write|set)\b",
            having=r"^(?:reset\S*|load)$|(?:screensaver|lockdown|privacy|security|proxy|power)",
            why="changes settings",
        ),
    ),
    "fcrontab incrontab": (
        Shape(
            having=r"^-\w*[rezd]|^-$|^[^-]",
            unless=r"^-\w*l$|" + _HELP,
            why="changes the scheduled commands",
        ),
    ),
    "anacron": (Shape(having=r"^-\w*[fnu]", unless=r"^-\w*T"),),
    "xdg-settings": (Shape(r"set\b"),),
    "dpkg-divert dpkg-statoverride": (
        Shape(
            having=r"^--(?:add|remove|rename|update)$",
            unless=r"^--(?:test|list|truename|listpackage)$",
        ),
    ),
    "debconf-set-selections": (Shape(unless=r"^(?:-c|--checkonly|-h|--help)$"),),
    "ipcrm": (
        Shape(
            unless=r"^(?:-h|--help|-V|--version)$",
            why="removes shared memory that other programs use",
        ),
    ),
    "keyctl": (
        Shape(
            r"(?:clear|unlink|revoke|invalidate|purge|reap|timeout|negate|reject|chown|"
            r"setperm|update|move|restrict_keyring)\b",
            why="removes or changes keys stored in the kernel",
        ),
    ),
}
_SITES: Rows = {
    "a2dissite a2dismod a2disconf nginx_dissite ngx-dissite engine-cleanup ovirt-engine-cleanup": (
        Shape(unless=_HELP),
    ),
    "reducevg varyoffvg exportvg stopsrc stopwpar rmwpar chsec rmitab lchage metaclear "
    "metadetach": (Shape(having=r"\S", unless=_HELP + r"|^(?:-l|--list|-i)$"),),
    "fw_setenv": (Shape(having=r"\S", unless=_HELP),),
    "minipro ch341prog": (Shape(having=r"^-[EewW]$|^--(?:erase|write)", why="overwrites a chip"),),
    "installp": (Shape(having=r"^-\w*[uCr]\w*$", why="removes software from the host"),),
    "cloud-init": (Shape(r"clean\b"),),
    "hosted-engine": (
        Shape(
            having=r"^--(?:vm-(?:poweroff|shutdown)|clean-metadata|reinitialize-lockspace|"
            r"set-maintenance\S*|deploy)$"
        ),
    ),
    "memcached-tool": (Shape(r"\S+ flush\b"),),
    "varnishadm": (
        Shape(
            r"(?:ban|stop|vcl\.discard|param\.reset|backend\.set_health|panic\.clear)\b",
            valued="T S n t",
        ),
    ),
    "rndc nsd-control unbound-control knotc": (
        Shape(
            r"(?:stop|halt|delzone|freeze|flush\S*|zone-purge|zone-unset|conf-unset|"
            r"reset\S*|modzone|delzones|local_(?:zone|data)_remove|forward_remove|"
            r"stub_remove)\b",
            valued="s p k c",
        ),
    ),
    "birdc birdcl": (Shape(r"(?:disable|down|reset|restart)\b"),),
    "vtysh": (Shape(having=r"(?:^|\b)(?:clear|no|reset|reload|write|copy|shutdown|configure)\b"),),
    "zmprov": (
        Shape(
            r"(?:d\w{1,12}|delete\w+|rm?\w*a|purge\w+|modify\w+|m[a-z]{1,4}|sp|"
            r"setPassword|flushCache|fc)(?: |$)",
            unless=r"^(?:g\w+|describe|desc|help)$",
        ),
    ),
    "openssl": (Shape(r"ca\b", having=r"^-revoke$", why="revokes a certificate"),),
    "gitlab-backup": (Shape(r"restore\b"),),
    "e2label swaplabel fatlabel ntfslabel exfatlabel xfs_admin growpart "
    "testdisk ntfsresize ntfsfix ntfsclone mlabel dosfslabel cgdelete dmraid "
    "kpartx partclone.restore": (
        Shape(
            r"\S+ ?",
            having=r"^(?:-\w*[dEDxrwOL]\w*|/\S+|[^-]\S*\n\S+|\S+:/\S*)$",
            unless=_HELP + r"|^(?:-n|--no-action|--dry-run|-N|-l|-i|--info|/list)$",
            why="changes a file system or a disk",
        ),
    ),
    "dpkg-reconfigure": (Shape(r"\S"),),
    "usbguard": (
        Shape(
            r"(?:block-device|reject-device|remove-rule|allow-device|append-rule|"
            r"set-parameter|remove-user|add-user)\b"
        ),
    ),
    "clevis": (Shape(r"luks (?:unbind|bind|edit|regen)\b"),),
}
_NETWORK: Rows = {
    "resolvectl systemd-resolve": (
        Shape(
            r"(?:revert|dns|domain|default-route|llmnr|mdns|dnssec|dnsovertls|nta) \S+",
            having=r"^(?:revert|\S+)\n\S+\n\S|^revert\n",
        ),
        Shape(having=r"^--(?:revert|set-\S+)"),
    ),
    "netplan": (Shape(r"(?:apply|set|try|rebind)\b"),),
    "networkctl": (
        Shape(
            r"(?:down|delete|reconfigure|renew|forcerenew|reload|up|edit|unmask|mask|"
            r"persistent-storage)\b"
        ),
    ),
    "wpa_cli": (
        Shape(
            having=r"^(?:disconnect|remove_\S+|disable_\S+|terminate|flush|set_network|"
            r"reassociate|save_config|enable_network|select_network|interface_remove|"
            r"logoff|suspend)$"
        ),
    ),
    "brctl": (Shape(r"(?:del\w+|add\w+|set\w+|stp|hairpin)\b"),),
    "ovs-vsctl": (
        Shape(
            having=r"^(?:--\S+\n)*(?:del-\S+|add-\S+|set\S*|clear|remove|destroy|emer-reset|"
            r"create)$"
        ),
    ),
    "ovs-ofctl ovs-dpctl ovs-appctl": (
        Shape(
            r"(?:del-\S+|add-\S+|mod-\S+|replace-\S+|exit|revalidator/purge|fdb/flush|"
            r"dpctl/(?:del|flush)\S*)\b"
        ),
    ),
    "conntrack": (
        Shape(
            having=r"^-\w*[DFUIAd]|^--(?:delete|flush|update|create|add)$",
            unless=r"^(?:-L|-E|-S|-C|-G|--dump|--event|--stats|--count)$",
        ),
    ),
    "ipset": (
        Shape(
            r"(?:create|add|del|destroy|flush|rename|swap|restore|[nadxfewr]|-[NADXFEWR])\b",
            unless=r"^(?:-t|--test)$",
        ),
        Shape(having=r"^-[NADXFEWR]$"),
    ),
    "ipvsadm": (
        Shape(
            having=r"^(?:-\w*[AEDCRaedZ]|--(?:clear|restore|add-\S+|edit-\S+|delete-\S+|zero|"
            r"set|start-daemon|stop-daemon))$",
            unless=r"^(?:-L\w*|-l\w*|--list|-S|--save)$",
        ),
    ),
    "iptables-restore ip6tables-restore arptables-restore ebtables-restore": (
        Shape(unless=r"^(?:-\w*t|--test|-h|--help|-V|--version)$"),
    ),
    "arptables iptables-legacy ip6tables-legacy iptables-nft ip6tables-nft xtables-legacy-multi": (
        Shape(
            having=r"^(?:-\w*[ADIRFXZPNE]|--(?:append|delete|insert|replace|flush|zero|policy|"
            r"new-chain|delete-chain|rename-chain))$",
            unless=r"^(?:-[nvx]*[LSC]\w*|--list\S*|--check)$",
        ),
    ),
    "netfilter-persistent iptables-apply shorewall shorewall6 ferm csf apf fwbuilder": (
        Shape(
            having=r"^(?:flush|stop|clear|start|restart|reload|save|reset|drop|reject|allow|"
            r"logdrop|blacklist|-[fsrxedarukt]\w*|--(?:flush|start|stop|disable|"
            r"restart))$",
            unless=_HELP + r"|^(?:-l|--status|status|show|check|-n|--noexec|--lines|version|dump)$",
        ),
    ),
    "arp": (Shape(having=r"^(?:-\w*[dsf]|--(?:delete|set|file))$"),),
    "bridge": (Shape(r"(?:fdb|link|vlan|mdb|vni) (?:add|append|replace|del|delete|set|flush)\b"),),
    "devlink": (Shape(r"\S+ (?:\S+ )?(?:set|reload|flash|delete|del|add|clear|reset)\b"),),
    "vconfig": (Shape(r"(?:add|rem|set_\S+)\b"),),
    "ifup ifdown ifquery-down pppoff poff wg-quick": (
        Shape(r"\S", unless=_HELP + r"|^(?:--no-act|-n|--list|strip|save|--state)$"),
    ),
    "wg": (Shape(r"(?:set|setconf|addconf|syncconf)\b"),),
    "dhclient dhcpcd udhcpc": (
        Shape(having=r"^-\w*[rxkn]$|^--(?:release|exit|rebind)$", unless=_HELP),
    ),
    "tc": (
        Shape(
            r"(?:qdisc|class|filter|chain|action|actions) (?:add|del|delete|replace|"
            r"change|link|flush)\b"
        ),
    ),
    "route": (Shape(having=r"^(?:add|del|delete|change|flush|-f)$"),),
    "zramctl swapon swapoff mkswap": (
        Shape(
            having=r"^(?:-\w*[arf]|--(?:all|reset|find|size\S*))$|^/",
            unless=r"^(?:-s|--summary|--show\S*|-o|--output\S*)$|" + _HELP,
        ),
    ),
    "sysctl": (Shape(having=r"^(?:-\w*[pwf]|--(?:load|system|write))(?:=|$)"),),
    "depmod dracut mkinitcpio update-initramfs mkinitramfs grub-set-default "
    "grub2-set-default grub-reboot grub2-reboot grub-mkconfig grub2-mkconfig "
    "grub2-install grub-editenv grub2-editenv grubby kernel-install "
    "installkernel lilo extlinux syslinux refind-install limine zipl "
    "update-grub2 grub2-setpassword bootctl-install kernelstub kexec-load "
    "kdumpctl update-bootloader plymouth-set-default-theme proxmox-boot-tool": (
        Shape(
            unless=_HELP
            + r"|^(?:-n|--dry-run|--print-\S+|list|--info\S*|--default-\S+|status|-L|-P|"
            r"--list\S*|inspect|-H|--test|-t|--kver|--show-\S+|show|showmem|estimate)$",
            having=r"\S",
            why="changes how the host starts",
        ),
    ),
}


RULES: RuleTable = together(
    shaped("service", "removes or changes a server's data or services", _SITES),
    shaped("accounts", "changes accounts or who may log in", _USERS),
    shaped("service", "stops or changes services or what starts automatically", _SERVICES),
    shaped("network_setup", "changes the host's network or how it starts", _NETWORK),
)
