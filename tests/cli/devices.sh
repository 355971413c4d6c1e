# The GPUs that the driver has, from a stand-in for it. A name cannot steer the terminal.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=two
fathom devices
fathom devices --json
FATHOM_STANDIN=mig fathom devices
