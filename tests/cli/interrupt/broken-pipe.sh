# If the reader closes the pipe early, fathom prints no error.
fathom gpus h200 --json | head -n 1
