# The GPUs of the stand-in driver. Escape sequences in their names are not printed.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=two
fathom devices
fathom devices --json
FATHOM_STANDIN=mig fathom devices
