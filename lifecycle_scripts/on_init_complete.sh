#!/bin/bash
# HyperPod runs this on every node when it has set up Slurm (`OnInitComplete`), from a copy of the lifecycle prefix under /tmp.
# On a controller it installs the topology agent, which then waits for Slurm in the background; on other nodes it does nothing.
# The exit status is that of your own script (the bundle's extension), if there is one: the agent never fails a node.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 0
log=${SLURM_TOPOLOGY_INSTALL_LOG:-/var/log/slurm-topology-install.log}

say() { printf '%s slurm-topology: %s\n' "$(date -u +%FT%TZ)" "$*" | tee -a "$log" 2>/dev/null; }

extension() {
    [ -f "$here/manifest.json" ] || return 0
    local script
    script=$(sed -n 's/^ *"extension_script": *"\(.*\)",\{0,1\}$/\1/p' "$here/manifest.json")
    [ -n "$script" ] || return 0
    say "running your own $script"
    (cd "$here/extension" && bash "./$script")
}

# A Python that the agent can be run by: new enough, and not in a folder that its hardened unit doesn't see.
usable='
import os, sys
places = [os.path.realpath(each) + "/" for each in (sys.executable, sys.base_prefix)]
hidden = ("/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/")
sys.exit(sys.version_info < (3, 10) or any(place.startswith(hidden) for place in places))
'

agent() {
    local python
    for python in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        "$python" -c "$usable" 2>/dev/null && break
        python=
    done
    if [ -z "$python" ]; then
        say "no Python 3.10 or newer that the agent's unit could run: the agent is not installed"
        return 0
    fi
    PYTHONPATH="$here/agent.zip" PYTHONDONTWRITEBYTECODE=1 timeout 120 \
        "$python" -s -m slurm_topology install --bundle "$here" --if-controller </dev/null >>"$log" 2>&1 ||
        say "the agent could not be installed (status $?), the node goes on without it: see $log"
}

extension
status=$?
agent
exit "$status"
