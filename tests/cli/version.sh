fathom --version
fathom -V
