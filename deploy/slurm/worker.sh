#!/bin/sh
# One worker as a batch job of Slurm; `locus provisioner --engine slurm` submits it (README.md). Never a job a trial: the
# server orders the trials, and a job's start costs more than many of them.
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --time=24:00:00
#SBATCH --no-requeue
#SBATCH --output=/tmp/locus-%j.log
#
# From the provisioner: LOCUS_SERVER, LOCUS_POOL; of a server that asks who calls LOCUS_ENROLL and LOCUS_WORKER_NAME, too. From whoever starts that, all optional: LOCUS_IDLE (15m), after which a worker
# without work ends its job; LOCUS_WORK, a folder on the node's own disk; LOCUS_WORKER_OPTIONS, such as "--device cuda".
set -u
# Slurm before 23.02 does not tell a job when it ends; the worker drains in time if it knows.
if [ -z "${SLURM_JOB_END_TIME:-}" ]; then
  end=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e) && SLURM_JOB_END_TIME=$(date -d "$end" +%s) &&
    export SLURM_JOB_END_TIME
fi
work=${LOCUS_WORK:-${TMPDIR:-/tmp}}/locus-$SLURM_JOB_ID
if [ -z "${LOCUS_ENROLL:-}" ]; then
  set -- --server "$LOCUS_SERVER" --name "$LOCUS_POOL-$SLURM_JOB_ID"
elif [ -e "$work/tls/enrollment.json" ]; then
  # Requeued on the same node: an invitation is good once, and what it brought is still here.
  unset LOCUS_ENROLL LOCUS_SERVER
else
  # With an invitation the name is that of its certificate.
  set -- --server "$LOCUS_SERVER" --name "$LOCUS_WORKER_NAME"
fi
# As a step: on pre-emption that is sent SIGTERM at once, the batch shell only when the grace time is over.
# LOCUS_WORKER_OPTIONS is a list of words.
srun --ntasks=1 locus worker "$@" --work "$work" --exit-when-idle "${LOCUS_IDLE:-15m}" ${LOCUS_WORKER_OPTIONS:-}
status=$?
# What it could not deliver stays in attempts/ for a worker that takes the folder up.
if rmdir "$work/attempts" 2>/dev/null; then rm -rf "$work"; fi
exit $status
