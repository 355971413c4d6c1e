#!/bin/sh
# Slurm epilog (Epilog= in slurm.conf, as root on each node): checks the GPUs of a job after it ended.
# A failed GPU drains the node; a suspect GPU is logged. The exit code is always 0, because Slurm
# drains a node whose epilog fails, without a reason that helps.
here=${0%/*}
# shellcheck source-path=SCRIPTDIR source=check-node.sh
. "$here/check-node.sh"

[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
check_node
case $code in
0) ;;
5) log "epilog of job ${SLURM_JOB_ID:-?}: a GPU is suspect: $report" ;;
3 | 6)
    log "epilog of job ${SLURM_JOB_ID:-?}: a GPU has failed or is missing: $report"
    drain
    ;;
*) log "epilog of job ${SLURM_JOB_ID:-?}: the check failed with exit code $code: $report" ;;
esac
exit 0
