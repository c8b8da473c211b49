#!/bin/bash
# HyperPod runs this on every node when it has set up Slurm (`OnInitComplete`), from a copy of the lifecycle prefix under /tmp.
# On a controller it installs the topology agent, which then waits for Slurm in the background; on other nodes it does nothing.
# The exit status is that of your own script (the bundle's extension), if there is one, or 1 when the copy isn't whole and so nobody
# knows: the agent never fails a node.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
log=${SLURM_TOPOLOGY_INSTALL_LOG:-/var/log/slurm-topology-install.log}

say() { printf '%s slurm-topology: %s\n' "$(date -u +%FT%TZ)" "$*" | tee -a "$log" 2>/dev/null; }

# The manifest has a line for each name, in JSON; a node may lack a Python that could read it. Names are as they are but for \" and \\.
manifest() { LC_ALL=C sed -n "$1" "$here/manifest.json" | sed 's/\\\(["\\]\)/\1/g'; }

# The copy is whole: the manifest to its last line, and each of your files as it was when the bundle was made. A node that was set up by
# half of your scripts, or by none, would look like one that is ready. Files with a control character in their name are left out.
whole() {
    local line file
    if ! grep -qs '^ *"extension_script": ' "$here/manifest.json" || [ "$(tail -n 1 "$here/manifest.json")" != "}" ]; then
        say "the copy of the lifecycle prefix in $here isn't whole: manifest.json is missing or cut off"
        return 1
    fi
    while IFS= read -r line; do
        file=${line#* }
        if [ "$(sha256sum 2>/dev/null <"$here/$file")" != "${line%% *}  -" ]; then
            say "the copy of the lifecycle prefix in $here isn't whole: $file is missing, or has not the SHA-256 of manifest.json"
            return 1
        fi
    done < <(manifest 'h; s/\\["\\]//g; /\\/d; g; s/^ *"\(extension\/.*\)": "\([0-9a-f]\{64\}\)",\{0,1\}$/\2 \1/p')
}

extension() {
    local script
    whole || return 1
    script=$(manifest 's/^ *"extension_script": "\(.*\)",\{0,1\}$/\1/p')
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
