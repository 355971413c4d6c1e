# --verbose prints the time of each part of the measurement to standard error, in the order of execution.
fathom topo --device sim:v100 --only shared --verbose 2>&1 >/dev/null | sed 's/ *[0-9.]* ms/ N ms/'
