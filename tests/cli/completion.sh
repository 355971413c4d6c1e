# bash offers commands, options, formats and GPU names.
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
ask fathom help c
ask fathom completion z
END
bash ask.bash
fathom completion; echo $?
fathom completion zs; echo $?
