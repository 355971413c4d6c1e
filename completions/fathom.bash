# bash completion for fathom; made by 'fathom completion bash'.
# Names of devices. Where bash takes the colon to part words, only what stands behind
# it is offered.
_fathom_device()
{
    local names before=
    [[ $COMP_WORDBREAKS == *:* ]] || before=${cur%%:*}:
    case $cur in
    replay:*) COMPREPLY=($(compgen -P "$before" -f -- "${cur#replay:}")) ;;
    sim:*)
        names=$(fathom gpus --format csv 2>/dev/null | sed '1d;s/,.*//')
        COMPREPLY=($(compgen -P "$before" -f -W "$names" -- "${cur#sim:}")) ;;
    cuda:*) COMPREPLY=($(compgen -P "$before" -W 0 -- "${cur#cuda:}")) ;;
    *)
        COMPREPLY=($(compgen -W 'cuda: sim: replay:' -- "$cur"))
        compopt -o nospace 2>/dev/null ;;
    esac
}

# Words that commas part.
_fathom_list()
{
    COMPREPLY=($(compgen -P "${cur%"${cur##*,}"}" -W "$1" -- "${cur##*,}"))
}

_fathom()
{
    local cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) prev command=
    # Words that bash parted at a colon or an equals sign.
    while [ "$at" -gt 1 ] && [[ $cur == :* || ${COMP_WORDS[at]} == : ]]; do
        cur=${COMP_WORDS[at]}$cur at=$((at - 1))
    done
    [ "$cur" = = ] && cur=
    [ "${COMP_WORDS[at]}" = = ] && at=$((at - 1))
    prev=${COMP_WORDS[at]}
    [ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
    case $prev in
    --device) _fathom_device; return ;;
    --format) COMPREPLY=($(compgen -W 'text json csv hwloc mt4g' -- "$cur")); return ;;
    --output | -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --only) _fathom_list 'l1 texture readonly constant_l1 constant_l15 instruction_l0 instruction_l1 instruction_l15 shared cluster_shared l2 tlb_l1 tlb_l2 tlb_l3 memory registers'; return ;;
    --record) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --series) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W 'text json csv' -- "$cur")); return ;;
    --describe) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --fleet) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --store) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --on) _fathom_device; return ;;
    --output | -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --gpu) COMPREPLY=($(compgen -f -W "$(fathom gpus --format csv 2>/dev/null | sed '1d;s/,.*//')" -- "$cur")); return ;;
    --file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --output | -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --output | -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    esac
    case $command in
    topo)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--device --json --format --output -o --only --record --thorough --verbose -v --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W '' -- "$cur")) ;;
        esac ;;
    dissect)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--device --json --format --output -o --series --record --help -h' -- "$cur")) ;;
        *) _fathom_list 'l1 texture readonly constant_l1 constant_l15 instruction_l0 instruction_l1 instruction_l15 shared cluster_shared l2 tlb_l1 tlb_l2 tlb_l3 memory registers' ;;
        esac ;;
    bench)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--device --json --csv --format --output -o --record --describe --thorough --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W 'all banks shared scaling latency arith atomics global link stream' -- "$cur")) ;;
        esac ;;
    gpus)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -W "$(fathom gpus --format csv 2>/dev/null | sed '1d;s/,.*//')" -- "$cur")) ;;
        esac ;;
    devices)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W '' -- "$cur")) ;;
        esac ;;
    compare)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--all --within --fleet --json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -W "$(fathom gpus --format csv 2>/dev/null | sed '1d;s/,.*//')" -- "$cur")) ;;
        esac ;;
    report)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac ;;
    fingerprint)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--device --record --store --runs --accuracy --json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -W 'enroll identify list forget export import' -- "$cur")) ;;
        esac ;;
    run)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--entry -e --grid -g --block -b --shared --arg -a --seed --set -s --on --show --verify --json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac ;;
    trace)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--output -o --stats --lines --dump --verify --entry -e --grid -g --block -b --shared --arg -a --seed --set -s --json --format --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac ;;
    model)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--gpu --set -s --parameters --launches --lines --profile --curve --l1-off --threads --json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac ;;
    explore)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--vary --set -s --gpu --file --preset --l1-off --shard --threads --json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac ;;
    merge)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--partial --json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac ;;
    completion)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur")) ;;
        esac ;;
    help)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--man --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W 'topo dissect bench gpus devices compare report fingerprint run trace model explore merge completion help' -- "$cur")) ;;
        esac ;;
    *) COMPREPLY=($(compgen -W 'topo dissect bench gpus devices compare report fingerprint run trace model explore merge completion help --device --json --format --output -o --only --record --thorough --verbose -v --version -V --help -h' -- "$cur")) ;;
    esac
}
complete -F _fathom fathom
