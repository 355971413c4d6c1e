#!/bin/sh
# Slurm prolog (Prolog= in slurm.conf, as root on each node): checks the GPUs of the job before it starts.
# A failed or missing GPU drains the node, and the exit code 1 makes Slurm put the job back into the
# queue. A suspect GPU is logged, and the job starts. The job also starts if the check itself is not
# possible: a missing reference must not stop the cluster.
here=${0%/*}
# shellcheck source-path=SCRIPTDIR source=check-node.sh
. "$here/check-node.sh"

# A job without GPUs needs no check.
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
check_node
case $code in
0) ;;
5) log "prolog of job ${SLURM_JOB_ID:-?}: a GPU is suspect: $report" ;;
3 | 6)
    log "prolog of job ${SLURM_JOB_ID:-?}: a GPU has failed or is missing: $report"
    drain
    exit 1
    ;;
*) log "prolog of job ${SLURM_JOB_ID:-?}: the check failed with exit code $code: $report" ;;
esac
exit 0
