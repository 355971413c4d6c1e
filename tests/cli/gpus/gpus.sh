# The list of the descriptions in the catalogue.
fathom gpus
