# fathom without arguments, on a system without a GPU: it measures the simulated H200 and says so.
# Skipped under sanitizers.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=none
fathom
