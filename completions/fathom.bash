# bash completion for fathom; made by 'fathom completion bash'.
_fathom()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command=
    [ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
    case $prev in
    --format) COMPREPLY=($(compgen -W 'text json csv' -- "$cur")); return ;;
    --output | -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    esac
    case $command in
    gpus)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -W "$(fathom gpus --format csv 2>/dev/null | sed -n '2,$s/,.*//p')" -- "$cur")) ;;
        esac ;;
    devices)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--json --format --output -o --help -h' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W '' -- "$cur")) ;;
        esac ;;
    run)
        case $cur in
        -*) COMPREPLY=($(compgen -W '--entry -e --grid -g --block -b --shared --arg -a --seed --show --json --format --output -o --help -h' -- "$cur")) ;;
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
        *) COMPREPLY=($(compgen -W 'gpus devices run completion help' -- "$cur")) ;;
        esac ;;
    *) COMPREPLY=($(compgen -W 'gpus devices run completion help --json --format --output -o --version -V --help -h' -- "$cur")) ;;
    esac
}
complete -F _fathom fathom
