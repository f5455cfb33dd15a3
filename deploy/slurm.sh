#!/bin/sh
# A Slurm array of workers, one per GPU: sbatch --array=1-8 deploy/slurm.sh
# SERVER and CREDS come from the environment (sbatch --export=ALL,SERVER=tls://head:4222,CREDS=$HOME/worker.creds).
#SBATCH --job-name=vidfilter
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=16
#SBATCH --mem=16G
#SBATCH --time=12:00:00
#SBATCH --requeue
# B: signals the script itself, that is vidfilter after exec, which then returns its part at once.
#SBATCH --signal=B:TERM@60
: "${SERVER:?the address of vidfilter serve}" "${CREDS:?the file worker.creds}"
exec vidfilter worker --server "$SERVER" --creds "$CREDS" --jobs 2 --work "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"
