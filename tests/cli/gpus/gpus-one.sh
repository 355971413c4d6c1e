# The drawing of one description of the catalogue.
fathom gpus k20c
