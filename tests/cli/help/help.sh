# Help texts; `fathom help COMMAND` and `fathom COMMAND --help` are the same.
fathom --help
fathom help | cmp - "$(fathom --help >h; echo h)"
fathom help gpus
fathom gpus --help | cmp - "$(fathom help gpus >h; echo h)"
fathom help topo
fathom help dissect
fathom help devices
fathom help fingerprint
fathom help completion
fathom help help
