#!/usr/bin/env bash
# Runs as root on every node when HyperPod has set Slurm up. A non-zero status fails the node.
set -euo pipefail
install -d -m 1777 /scratch
