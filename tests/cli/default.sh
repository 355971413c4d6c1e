# fathom alone, where the driver has no GPU: the simulated H200 is measured, and that is said.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=none
fathom
