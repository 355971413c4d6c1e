# Measures GPUs of this node and judges them against the reference of the fleet. Sourced by prolog.sh
# and epilog.sh. Settings, from the environment or from /etc/fathom/fleet.conf:
#
#   FATHOM            the program (default: fathom, in PATH or /opt/fathom/bin)
#   FATHOM_REFERENCE  the reference of the fleet (default: /etc/fathom/fleet.ref.json)
#   FATHOM_LOG        folder for descriptions of the measured GPUs (default: none are kept)
#   FATHOM_TIMEOUT    seconds after which the check is ended, 10 seconds later by force (default: 60)
#   FATHOM_GPUS       number of GPUs that the job must have (default: as many as in SLURM_JOB_GPUS)
# shellcheck shell=sh disable=SC2034

# Slurm runs prologs and epilogs without a search path.
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/fathom/bin:/opt/slurm/bin
export PATH

settings=${FATHOM_SETTINGS:-/etc/fathom/fleet.conf}
if [ -r "$settings" ]; then
    # shellcheck source=/dev/null
    . "$settings"
fi

# Slurm names the GPUs of a job as 0,1 in SLURM_JOB_GPUS, in the order of the PCI bus. Other GPUs may be in use by other jobs, and
# a GPU in use measures as a slow one.
if [ -n "${SLURM_JOB_GPUS:-}" ]; then
    export CUDA_VISIBLE_DEVICES="$SLURM_JOB_GPUS" CUDA_DEVICE_ORDER=PCI_BUS_ID
    # A GPU that the driver has lost is not measured, and would not be noticed.
    : "${FATHOM_GPUS:=$(printf '%s\n' "$SLURM_JOB_GPUS" | tr ',' '\n' | grep -c .)}"
fi

# Prints the result, and sets `code` (exit code of 'fathom fleet check') and `report` (its output).
check_node()
{
    set -- --reference "${FATHOM_REFERENCE:-/etc/fathom/fleet.ref.json}" --quiet
    if [ -n "${FATHOM_GPUS:-}" ]; then
        set -- "$@" --expect-gpus "$FATHOM_GPUS"
    fi
    if [ -n "${FATHOM_LOG:-}" ]; then
        set -- "$@" --save "$FATHOM_LOG/%h-%g-$(date -u +%Y%m%dT%H%M%SZ).json"
    fi
    report=$(timeout -k 10 "${FATHOM_TIMEOUT:-60}" "${FATHOM:-fathom}" fleet check "$@" 2>&1)
    code=$?
    printf '%s\n' "$report"
}

# Writes a line to the system's log.
log()
{
    logger -t fathom -- "$1"
}

# Drains the node: Slurm starts no further job on it. The reason names the first finding.
drain()
{
    reason=$(printf '%s\n' "$report" | grep -m 1 -A 1 ': failed$' | tr -s ' \n' ' ' | cut -c 1-150 | sed 's, *$,,')
    scontrol update "NodeName=${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN \
        "Reason=fathom: ${reason:-a GPU has failed or is missing}"
}
