# No escape sequences where stdout is no terminal.
fathom gpus h200 | grep -c "$(printf '\033')"
