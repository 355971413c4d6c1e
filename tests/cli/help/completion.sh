# The completion for bash offers commands, options, formats, GPU names, devices and elements. The words
# are split as bash does it, also at colons and equals signs.
touch run.rec
cat >ask.bash <<'END'
source <(fathom completion bash)
ask() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _fathom
    echo "$*: ${COMPREPLY[*]}"
}
ask fathom ''
ask fathom d
ask fathom gpus v
ask fathom gpus --f
ask fathom gpus --format ''
ask fathom gpus --format = j
ask fathom --format ''
ask fathom model --format ''
ask fathom trace -o r
ask fathom help c
ask fathom completion z
ask fathom topo --device ''
ask fathom topo --device s
ask fathom topo --device sim : v
(mkdir empty && cd empty && ask fathom topo --device sim :)
ask fathom --device sim : k
ask fathom topo --device = cuda : ''
ask fathom topo --device = r
ask fathom topo --device replay : run
ask fathom topo --record r
ask fathom topo --only l
ask fathom dissect te
ask fathom topo --only l1,instruction_l1
ask fathom topo --only ''
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
ask fathom topo --device sim:v
END
bash ask.bash
fathom completion; echo $?
fathom completion zs; echo $?
fathom completion ksh; echo $?
