#!/usr/bin/env bash
# Runs as root on every node instead of HyperPod's set-up: it has to configure and start Slurm itself.
set -euo pipefail
systemctl enable --now munge
if systemctl list-unit-files slurmctld.service --quiet && [ -e /opt/slurm/etc/slurm.conf ]; then
    systemctl enable --now slurmctld
else
    systemctl enable --now slurmd
fi
