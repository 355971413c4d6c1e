# fathom alone draws the default GPU and says that nothing was measured.
fathom
