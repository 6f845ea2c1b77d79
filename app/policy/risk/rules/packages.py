"""Package managers: removal from the host, publishing."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk.call import (
    Answer,
    CommandCall,
    RuleTable,
    ask,
    names,
    options,
    run,
    script,
    table,
)
from app.policy.risk.model import RiskLevel
from app.policy.risk.shapes import Rows, Shape, shaped, together

_REMOVES = {
    **dict.fromkeys(
        names("apt apt-get aptitude yum dnf zypper microdnf tdnf"),
        frozenset({"remove", "purge", "autoremove", "erase", "rm", "autopurge"}),
    ),
    "apk": {"del"},
    "brew": {"uninstall", "remove", "rm", "autoremove", "zap"},
    "snap": {"remove"},
    "flatpak": {"uninstall", "remove"},
    "port": {"uninstall"},
    "pkg": {"delete", "remove", "autoremove"},
    "emerge": {"--unmerge", "-C", "--depclean"},
    "nix-env": {"-e", "--uninstall"},
    "nix-collect-garbage": {"-d", "--delete-old"},
    "nix-store": {"--gc", "--delete"},
    "dpkg": {"-r", "-P", "--remove", "--purge"},
    "rpm": {"-e", "--erase"},
    "choco": {"uninstall"},
    "winget": {"uninstall", "remove"},
    "scoop": {"uninstall"},
}
_FLAGGED = frozenset(["emerge", "nix-env", "nix-collect-garbage", "nix-store", "dpkg", "rpm"])
"""Package managers with options instead of verbs."""
_PUBLISHES = {
    **dict.fromkeys(
        ["npm", "pnpm", "yarn", "bun"], frozenset({"publish", "unpublish", "deprecate"})
    ),
    "cargo": {"publish", "yank", "owner"},
    "twine": {"upload"},
    "gem": {"push", "yank"},
    **dict.fromkeys(["poetry", "uv", "hatch", "flit", "pdm"], frozenset({"publish"})),
    "vsce": {"publish", "unpublish"},
    "nuget": {"push", "delete"},
    "lerna": {"publish"},
    "changeset": {"publish"},
    "mvn": {"deploy", "deploy:deploy"},
}


def _host_packages(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "o c t").rest[:1] if call.name not in _FLAGGED else call.args
    if set(words) & _REMOVES[call.name] or (
        call.name == "rpm" and any(a.startswith("-e") for a in call.args)
    ):
        yield ask("package_remove", f"{call.name} removes software from the host")


def _apt(call: CommandCall) -> Iterator[Answer]:
    yield from _host_packages(call)
    yield from _package_hooks(call)


def _package_hooks(call: CommandCall) -> Iterator[Answer]:
    """Handle `-o DPkg::Pre-Invoke::=command`: a shell command in apt's settings."""
    for setting in options(call.args, "o c t -option").all_values("-o", "--option"):
        key, _, value = setting.partition("=")
        if "invoke" in key.lower():
            yield script(value.strip('{}"; '))
        elif key.lower().startswith(("dir::", "dpkg::path")):
            yield ask("loaded_code", f"{key} makes apt run or read other files")


def _pacman(call: CommandCall) -> Iterator[Answer]:
    if any(arg.startswith(("-R", "--remove")) for arg in call.args):
        yield ask("package_remove", "pacman removes software from the host")


def _publish(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "C -prefix -registry -filter -directory").rest
    words = words[1:2] if words[:1] == ["npm"] and call.name == "yarn" else words[:1]
    if (
        set(words) & _PUBLISHES[call.name]
        and "--dry-run" not in call.args
        and "--help" not in call.args
    ):
        yield ask("publish", f"{call.name} {words[0]} cannot be undone", RiskLevel.MEDIUM)
    elif _of_registry(call):
        yield ask("publish", f"{call.name} changes the contents of the registry", RiskLevel.MEDIUM)


def _of_registry(call: CommandCall) -> bool:
    pairs = {"owner rm", "token revoke", "access revoke", "dist-tag rm", "team rm", "hook rm"}
    words = options(call.args, "-registry -prefix C").rest
    return call.name in {"npm", "pnpm", "yarn"} and " ".join(words[:2]) in pairs


def _dotnet(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] == ["nuget"]:
        yield run(call.args)


def _conda(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "n p").rest
    if words[:2] == ["env", "remove"] or (words[:1] == ["remove"] and "--all" in call.args):
        yield ask("package_remove", "removes a whole environment", RiskLevel.MEDIUM)


def _project_script(call: CommandCall) -> Iterator[Answer]:
    """Handle `yarn rimraf x`, `pnpm prisma …`: a program of the project run by name."""
    words = options(call.args, "C -cwd -filter -dir", stop=True).rest
    words = options(words[1:], stop=True).rest if words[:1] == ["run"] else words
    if words[:1] and words[0] in {
        "rimraf",
        "del-cli",
        "prisma",
        "knex",
        "sequelize",
        "typeorm",
        "sequelize-cli",
    }:
        yield run(words)


_FURTHER: Rows = {
    "xbps-remove urpme removepkg pkg_delete pkg_deinstall pkgrm swremove "
    "pkgdel prt-get-remove tazpkg-remove dnf-autoremove": (Shape(having=r"\S"),),
    "slackpkg": (Shape(r"(?:remove|clean-system)\b"),),
    "opkg pkgin fink tazpkg nala pkcon pamac cave eopkg swupd deb-get sbopkg "
    "spack guix apt-fast tce-remove ipkg cards upt urpmi kpkg conary": (
        Shape(
            r"(?:remove|rm|rmf|purge|autoremove|autopurge|uninstall|unmerge|"
            r"delete-orphans|delete|del|erase|bundle-remove|"
            r"gc|clean-system|remove-orphans|purge-config|pull-cleanup|rmo)\b"
        ),
        Shape(
            having=r"^--(?:gc|delete-generations\S*|roll-back|remove|uninstall)$|"
            r"^package\n(?:-r|-d|--remove)"
        ),
    ),
    "rpm-ostree": (
        Shape(
            r"(?:uninstall|remove|override (?:remove|reset|replace)|rollback|reset|"
            r"cleanup|rebase|deploy)\b"
        ),
    ),
    "ostree": (
        Shape(
            r"(?:admin (?:undeploy|cleanup|set-default|pin)|prune|refs|reset|remote "
            r"delete)\b",
            having=r"^(?:undeploy|cleanup|prune|--delete|reset|delete|set-default)$",
            unless=r"^--no-prune$",
        ),
    ),
    "transactional-update tukit": (
        Shape(r"(?:rollback|cleanup|pkg (?:remove|rm)|abort|close|setup-\S+)\b"),
    ),
    "dnf dnf5 yum microdnf tdnf": (
        Shape(
            r"(?:history (?:undo|rollback|redo)|(?:group|groups|module|environment) "
            r"(?:remove|reset|disable|erase)|groupremove|remove-\S+|swap|distro-sync|"
            r"offline clean|system-upgrade|versionlock (?:clear|delete))\b"
        ),
    ),
    "zypper": (
        Shape(
            r"(?:removerepo|rr|removelock|rl|removeservice|rs|removeptf|rptf|remove-\S+|"
            r"dup|dist-upgrade|purge-kernels)\b"
        ),
    ),
    "snap": (Shape(r"(?:revert|disable|forget|remove-user|unset|stop)\b"),),
    "flatpak": (
        Shape(
            r"(?:remote-delete|permission-reset|permission-remove|kill|repair|mask)\b",
            having=r"^(?:remote-delete|permission-\w+|kill|repair)$",
        ),
    ),
    "brew": (
        Shape(
            r"(?:untap|services (?:stop|kill|remove)|bundle cleanup)\b",
            having=r"^(?:untap|stop|kill|remove|--force)$",
        ),
    ),
    "pkg": (
        Shape(
            r"(?:upgrade|clean|unlock|lock|set|delete-all|autoremove|remove|delete)\b",
            having=r"^(?:set|-a|--all|delete|remove|autoremove)$",
        ),
    ),
    "nix-env": (
        Shape(having=r"^--(?:delete-generations|rollback|uninstall|switch-generation)$|^-\w*[eG]$"),
    ),
    "nix": (
        Shape(
            r"(?:profile (?:remove|wipe-history|rollback)|store (?:delete|gc)|registry "
            r"remove)\b"
        ),
    ),
    "nixos-rebuild darwin-rebuild home-manager": (
        Shape(
            r"(?:switch|boot|expire-generations|remove-generations|uninstall)\b|",
            having=r"^(?:expire-generations|remove-generations|uninstall|--rollback|switch|boot)$",
            unless=r"^(?:build|dry-build|dry-activate|dry-run)$",
        ),
    ),
    "apt-mark": (
        Shape(
            r"(?:hold|unhold|auto|manual|minimize-manual|remove|deinstall|purge)\b",
            having=r"^(?:auto|minimize-manual|remove|deinstall|purge)$",
        ),
    ),
    "dpkg": (
        Shape(
            having=r"^--(?:clear-selections|set-selections|force-\S*remove\S*|"
            r"remove-architecture|forget-\S+)$"
        ),
    ),
    "emerge": (
        Shape(having=r"^(?:-\w*[CcP]\w*|--(?:unmerge|depclean|prune|rage-clean|config|deselect))$"),
    ),
    "eclean eclean-kernel eclean-dist": (
        Shape(unless=r"^(?:-p|--pretend|-h|--help|-l|--list-kernels)$"),
    ),
    "port": (
        Shape(
            r"(?:uninstall|deactivate|reclaim|clean|unsetrequested)\b",
            having=r"^(?:uninstall|deactivate|reclaim)$",
        ),
    ),
    "package-cleanup remove-vmware-tools oldkernel purge-old-kernels": (
        Shape(having=r"^--(?:cleandupes|oldkernels|removenewestdupes|noscripts)$|\A\Z|^-[yq]"),
    ),
}

RULES: RuleTable = {
    **table(" ".join(_REMOVES), _host_packages),
    **table("apt apt-get aptitude", _apt),
    **table("pacman yay paru pakku pikaur trizen aura pacaur rua", _pacman),
    "dotnet": _dotnet,
    **table("conda mamba micromamba", _conda),
}
for _name in _PUBLISHES:
    RULES[_name] = _publish


def _scripts_too(call: CommandCall) -> Iterator[Answer]:
    yield from _publish(call)
    yield from _project_script(call)


RULES |= table("yarn pnpm bun", _scripts_too)
RULES = together(RULES, shaped("package_remove", "removes software from the host", _FURTHER))
