# There are no escape sequences if standard output is not a terminal.
fathom gpus h200 | grep -c "$(printf '\033')"
