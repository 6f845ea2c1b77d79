"""Rules about commands: how a deny or an ask finds them, and what an allow answers for."""

from __future__ import annotations

import pytest

from tests.policy.verdicts import allow, argv, ask, deny, judge, verdict

NO_PUSH = deny("open a pull request instead", **argv("git", "push", "..."))


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push origin main",
        "git -C app push",
        "git -c user.name=x push",
        "git --git-dir=a/.git push",
        "git --git-dir a/.git --no-pager push",
        "/usr/bin/git push",
        "./git push",
        "TOKEN=1 git push",
        "env A=1 git push",
        "sudo -u bob git push",
        "cd app && git push",
        "true; git push",
        "ls | git push",
        "timeout 5 git push",
        "nohup git push &",
        "xargs git push",
        "find . -exec git push {} ;".replace(" ;", r" \;"),
        "bash -c 'git push'",
        "bash <<< 'git push'",
        "bash <<E\ngit push\nE",
        "echo $(git push)",
        "if true; then git push; fi",
        "g''it pu\\sh",
        "eval 'git push'",
        "git $'\\x70ush'",
        "git -- push",
        "git -c alias.p=push p",
        "git -c alias.p='!git push' p",
        "git config alias.p 'push origin' && git p",
        'p() { git "$@"; }; p push',
        "git send-pack host:r main",
        "git -C app send-pack host:r main",
        "hub push",
        "ssh host git push",
        "python -c 'import os; os.system(\"git push\")'",
    ],
)
def test_no_spelling_of_a_command_evades_a_deny(command: str):
    decision = judge(command, NO_PUSH)

    assert decision.verdict == "deny"
    assert decision.rule_ids == ("denied_by_rule", "r0")
    assert decision.justification == "open a pull request instead"
    assert not decision.floor


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git -c alias.p=pull p",
        "hub browse",
        "git log push",
        "git --no-pager log push",
        "git commit -m 'git push'",
        "echo git push",
        "grep -r 'git push' docs",
        "echo 'x' # git push",
        "cat <<'E'\ngit push\nE",
        "gitk push",
    ],
)
def test_a_deny_leaves_what_only_names_the_command(command: str):
    assert verdict(command, NO_PUSH) == "allow"


@pytest.mark.parametrize("command", ["git $verb", "$tool push", "git $(cat verb)", 'bash -c "$x"'])
def test_what_is_only_known_when_it_runs_asks_because_of_a_deny(command: str):
    decision = judge(command, NO_PUSH)

    assert decision.verdict == "ask"
    assert "rule_unresolved" in decision.rule_ids
    assert decision.asks, "it asks whatever the hooks say"


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        (["cat", "keys.txt"], "cat [k]eys.txt", "ask"),
        (["cat", "keys.txt"], "cat key?.t*", "ask"),
        (["cat", "keys.txt"], "cat -- *", "ask"),
        (["cat", "*.pem"], "cat server.p*", "ask"),
        (["terraform", "apply", "..."], "terraform appl[y] -auto-approve", "ask"),
        (["make", "...", "--always-make"], "make all --always-mak[e]", "ask"),
        (["cat", "keys.txt"], "cat *.md", "allow"),
        (["cat", "*.pem"], "cat *.md", "allow"),
        (["cat", "-A", "..."], "cat *", "allow"),
        (["cat", "keys.txt"], "head [k]eys.txt", "allow"),
    ],
)
def test_what_a_glob_may_stand_for_asks_because_of_a_deny(
    pattern: list[object], command: str, expected: str
):
    decision = judge(command, deny(**argv(*pattern)))

    assert decision.verdict == expected
    assert ("rule_unresolved" in decision.rule_ids) == (expected == "ask")


def test_very_many_globs_are_not_all_held_against_a_deny():
    rule = deny(**argv("cat", "...", "keys.txt"))
    words = [f"{at}*" for at in range(21)]

    assert verdict(f"cat {' '.join(words[:20])}", rule) == "allow"
    assert verdict(f"cat {' '.join(words)}", rule) == "ask"
    assert verdict(f"cat {' '.join(words)} keys.txt", rule) == "deny", "many globs hide no word"


@pytest.mark.parametrize(
    ("wanted", "command", "expected"),
    [
        (argv("rm", "build/?"), "rm build/*", "ask"),
        (argv("rm", "build/[!a]"), "rm build/*", "ask"),
        (argv("rm", "build/?"), "rm build/?", "allow"),
        (argv("rm", "build/[*]"), "rm build/*", "allow"),
        (argv("rm", "build/*"), "rm build/*.o", "allow"),
        ({"match": {"argv": ["rm", "..."], "paths": ["build/?"]}}, "rm build/*", "ask"),
        ({"match": {"argv": ["rm", "..."], "paths": ["build/?"]}}, "rm build/?", "allow"),
        ({"match": {"argv": ["rm", "..."], "paths": ["build/?"]}}, "rm build/a", "allow"),
        ({"match": {"argv": ["rm", "..."], "paths": ["build/**"]}}, "rm build/*", "allow"),
    ],
)
def test_an_allow_of_one_character_is_none_of_a_star(
    wanted: dict[str, object], command: str, expected: str
):
    assert verdict(command, allow(**wanted)) == expected


def test_unknown_words_elsewhere_are_nothing_to_a_rule():
    assert verdict("ls $x", NO_PUSH) == "allow"
    assert verdict("git status $x", NO_PUSH) == "allow"


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        (["npm", {"any_of": ["publish", "unpublish"]}, "..."], "npm --prefix x unpublish", "deny"),
        (["npm", {"any_of": ["publish", "unpublish"]}, "..."], "npm test", "allow"),
        (["kubectl", "delete", "..."], "kubectl -n prod delete pod x", "deny"),
        (["kubectl", "delete", "..."], "kubectl --context=p get delete", "allow"),
        (["git", "...", "--no-verify", "..."], "git commit --no-verify -m x", "deny"),
        (["git", "commit", "...", "-n", "..."], "git commit -nm x", "deny"),
        (["git", "...", "--no-verify", "..."], "git commit --no-v", "ask"),
        (["curl", "...", "--output", "..."], "curl --output=x y", "deny"),
        (["make", "deploy*"], "make -C web deploy-prod", "deny"),
        (["git", "push", "origin", "main"], "git push -q origin main", "deny"),
        (["mytool", "drop", "..."], "mytool --profile prod drop db", "deny"),
        (["mytool", "drop", "..."], "mytool --verbose drop db", "deny"),
        (["...", "--insecure", "..."], "curl --insecure x", "deny"),
        (["sudo", "..."], "echo a && sudo ls", "deny"),
        (["python*", "-m", "pip", "..."], "python3.11 -m pip list", "deny"),
        (["cargo", "publish"], "cargo +nightly publish", "deny"),
    ],
)
def test_word_patterns(pattern: list[object], command: str, expected: str):
    assert verdict(command, deny(**argv(*pattern))) == expected


def test_programs_are_named_whole_and_by_any_of_their_names():
    rule = deny(match={"command": ["nc", "python"]})

    assert verdict("nc -l 1", rule) == "deny"
    assert verdict("/bin/nc -l 1", rule) == "deny"
    assert verdict("python3.11 x.py", rule) == "deny"
    assert verdict("ncdu", rule) == "allow"


def test_powershell_does_not_tell_upper_from_lower_case():
    rule = {**deny(**argv("Remove-Item", "...")), "tool": "pwsh"}

    assert verdict("remove-item x", rule, name="pwsh") == "deny"
    assert verdict("Get-Item x", rule, name="pwsh") == "allow"


IN_BUILD = allow(match={"argv": ["rm", "..."], "paths": ["build/**"]})


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm build/a build/b/c",
        "/bin/rm build/a",
        "cd build && rm a",
        "rm -rf build && ls",
        "timeout 5 rm build/a",
        "bash -c 'rm -r build'",
        "ls && rm build/a; rm build/b",
        'run() { "$@"; }; run rm -rf build',
        'twice() { shift; "$@" || "$@"; }; twice x rm build/a && ls',
    ],
)
def test_an_allow_releases_what_the_risk_analysis_asks(command: str):
    assert verdict(command) == "ask"

    decision = judge(command, IN_BUILD)

    assert decision.verdict == "allow"
    assert decision.covered_by == ("r0",)
    assert {finding.code for finding in decision.released} == {"delete"}
    assert decision.findings == ()


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build other",
        "rm build/../x",
        "rm build/a && rm x",
        "rm build/$x",
        "rm $(cat list)",
        "sudo rm -rf build",
        "ssh host rm -rf build",
        "docker exec c rm -rf build",
        "echo cm0gLXJmIGJ1aWxk | base64 -d | sudo bash",
        "/tmp/rm build/a",
        "./rm build/a",
        "rm build/a > ~/.bashrc",
        "LD_PRELOAD=./x.so rm build/a",
        'run() { "$@"; }; run rm -rf build other',
        'run() { sudo "$@"; }; run rm -rf build',
        'run() { "$@"; rm -rf other; }; run rm -rf build',
        'run() { "$@"; }; run rm -rf "$x"',
        "PATH=. rm build/a",
        "export PATH=.:$PATH; rm build/a",
        'export "PATH=."; rm build/a',
        "env PATH=. rm build/a",
        "export $(cat .env); rm build/a",
        "rm build/a; git push --force",
        'rm build/a; bash -c "$x"',
        "rm -rf build --no-preserve-root=/x",
        "cd $x && rm build/a",
    ],
)
def test_an_allow_answers_for_nothing_it_does_not_name(command: str):
    assert verdict(command, IN_BUILD) == "ask"


def test_several_allows_together_may_cover_a_compound_command():
    rules = (allow(match={"command": "rm"}), allow(**argv("git", "reset", "--hard")))

    decision = judge("rm a && git reset --hard", *rules)

    assert decision.verdict == "allow"
    assert decision.covered_by == ("r0", "r1")


def test_an_allow_of_a_wrapper_is_none_of_what_it_runs():
    assert verdict("sudo rm a", allow(**argv("sudo", "..."))) == "ask"
    assert verdict("sudo rm a", allow(**argv("sudo", "...")), allow(**argv("rm", "a"))) == "allow"


@pytest.mark.parametrize("command", ["rm -rf /", "bash -c 'rm -rf ~'", "echo x > /etc/passwd"])
def test_the_floor_stands_above_every_rule(command: str):
    decision = judge(command, allow(), ask())

    assert decision.verdict == "deny"
    assert decision.floor


def test_deny_beats_ask_beats_allow_whoever_is_more_specific():
    exact = allow(**argv("rm", "a"))

    assert verdict("rm a", exact, ask(), deny()) == "deny"
    assert verdict("rm a", exact, ask()) == "ask"
    assert verdict("rm a", exact) == "allow"


def test_an_ask_of_a_rule_is_not_released_by_an_allow_but_keeps_its_words():
    decision = judge("ls", allow(), ask("look at it first", **argv("ls")))

    assert decision.verdict == "ask"
    assert decision.asks
    assert decision.reason == "look at it first"
    assert [(f.code, f.segment) for f in decision.findings] == [("r1", 0)]


def test_an_allow_answers_the_tools_own_flag_and_nobody_elses():
    assert verdict("rm a", allow(), asks=True, asks_by="tool") == "allow"
    assert verdict("rm a", allow(), asks=True, asks_by="operator") == "ask"
    assert verdict("rm a", allow(), asks=True, asks_by="agent") == "ask"
    assert verdict("ls", allow(match={"command": "rm"}), asks=True, asks_by="tool") == "ask"


@pytest.mark.parametrize("command", ["cat ~/../srv/x", "cat ~/a/../../srv/x"])
def test_a_path_beside_a_home_may_be_anywhere(command: str):
    kept = deny(match={"paths": ["/srv/**"]})

    decision = judge(command, kept)

    assert (decision.verdict, decision.rule_ids) == ("ask", ("rule_unresolved",))
