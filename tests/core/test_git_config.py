"""Which settings of a git configuration make git run something."""

from __future__ import annotations

import pytest

from app.core.git_config import risky_settings

CLONED = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[remote "origin"]
\turl = git@example.org:team/product.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[user]
\tname = Ann; Engineer
\temail = "ann@example.org"
; a comment
# another one
[submodule "lib"]
\turl = ../lib.git
\tactive = true
[alias]
\tst = status -sb
\tlg = log --oneline --graph
"""


def test_what_git_writes_by_itself_is_harmless():
    assert risky_settings(CLONED) == frozenset()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[core]\nfsmonitor = x", "core.fsmonitor"),
        ("[CORE]\nFsMonitor = x", "core.fsmonitor"),
        ("[core] fsmonitor = x", "core.fsmonitor"),
        ("[core][user] name = x\n[core]\nsshCommand=x", "core.sshcommand"),
        ("[core]\neditor = rm -rf x", "core.editor"),
        ("[alias]\nx = !sh", "alias.x"),
        ("[alias]\nx = -c core.pager=x log", "alias.x"),
        ("[alias]\nx = config core.fsmonitor y", "alias.x"),
        ("[alias]\nx = rebase --exec y", "alias.x"),
        ("[alias]\nx = log -c core.pager=y", "alias.x"),
        ('[filter "x"]\nclean = y', "filter.*.clean"),
        ("[include]\npath = x", "include.path"),
        ('[includeIf "gitdir:~/"]\npath = x', "includeif.*.path"),
        ("[core]\nhooksPath = x", "core.hookspath"),
        ("[core]\nworktree = /", "core.worktree"),
        ("[core]\nattributesFile = x", "core.attributesfile"),
        ("[diff]\nexternal = x", "diff.external"),
        ('[diff "x"]\ntextconv = y', "diff.*.textconv"),
        ('[merge "x"]\ndriver = y', "merge.*.driver"),
        ('[mergetool "x"]\ncmd = y', "mergetool.*.cmd"),
        ("[gpg]\nprogram = x", "gpg.program"),
        ('[gpg "ssh"]\ndefaultKeyCommand = x', "gpg.*.defaultkeycommand"),
        ("[credential]\nhelper = x", "credential.helper"),
        ('[remote "o"]\nurl = ext::sh -c x', "remote.*.url"),
        ('[remote "o"]\nurl = --upload-pack=x', "remote.*.url"),
        ('[remote "o"]\nuploadpack = x', "remote.*.uploadpack"),
        ('[remote "o"]\nvcs = x', "remote.*.vcs"),
        ('[url "ext::x"]\ninsteadOf = https://', "url.*.insteadof"),
        ("[http]\nproxy = x", "http.proxy"),
        ("[http]\nsslVerify = false", "http.sslverify"),
        ('[protocol "ext"]\nallow = always', "protocol.*.allow"),
        ("[pager]\nlog = x", "pager.log"),
        ("[web]\nbrowser = x", "web.browser"),
        ("[commit]\ntemplate = x", "commit.template"),
        (
            "[receive]\nprocReceiveRefs = x\n[uploadpack]\npackObjectsHook = x",
            "uploadpack.packobjectshook",
        ),
        ('[submodule "x"]\nupdate = !y', "submodule.*.update"),
        ("[sendemail]\nsmtpServer = /x", "sendemail.smtpserver"),
        ('[trailer "x"]\ncommand = y', "trailer.*.command"),
        ("[maintenance]\nstrategy = x\n[core]\naskPass = y", "core.askpass"),
        ("[something]\nnew = x", "something.new"),
        ("no section or setting!", "?"),
        ("[core]\nfs\\\nmonitor = x", "?"),
    ],
)
def test_what_may_run_something_is_reported(text: str, name: str):
    assert name in {setting.partition("=")[0] for setting in risky_settings(text)}


def test_the_value_is_reported_with_the_setting():
    assert risky_settings("[core]\nfsmonitor = a") != risky_settings("[core]\nfsmonitor = b")
