# The man page and the completions in the repository are what the program generates.
fathom help --man | diff "$FATHOM_ROOT/man/fathom.1" - && echo same
fathom completion bash | diff "$FATHOM_ROOT/completions/fathom.bash" - && echo same
fathom completion zsh | diff "$FATHOM_ROOT/completions/_fathom" - && echo same
fathom completion fish | diff "$FATHOM_ROOT/completions/fathom.fish" - && echo same
