# How long each part took, on stderr; the order of the parts is that of the measuring.
fathom topo --device sim:v100 --only shared --verbose 2>&1 >/dev/null | sed 's/ *[0-9.]* ms/ N ms/'
