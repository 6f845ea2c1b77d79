"""Random scripts that hand commands on through a shell's state, for a real shell to run.

Each script is made of what changes what a later command is: variables, arguments, functions,
directories, files that are then run, traps, branches, loops and processes of their own. The
only programs are `rm`, `ls`, `show` and the shell. Functions call no functions, so that all ends.
"""

from __future__ import annotations

import re
import shlex

from hypothesis import strategies as st

Texts = st.SearchStrategy[str]


def _one_of(text: str) -> Texts:
    """One of the pieces of `text`, between which stand at least two blanks or a new line."""
    return st.sampled_from(re.split(r" {2,}|\n", text.strip()))


_SETTING = _one_of("""
c=rm  c=ls  d=rm  d=ls  c=$d  d=$c  c=$1  d="$2"  c=$(echo rm)  c=${d:-rm}  c=r${d#r}  c+=m
export "c=rm"  declare c=rm  local c  local c=$1  unset c  read c <<< rm  readonly d=rm
read -r c d <<< "ls rm"  printf -v c rm  : ${c:=rm}  declare -n c=d  export $d=rm  IFS=x
read $d <<< rm  typeset "d=$c"  mapfile -t c <<< rm  set -- rm x  set -- ls x  set -- "$@" rm
set -- "$c" x  set +e  set --  shift  shift 2
""")
_MOVING = _one_of("""
cd home  cd sub  cd ..  cd -  cd  pushd home  popd  command cd home  builtin cd ..
""")
_RUNNING = _one_of("""
$c x  "$c" x  $d x  $1 x  "$@"  $@  $*  "$*"  "${@:2}"  $2 x  "${c:-ls}" x  command $c x
eval "$c x"  eval "$@"  . ./s  bash ./s  source s  . ./s rm x  ls x  exec $c x
trap 'rm x' EXIT
""")
_WRITING = _one_of("""
echo x > .bashrc  echo x > ../home/.bashrc  echo 'rm x' > s  echo 'c=rm' > s  echo 'ls x' > s
echo 'cd home' > s  echo '"$@"' > s
""")
_LEAVING = _one_of("return  break  continue  exit  true  false  wait  :")
_STEPS = st.one_of(_SETTING, _SETTING, _MOVING, _RUNNING, _RUNNING, _WRITING, _LEAVING)
_TESTS = _one_of("""true  false  [ -n "$c" ]  [ "$c" = rm ]  [ $# -gt 0 ]  ! false""")
_WORDS = _one_of("""rm  ls  "$c"  $c  $d  "$1"  "$@"  $*  ${1:-ls}  ${c:-rm}  x""")


def _around(inner: Texts) -> Texts:
    """Something compound, made of statements."""
    body = st.lists(inner, min_size=1, max_size=3).map("; ".join)
    test = _TESTS | inner

    def written(pattern: str, *parts: Texts) -> Texts:
        return st.tuples(*parts).map(lambda texts: pattern % texts)

    return st.one_of(
        written("if %s; then %s; fi", test, body),
        written("if %s; then %s; else %s; fi", test, body, body),
        written("if %s; then %s; elif %s; then %s; fi", test, body, test, body),
        written("for i in 1 2; do %s; done", body),
        written("for c in rm ls; do %s; done", body),
        written("for d; do %s; done", body),
        written("case $c in rm) %s;; *) %s;; esac", body, body),
        written("( %s )", body),
        written("{ %s; }", body),
        written("%s & wait", inner),
        written("%s | %s", inner, inner),
        written("c=$(%s)", body),
        written("%s && %s", inner, inner),
        written("%s || %s", inner, inner),
        written("while read -r c; do %s; done <<< rm", body),
        written("n=0; while [ $n -lt 2 ]; do n=$((n+1)); %s; done", body),
        written("eval %s", inner.map(shlex.quote)),
        written("trap %s DEBUG", inner.map(shlex.quote)),
        written("bash -c %s _ rm x", inner.map(shlex.quote)),
    )


_STATEMENTS = st.recursive(_STEPS, _around, max_leaves=8)
_BODIES = st.lists(_STATEMENTS, min_size=1, max_size=3).map("; ".join)
_FUNCTIONS = _BODIES.map(lambda body: f"f() {{ {body}; }}") | st.sampled_from(
    ['f() { "$@"; }', 'f() { shift; "$@"; }', 'f() { local n=$1; shift; "$@"; c=rm; }']
)
_CALLS = st.tuples(_WORDS, _WORDS).map(lambda words: f"f {words[0]} {words[1]}")
_LINES = st.recursive(st.one_of(_STEPS, _CALLS), _around, max_leaves=6)
SCRIPTS = st.tuples(_FUNCTIONS | _STEPS, st.lists(_LINES, min_size=1, max_size=4)).map(
    lambda parts: "; ".join([parts[0], *parts[1]])
)


_KNOWN = st.sampled_from(["", "c=rm; ", 'c=rm; d="a  b c"; e=; ', "c=-rf; d='-r -f'; c+=x; "])
_PIECES = _one_of(r"""
r  m  ls  -rf  a  =  +  :  .  _  ,  ^  'r m'  ''  '$c'  '"'  '\'  'a{b,c}'  '*'  "r m"  ""
"$c"  "${d}"  "\$c"  "\""  "a\b"  "`echo q`"  "$(echo "q r")"  "${e:-z z}"  "$c$d"  "a{b,c}"
"${#c}"  "${c^}"  "${d// /_}"  "${d%% *}"  "${d#* }"  "$((1+2))"  "${e:+y}"  "${u-def}"  $'\x72m'
$'\162m'  $'a\tb'  $'\u0072'  $'\''  $'\cA'  $'a\0b'  $'\?'  $"rm"  $"$c"  \r  \m  \$  \"  \{  \,
$c  ${c}  $d  $e  ${e:-x}  ${e-"a b"}  ${e+y}  ${c#r}  ${c%m}  ${c/r/l}  ${c//[r]/l}  ${c^^}
${c:1:1}  ${u:-a b}  ${d:2}  ${c:-$d}  $(echo rm)  `echo rm`  $(printf "\x72m")  $(echo -e "\x72m")
$(echo -n a; echo b)  $(echo $d)  $(printf "%b" "\162m")  $(printf %s%s r m)  $(echo '$c')  $((1+1))
{a,b}  {1..3}  {a..c}  {r,}m  a{b,c{d,e}}f  {a,b  {a}  {}  {,}  {1..5..2}  {03..05}  {$c,x}  {c..a}
{a,"b c"}  {a\,b,c}  x{a,b}{c,d}  {a,b}$c  $c{a,b}  ${c}{a,b}
""")
_WORD = st.lists(_PIECES, min_size=1, max_size=3).map("".join)
SHOWN = st.tuples(_KNOWN, st.lists(_WORD, min_size=1, max_size=3)).map(
    lambda parts: f"{parts[0]}show {' '.join(parts[1])}"
)
"""A command that shows its words, after assignments."""
