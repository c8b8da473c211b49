#!/bin/bash
# For teams with their own OnCreate scripts: HyperPod runs this on every node before anything is set up, and your own script (the
# bundle's extension) does it all, starting Slurm included. Then the same as on_init_complete.sh.
set -u
exec bash "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/on_init_complete.sh"
