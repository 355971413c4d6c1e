# The version, with the long and the short option.
fathom --version
fathom -V
