"""Version control other than git: losing work, deleting files."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, RuleTable, options, run, table
from app.policy.risk.shapes import Rows, Shape, shaped, together

_WHY = "loses work or deletes files"
_SHOWS = r"^(?:-n|--dry-run|--help|-h|--preview|--list)$"
_HG = "R r m u d -repository -cwd -config -rev -message"
_ROWS: Rows = {
    "hg chg": (
        Shape(
            r"(?:purge|clean|strip|debugstrip|revert|rollback|remove|rm|prune|obsolete|"
            r"uncommit|unamend|fold|histedit|rebase --abort|kill|undo)\b",
            unless=_SHOWS,
            valued=_HG,
        ),
        Shape(
            r"(?:update|up|checkout|co|merge|goto)\b",
            having=r"^(?:-\w*C|--clean|--abort)$",
            unless=_SHOWS,
            valued=_HG,
        ),
        Shape(r"push\b", having=r"^(?:-\w*f|--force)$", unless=_SHOWS, valued=_HG),
        Shape(
            r"(?:bookmarks?|book|shelve|branch|topic|tag)\b",
            having=r"^(?:-\w*[dD]|--(?:delete|cleanup|remove|clear))$",
            unless=_SHOWS,
            valued=_HG,
        ),
        Shape(
            r"(?:qpop|qdelete|qrm|qfinish|qpurge|qrefresh|phase|lfclean)\b",
            having=r"^(?:qdelete|qrm|qpurge|-\w*[fa]|--force|--all)$",
            valued=_HG,
        ),
    ),
    "sl eden": (
        Shape(
            r"(?:clean|purge|revert|hide|strip|uncommit|unamend|undo|uncopy|remove|rm|"
            r"forget|debugstrip)\b",
            unless=_SHOWS,
            valued=_HG,
        ),
        Shape(r"(?:goto|go|checkout|merge)\b", having=r"^(?:-\w*C|--clean)$", valued=_HG),
        Shape(
            r"(?:bookmark|book|shelve|push)\b",
            having=r"^(?:-\w*[dDf]|--(?:delete|cleanup|force))$",
            valued=_HG,
        ),
    ),
    "svn": (
        Shape(
            r"(?:revert|delete|del|remove|rm)\b",
            unless=_SHOWS,
            valued="r m F c -revision -message -username -password",
        ),
        Shape(r"cleanup\b", having=r"^--(?:remove-unversioned|remove-ignored|vacuum-pristines)$"),
        Shape(
            r"(?:unlock|lock|switch|propdel|propset|up|update|resolve)\b",
            having=r"^--force$|^--revprop$|^--accept(?:=|\n)(?:theirs|tf|tc)\S*$",
        ),
    ),
    "svnadmin": (
        Shape(
            r"(?:rmtxns|rmlocks|rmrevprop|setrevprop|setlog|unlock|delrevprop|load|"
            r"recover|rev-size --delete|setuuid)\b"
        ),
    ),
    "svnsync": (
        Shape(
            r"(?:initialize|synchronize|copy-revprops)\b",
            having=r"^--allow-non-empty$|--steal-lock",
        ),
    ),
    "cvs": (
        Shape(r"(?:release|rel|re)\b", having=r"^-\w*d", valued="d z T e s"),
        Shape(r"(?:update|up|upd)\b", having=r"^-\w*C", valued="d z T e s"),
        Shape(r"(?:remove|rm|delete)\b", having=r"^-\w*f", valued="d z T e s"),
        Shape(r"(?:tag|rtag|admin|adm)\b", having=r"^-(?:\w*d|o\S*)$", valued="d z T e s"),
    ),
    "rcs": (Shape(having=r"^-(?:o\S*|u\S*|M\S*)$"),),
    "bzr brz breezy": (
        Shape(
            r"(?:revert|uncommit|clean-tree|remove-tree|rmbranch|remove-branch|"
            r"break-lock|unbind|shelve)\b",
            unless=r"^(?:--dry-run|--help|-h|--list|--preview)$",
        ),
        Shape(r"(?:remove|rm|del|delete)\b", having=r"^--(?:no-backup|force|new)$"),
        Shape(r"(?:push|pull|switch|merge|dpush)\b", having=r"^--(?:overwrite\S*|force)$"),
        Shape(r"tag\b", having=r"^(?:--delete|--force)$"),
    ),
    "fossil": (
        Shape(
            r"(?:revert|clean|scrub|purge|shun|undo|close|uncommitted)\b",
            unless=r"^(?:-n|--dry-run|--help|-h|help)$|^purge\n(?:list|ls|cat)",
            having=r"^(?:revert|clean|scrub|purge|shun|undo)$|^(?:-f|--force)$",
        ),
        Shape(
            r"(?:stash (?:drop|rm)|branch (?:close|hide)|tag cancel|configuration reset|"
            r"config reset|user (?:password|capabilities|new)|unversioned (?:remove|rm|"
            r"delete|revert)|uv (?:remove|rm|delete|revert)|backup --overwrite|bisect "
            r"reset)\b"
        ),
        Shape(r"(?:rm|delete|forget)\b", having=r"^--hard$"),
        Shape(
            r"(?:update|checkout|co)\b", having=r"^(?:-f|--force)$", unless=r"^(?:-n|--dry-run)$"
        ),
    ),
    "p4": (
        Shape(
            r"(?:revert|delete|clean)\b", unless=r"^(?:-\w*n|-h|help)$", valued="c C d H p P u x b"
        ),
        Shape(r"obliterate\b", having=r"^-\w*y", valued="c C d H p P u x b"),
        Shape(
            r"(?:client|workspace|user|branch|label|depot|change|changelist|group|"
            r"stream|job|shelve|server|remote|typemap|ldap|property|fix|key|counter|"
            r"attribute|clone)\b",
            having=r"^-\w*d\w*$",
            valued="c C H p P u x",
        ),
        Shape(
            r"(?:sync|flush|unlock|reconcile|submit)\b",
            having=r"^-\w*f|#(?:none|0)$",
            valued="c C d H p P u x",
        ),
        Shape(
            r"(?:admin (?:stop|restart|checkpoint|setldapusers|updatespecdepot|"
            r"resetpassword)|archive|purge|protect|triggers|passwd|configure (?:set|"
            r"unset)|monitor terminate|unload|retype|undo|shelve -d|unshelve -f|verify "
            r"-X|journaldbchecksums|db|logger|pull -d)\b",
            unless=r"^-o$",
            valued="c C d H p P u x",
        ),
    ),
    "darcs": (
        Shape(
            r"(?:revert|obliterate|unpull|unrecord|remove|amend|clean|unrevert|rebase "
            r"(?:obliterate|suspend)|optimize)\b",
            having=r"^(?:revert|obliterate|unpull|unrecord|clean|rebase)$",
            unless=_SHOWS,
        ),
    ),
    "pijul": (
        Shape(
            r"(?:unrecord|reset|channel delete|remove|revert|tag delete|remote delete|"
            r"key (?:generate|prove))\b",
            unless=_SHOWS,
        ),
    ),
    "jj": (
        Shape(
            r"(?:abandon|restore|op(?:eration)? (?:restore|abandon|undo|revert)|undo|"
            r"(?:bookmark|branch|b|tag) (?:delete|forget|d|f)|workspace forget|util gc|"
            r"git remote remove|untrack)\b",
            unless=_SHOWS,
            valued="R r m -repository -at-op",
        ),
        Shape(r"git push\b", having=r"^--(?:deleted|delete|all)$", unless=_SHOWS),
    ),
    "got gotadmin": (
        Shape(
            r"(?:revert|rv|histedit|he|remove|rm|unstage|ug|cleanup|backout|integrate)\b",
            having=r"^(?:revert|rv|remove|rm|unstage|ug|cleanup)$",
            unless=r"^-n$|^-h$|^-\w*l$",
        ),
        Shape(r"(?:branch|br|ref|tag)\b", having=r"^-\w*d"),
    ),
    "cm": (
        Shape(
            r"(?:undo|unco|undocheckout|undochange|remove|rm|delete|purge|(?:branch|br|"
            r"workspace|wk|repository|repo|label|lb|shelveset|trigger|attribute) "
            r"(?:delete|rm|hide)|shelveset delete|unchange|acl|changeset (?:delete|"
            r"move)|codereview -d|clean|partial undo)\b",
            unless=_SHOWS,
        ),
    ),
    "tf": (
        Shape(
            r"(?:undo|delete|destroy|rollback|reconcile|unshelve)\b",
            having=r"^(?:undo|delete|destroy|rollback)$|(?i)^[/-](?:clean|delete)$".replace(
                "(?i)", ""
            ),
            unless=r"(?i)^[/-](?:preview|\?|help)$",
        ),
        Shape(
            r"(?:workspace|shelve|label|branches|folders|workfold)\b",
            having=r"^[/-](?:delete|d|unmap)$",
        ),
    ),
    "cleartool ct": (
        Shape(
            r"(?:rm\w+|uncheckout|unco|unlock|unreserve|lock|chmaster|reformatvob|"
            r"reformatview|endview|protect|relocate)\b",
            unless=r"^-preview$",
        ),
    ),
    "git-annex": (
        Shape(
            r"(?:drop|dropunused|uninit|dead|unused --|forget|unannex|dropkey|expire|"
            r"setkey|reinit|rmurl)\b",
            unless=_SHOWS,
        ),
    ),
    "dvc": (
        Shape(
            r"(?:gc|remove|destroy|checkout|commit|exp (?:remove|gc|clean|apply)|cache "
            r"(?:dir|migrate)|remote remove|unprotect)\b",
            having=r"^(?:gc|remove|destroy)$|^(?:-\w*f|--force)$",
            unless=_SHOWS,
        ),
    ),
    "dolt doltgres": (
        Shape(r"(?:reset)\b", having=r"^--hard$"),
        Shape(r"(?:branch|tag|remote)\b", having=r"^(?:-\w*[dD]\w*|--delete|remove|rm)$"),
        Shape(
            r"(?:checkout|push|backup|clean|gc|stash|merge|read-tables|table rm|admin|"
            r"filter-branch|rebase|schema import|table import|clone|constraints|init|"
            r"login|creds rm|fetch|ls|undrop)\b",
            having=r"^(?:clean|gc|filter-branch|rm|drop|clear|remove|undrop)$|^(?:-\w*f|"
            r"--force|\.|-r|--replace-table)$",
            unless=_SHOWS,
        ),
    ),
    "lakectl nessie": (
        Shape(
            r"(?:branch|tag|fs|repo|auth \S+|gc|actions|commit|kv|abuse|refs-restore|"
            r"log|local) ?(?:delete|rm|reset|revert|refs-restore|delete-objects|"
            r"set-config|detach|checkout)\b",
            unless=_SHOWS,
        ),
    ),
    "chezmoi": (
        Shape(
            r"(?:purge|destroy|remove|rm|forget|unmanage|state (?:reset|delete|"
            r"delete-bucket))\b",
            unless=_SHOWS,
        ),
        Shape(
            r"(?:apply|update|init)\b", having=r"^(?:--force|--purge\S*|--apply)$", unless=_SHOWS
        ),
    ),
    "vcsh": (Shape(r"(?:delete|rename)\b"),),
    "stow": (Shape(having=r"^(?:-\w*D|--delete)$", unless=r"^(?:-\w*n\w*|--no|--simulate)$"),),
    "gclient": (
        Shape(
            r"(?:revert|sync|recurse)\b",
            having=r"^revert$|^(?:-\w*[DfR]|--(?:force|reset|delete_unversioned_trees|upstream))$",
            unless=r"^(?:-n|--nohooks-only)$",
        ),
    ),
    "repo": (
        Shape(r"(?:abandon|prune|gc)\b", unless=_SHOWS),
        Shape(
            r"sync\b",
            having=r"^--(?:force-sync|force-remove-dirty|force-checkout|detach|prune-all)$",
        ),
    ),
    "git-filter-repo git-obliterate git-delete-branch "
    "git-delete-merged-branches git-delete-squashed-branches git-delete-tag "
    "git-reset-file git-undo git-effort-clear git-rename-branch git-sweep git-trim git-nuke": (
        Shape(r"", having=r"\S|\A\Z", unless=_SHOWS + r"|^(?:--analyze|preview|--version)$"),
    ),
}


def _everywhere(call: CommandCall) -> Iterator[Answer]:
    """Handle `repo forall -c command words`, `west forall -c command`."""
    if call.args[:1] == ["forall"] and "-c" in call.args:
        words = call.args[call.args.index("-c") + 1 :]
        yield run(["sh", "-c", *words])


def _as_git(call: CommandCall) -> Iterator[Answer]:
    """Handle programs that pass their words to git: `yadm reset --hard`, `vcsh run dots git
    clean`.
    """
    words = options(call.args, "C -yadm-dir -yadm-repo", stop=True).rest
    if call.name == "vcsh":
        if words[:1] == ["run"] and len(words) > 2:
            yield run(words[2:])
        elif len(words) > 1:
            yield run(["git", *words[1:]])
    elif words:
        yield run(["git", *words])


RULES: RuleTable = together(
    shaped("delete", _WHY, _ROWS),
    table("repo west", _everywhere),
    table("yadm vcsh", _as_git),
)
