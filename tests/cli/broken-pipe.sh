# A reader that has seen enough is no error to talk about.
fathom gpus h200 --json | head -n 1
