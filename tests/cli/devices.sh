# The GPUs that the driver has, from a stand-in for it. A name cannot steer the terminal.
LD_LIBRARY_PATH=$FATHOM_STANDINS/new fathom devices
LD_LIBRARY_PATH=$FATHOM_STANDINS/new fathom devices --json
