"""Programs that run commands on other hosts, or change the state of many hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    Answer,
    CommandCall,
    Rule,
    RuleTable,
    ask,
    options,
    run,
    script,
    table,
)
from app.policy.risk.shapes import Rows, Shape, shaped, together

_WHY = "changes other hosts"

_ONLY_READ = re.compile(
    r"(?:win_)?(?:ping|setup|debug|stat|find|slurp|fetch|getent|gather_facts|"
    r"wait_for\w*|assert|fail|"
    r"set_fact|include_vars|pause|meta|uri|\w+_facts|\w+_info)"
)
_RUN_TEXT = frozenset(["shell", "command", "raw", "expect", "cmd"])
_WINDOWS_TEXT = {"win_shell": "powershell", "win_command": "cmd", "win_powershell": "powershell"}


def _ansible(call: CommandCall) -> Iterator[Answer]:
    """Handle `ansible hosts -m module -a words`: the module determines whether anything changes."""
    given = options(
        call.args,
        "m a i u l e f M B P t T c o -module-name -args -inventory -limit -extra-vars -forks -user "
        "-become-user -become-method -connection -timeout -private-key -key-file",
    )
    if given.has("--list-hosts", "--check", "-C", "--syntax-check", "--help", "-h", "--version"):
        return
    module = (given.value("-m", "--module-name") or "command").rsplit(".", 1)[-1]
    text = given.value("-a", "--args")
    if module in _RUN_TEXT:
        if text:
            yield script(
                re.sub(r"(?<!\s)\s+(?:chdir|creates|removes|executable|warn)=\S+", "", text)
            )
    elif module in _WINDOWS_TEXT:
        if text:
            yield script(text, _WINDOWS_TEXT[module])
    elif not _ONLY_READ.fullmatch(module):
        yield ask("remote_change", f"ansible's module {module} {_WHY}")


_FUNCTION = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")
_SALT_READS = re.compile(
    r"(?:test|grains|pillar|status|disk|sys|config|match|mine|environ|ps|"
    r"network|match|locale|timezone|"
    r"smbios|sensors|tls|vsphere|lowpkg|pkg_resource|data|publish|event|jobs|"
    r"manage|cache|fileserver|"
    r"saltutil|user|group|pkg|service|file|mount|sysctl|kmod|hosts|cron|state|"
    r"x509|git|docker|raid|lvm|"
    r"partition|zpool|zfs|mysql|postgres|cp|win_\w+|ip|iptables|selinux|ssh|shadow|at|systemd\w*)\."
    r"(?:get\w*|item|items|ls|list\w*|show\w*|find\w*|info|usage|inodeusage|"
    r"percent|status|available|"
    r"enabled|disabled|version\w*|latest_version|upgrade_available|ping|uptime|"
    r"loadavg|meminfo|cpuinfo|"
    r"diskstats|procs|doc|argspec|read|stats|search|contains|exists|file_exists|directory_exists|"
    r"check_hash|lsattr|readlink|top|hostname|interfaces|ip_addrs|arp|netstat|dig|active_tcp|fetch|"
    r"lookup_jid|active|last_run|up|down|versions|running|is_running|validate|hash|cache_file|"
    r"sync_\w+|refresh_\w+|owner|echo|true|false|fib|collatz|conf_test|all_status|report|"
    r"get_all|filter_by|has_value|obj|raw|ext|keys|fstab|active_mounts|who|w|last|du|df)"
)


def _salt(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "t b c u -timeout -batch-size -config-dir -user -out -output -return -log-level r -raw",
    )
    for flag in ("-r", "--raw"):
        if flag in call.args and call.name == "salt-ssh":
            yield script(" ".join(call.args[call.args.index(flag) + 1 :]))
            return
    words = given.rest
    at = next((at for at, word in enumerate(words) if _FUNCTION.fullmatch(word)), None)
    if at is None or "test=True" in words or "--doc" in call.args:
        return
    function, rest = words[at], words[at + 1 :]
    if function.startswith("cmd."):
        texts = [word for word in rest if not re.match(r"\w+=", word)]
        yield script(" ".join(texts) or None) if texts else ask("remote_change", f"salt {function}")
    elif not _SALT_READS.fullmatch(function):
        yield ask("remote_change", f"{call.name} {function} {_WHY}")


def _after(*starts: str, skip: int = 0, language: str = "shell", valued: str = "") -> Rule:
    """Return a rule: words after one of `starts`, such as `command run`, are a command for other
    hosts.

    Args:
        skip: number of words in between that name a host.
    """

    def rule(call: CommandCall) -> Iterator[Answer]:
        words = options(call.args, valued, stop=False).rest
        for start in starts:
            begins = start.split()
            text = words[len(begins) + skip :]
            if words[: len(begins)] == begins and text:
                yield script(" ".join(text), language)
                return

    return rule


def _operand(skip: int, language: str = "shell", valued: str = "") -> Rule:
    """Return a rule: the operands after the first `skip` ones are a command for another host."""

    def rule(call: CommandCall) -> Iterator[Answer]:
        words = options(call.args, valued, stop=False).rest[skip:]
        if words:
            yield script(" ".join(words), language)
        elif call.stdin is not None and call.stdin.text is not None:
            yield script(call.stdin.text, language)

    return rule


def _in_options(*held: str, language: str = "shell", valued: str = "") -> Rule:
    """Return a rule: the value of each of the options `held` is a command for another host."""
    wanted = f"{valued} {' '.join(name.removeprefix('-') for name in held)}"

    def rule(call: CommandCall) -> Iterator[Answer]:
        for text in options(call.args, wanted).all_values(*held):
            yield script(text, language)

    return rule


def _launched(call: CommandCall) -> Iterator[Answer]:
    """Handle `mpirun -host a,b program words`, `srun -N 4 program words`."""
    yield run(
        options(
            call.args,
            "n N c p t J o e w x A q np host hostfile machinefile map-by bind-to -host "
            "-hostfile -nodes "
            "-ntasks -partition -time -job-name -nodelist -account -qos -gres -mem "
            "-cpus-per-task -map-by",
            stop=True,
        ).rest
    )


def _bracketed(call: CommandCall) -> Iterator[Answer]:
    """Handle `taktuk -m host broadcast exec [ command words ]`."""
    if "exec" in call.args:
        words = call.args[call.args.index("exec") + 1 :]
        yield script(" ".join(word for word in words if word not in {"[", "]"}))


def _dashes(call: CommandCall) -> Iterator[Answer]:
    """Handle `program host -- command words`."""
    if "--" in call.args:
        yield script(" ".join(call.args[call.args.index("--") + 1 :]))


_KNIFE = "-o p x i a N E c k P s u -config -key -server-url -user -format"


def _knife(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, _KNIFE).rest
    if words[:1] in (["ssh"], ["winrm"]) and len(words) > 2:
        yield script(" ".join(words[2:]), "shell" if words[0] == "ssh" else "cmd")


_MANAGERS: Rows = {
    "salt-key": (
        Shape(
            having=r"^(?:-\w*[dDaArR]|--(?:delete|delete-all|accept|accept-all|reject|"
            r"reject-all))(?:=|$)"
        ),
    ),
    "salt-cloud": (
        Shape(having=r"^(?:-\w*[dpmaPu]|--(?:destroy|profile|map|action|deploy\S*))(?:=|$)"),
    ),
    "salt-cp": (Shape(unless=r"^--(?:help|version)$"),),
    "salt-run": (
        Shape(
            r"(?:cache\.clear\S*|state\.\S+|manage\.(?:bootstrap|safe_accept|key_regen|"
            r"down .*removekeys=True)|"
            r"cloud\.(?:destroy|profile|action|create)|virt\.(?:purge|reset|init|pause|"
            r"migrate)|salt\.cmd|"
            r"git_pillar\.clear\S*|fileserver\.clear\S*|winrepo\.\S+)"
        ),
    ),
    "puppet": (
        Shape(r"resource \S+ \S+", having=r"^\w+=\S"),
        Shape(r"node (?:clean|purge|deactivate)\b"),
        Shape(
            r"(?:cert|certificate|ca|ssl) (?:clean|revoke|destroy|delete|sign|submit|"
            r"reinventory)\b"
        ),
        Shape(r"module uninstall\b"),
        Shape(
            r"agent\b",
            having=r"^(?:-t|--test|--onetime|--no-daemonize|--disable)(?: |=|$)",
            unless=r"^--(?:noop|help|version|fingerprint)$",
        ),
        Shape(
            r"(?:filebucket restore|infra(?:structure)? (?:upgrade|run|provision)|code "
            r"deploy|job run|task run)\b"
        ),
    ),
    "puppetserver": (
        Shape(r"ca (?:clean|revoke|sign|generate|setup|import|purge|delete|prune)\b"),
    ),
    "puppet-code puppet-job puppet-task": (Shape(r"(?:deploy|run)\b"),),
    "bolt": (
        Shape(
            r"(?:script run|task run|plan run|file (?:upload|push)|apply)\b",
            unless=r"^--noop$",
            valued="t n i u p -targets -nodes -query -user -password -modulepath "
            "-inventoryfile -params",
        ),
    ),
    "mco": (
        Shape(
            r"service \S+ (?:stop|start|restart|disable|enable)\b|service (?:stop|start|"
            r"restart) "
        ),
        Shape(
            r"package \S+ (?:un)?install|package (?:purge|update|install|uninstall)\b|"
            r"package \S+ (?:purge|update)\b"
        ),
        Shape(r"puppet (?:disable|enable|runonce|runall|resource)\b|filemgr (?:remove|touch)\b"),
        Shape(
            r"(?:rpc )?(?:filemgr|nrpe|process|iptables|package|service|puppet|shell|"
            r"exec) \S*(?:remove|kill|stop|restart|block|unblock|install|purge|run|"
            r"start|disable)\b"
        ),
        Shape(r"process kill\b|shell (?:run|start)\b"),
    ),
    "knife": (
        Shape(
            r"(?:\S+ ){1,3}(?:delete|edit|create|upload|bulk|purge|remove|rotate|"
            r"refresh|update|set|add)\b",
            valued=_KNIFE,
        ),
        Shape(
            r"(?:bootstrap|upload|delete|deps --remote|edit|node run_list|node "
            r"environment set|tag (?:create|delete))\b",
            valued=_KNIFE,
        ),
    ),
    "chef-client": (Shape(unless=r"^(?:-W|--why-run|-h|--help|-v|--version|-z|--local-mode)$"),),
    "chef-server-ctl gitlab-ctl": (
        Shape(
            r"(?:cleanse|stop|kill|hup|restart|reset-\S+|uninstall|graceful-kill|"
            r"user-delete|org-delete|"
            r"(?:org-user|user|grant|revoke)-\S*(?:remove|delete|add|create)\S*|set-\S+|"
            r"reconfigure|"
            r"prune|cleanup-\S+|pg-upgrade|promote\S*|registry-garbage-collect|deploy-page)\b"
        ),
    ),
    "chef-run": (Shape(r"\S+ "),),
    "pyinfra": (
        Shape(
            r"\S+ (?!exec\b|debug-|fact\b)\S", unless=r"^(?:--dry|--help|--version|--debug-\S+)$"
        ),
    ),
    "cap mina rex dep deployer sup kamal": (
        Shape(
            r"(?:\S+ )?\S*(?:rollback|remove|stop|down|prune|cleanup|delete|destroy|"
            r"invoke|restart|reboot)\b",
            unless=r"^(?:-T|--tasks|-n|--dry-run)$",
        ),
    ),
    "psexec.py impacket-psexec smbexec.py impacket-smbexec wmiexec.py impacket-wmiexec dcomexec.py "
    "impacket-dcomexec": (
        Shape(r"\S+$", unless=r"^(?:-h|--help)$", why="opens a shell on another host"),
    ),
    "evil-winrm": (
        Shape(unless=r"^(?:-h|--help|-V|--version)$", why="opens a shell on another host"),
    ),
    "pnuke parallel-nuke": (Shape(r"\S", why="ends programs on other hosts"),),
    "netexec nxc crackmapexec cme": (
        Shape(
            having=r"^--(?:sam|lsa|ntds|dpapi|wdigest|put-file|delegate|remove\S*|clear\S*)$|^-M$"
        ),
    ),
    "rpcclient": (
        Shape(
            having=r"(?i)\b(?:delete\w*|create\w*|set\w*|enum\w*priv\w*add|chgpasswd\w*|"
            r"shutdown\w*|abort\w*)\b"
        ),
    ),
    "net": (
        Shape(
            r"rpc (?:user|group|share|service|registry|rights|trust|shell|shutdown|"
            r"abortshutdown|password)? ?"
            r"(?:delete\w*|add\w*|shutdown|stop|pause|setvalue|deletevalue|grant|revoke|"
            r"addmem|delmem|password|rename)\b"
        ),
        Shape(
            r"(?:ads|rpc|dom) (?:leave|unjoin|join|user|password|dns unregister|"
            r"changetrustpw|shutdown)\b.*",
            unless=r"^(?:info|testjoin)$",
        ),
        Shape(
            r"(?:conf (?:drop|delshare|delparm|setparm|import|delincludes)|idmap "
            r"(?:delete|set|restore)|registry (?:delete\w*|setvalue|import)|sam (?:set|"
            r"delete\w*|map\w*|add\w*|del\w*|unmap\w*)|usershare (?:add|delete)|cache "
            r"flush|groupmap (?:delete|cleanup|add|modify))\b"
        ),
    ),
    "snmpset": (Shape(r"\S"),),
    "asterisk rasterisk": (
        Shape(
            having=r"\b(?:core (?:stop|restart)|module unload|channel request hangup|hangup|"
            r"database del\w*|dialplan remove|queue (?:remove|reset)|!\s*\S)"
        ),
    ),
    "fs_cli": (
        Shape(
            having=r"\b(?:shutdown|hupall|fsctl (?:shutdown|crash|pause)|unload|uuid_kill|"
            r"system)\b"
        ),
    ),
    "rd": (
        Shape(
            r"(?:adhoc|run|jobs (?:purge|load|disable)|executions (?:kill|delete\w*)|"
            r"projects delete|keys delete)\b"
        ),
    ),
    "scancel qdel bkill condor_rm oardel": (
        Shape(unless=r"^(?:--help|--version|-V|-h)$", why="ends jobs of a cluster"),
    ),
    "scontrol": (
        Shape(
            r"(?:update|delete|reboot\S*|shutdown|suspend|requeue\S*|hold|cancel_reboot|"
            r"reconfigure|setdebug\S*|abort|takeover|write)\b"
        ),
    ),
    "sacctmgr": (Shape(r"(?:-i )?(?:delete|remove|modify|add|create|load|archive|clear)\b"),),
    "qmgr": (Shape(having=r"(?i)\b(?:delete|set|unset|create|import)\b"),),
    "qmod": (Shape(having=r"^-(?:c\w*|d|e|s|us|r\w)$"),),
    "condor_off condor_restart condor_vacate condor_drain": (Shape(unless=r"^-(?:help|version)$"),),
    "xe": (
        Shape(
            r"\S*(?:destroy|uninstall|shutdown|reboot|forget|remove|delete|revert|eject|"
            r"unplug|disable|evacuate|suspend|pause|emergency|reset|disaster|erase|"
            r"clear|crash|cancel)\S*"
        ),
    ),
    "pcs": (
        Shape(
            r"(?:\S+ )?(?:delete|remove|destroy|stop|standby|disable|ban|cleanup|"
            r"refresh|kill|fence|confirm|move|unmanage|cib-push|restore)\b|property "
            r"(?:set|unset)\b"
        ),
    ),
    "crm crmsh": (
        Shape(
            r"(?:resource|node|cluster|configure|history|cib|ra|site|stonith)? ?(?:stop|"
            r"delete|erase|remove|standby|fence|cleanup|unmanage|demote|ban|maintenance|"
            r"clearstate|load|move|migrate|disable)\b"
        ),
    ),
    "crm_resource": (
        Shape(
            having=r"^(?:-\w*[DCRBMU]|--(?:delete|cleanup|refresh|ban|move|clear|restart|"
            r"force-\S+|delete-\S+|set-\S+))(?:=|$)"
        ),
    ),
    "crm_node crm_standby crm_attribute": (
        Shape(having=r"^(?:-\w*[RDv]|--(?:remove|delete|update))(?:=|$)"),
    ),
    "cibadmin": (
        Shape(
            having=r"^(?:-\w*[EDRMCdu]|--(?:erase|delete\S*|replace|modify|create|upgrade|"
            r"empty))(?:=|$)"
        ),
    ),
    "stonith_admin": (
        Shape(
            having=r"^(?:-\w*[BFUCDd]|--(?:reboot|fence|unfence|confirm|deregister|"
            r"cleanup))(?:=|$)"
        ),
    ),
    "gnt-instance gnt-node gnt-cluster gnt-group gnt-backup gnt-os gnt-network": (
        Shape(
            r"(?:remove|destroy|shutdown|reboot|reinstall|recreate-disks|failover|"
            r"migrate|evacuate|powercycle|power|command|copyfile|renew-crypto|modify|"
            r"deactivate-disks|grow-disk|replace-disks|redist-conf|rename|console|"
            r"verify-disks|epo|queue|master-failover)\b"
        ),
    ),
}
RULES: RuleTable = together(
    {"ansible": _ansible},
    table("salt salt-ssh salt-call", _salt),
    table(
        "bolt",
        _after(
            "command run",
            "run",
            valued="t n i u p -targets -nodes -query -user -password -modulepath "
            "-inventoryfile -transport",
        ),
    ),
    table(
        "mco",
        _after(
            "shell run",
            "shell start",
            valued="F W C I T S -with-fact -with-class -with-identity -target -config",
        ),
    ),
    table("knife", _knife),
    table(
        "psexec.py impacket-psexec smbexec.py impacket-smbexec wmiexec.py "
        "impacket-wmiexec atexec.py "
        "impacket-atexec dcomexec.py impacket-dcomexec wmiexec-pro.py",
        _operand(
            1,
            "cmd",
            "hashes codec dc-ip target-ip share mode object shell-type silentcommand ts keytab",
        ),
    ),
    table(
        "winexe wmic-client pth-winexe pth-wmic",
        _operand(1, "cmd", "U A -user -authentication-file d -debuglevel -runas W"),
    ),
    table("psexec psexec64 paexec", _operand(1, "cmd", "u p n a w r i")),
    table(
        "netexec nxc crackmapexec cme",
        _in_options("-x", language="cmd", valued="u p H d M o X t k"),
    ),
    table(
        "netexec nxc crackmapexec cme",
        _in_options("-X", language="powershell", valued="u p H d M o x t k"),
    ),
    table("tsh", _after("ssh", skip=1, valued="l p i -login -proxy -cluster -user")),
    table("tailscale balena", _after("ssh", "device ssh", skip=1, valued="p -port")),
    table("dokku", _after("run", "run:detached", skip=1)),
    table("dokku", _after("enter", skip=2)),
    table(
        "nomad", _after("alloc exec", "exec", skip=1, valued="task job namespace region address")
    ),
    table("mpirun mpiexec srun prun orterun aprun jsrun", _launched),
    table("taktuk", _bracketed),
    table(
        "cumin mussh dcli gsh rcmd rsh remsh rexec on",
        _operand(1, valued="l p m b t h H i o -batch -timeout -mode"),
    ),
    table("et", _in_options("-c", "--command", valued="p u")),
    table("orgalorg", _in_options("-C", valued="o s -host")),
    table("fab fab2 pyinfra", _dashes),
    table("cssh clusterssh csshx", _in_options("-a", "--action", valued="l c C p")),
    table(
        "heroku",
        _after(
            "run",
            "run:detached",
            "ps:exec",
            valued="a r s -app -remote -size -type -exit-code e -env",
        ),
    ),
    table("juju", _after("ssh", skip=1, valued="m -model")),
    table("juju", _after("run", "exec", valued="m u a -model -unit -application -machine")),
    table("eb", _in_options("-c", "--command", valued="n r -profile -region")),
    table("cf", _in_options("-c", "--command", valued="i -process -app-instance-index L R")),
    table("doctl", _in_options("--ssh-command", valued="-ssh-user -ssh-key-path -access-token")),
    shaped("remote_change", _WHY, _MANAGERS),
)
