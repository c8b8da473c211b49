#!/bin/sh
# Holds a box whose PID 1 is systemd, which reads no pipe: ends it when our standard input ends, and gives back its cgroup.
#   unshare --mount --propagation private sh hold.sh ROOT COMMAND…
# Runs COMMAND with the path of a fresh cgroup as one more argument.
set -eu
cgroups=$1/mnt # an empty folder to mount on; nothing appears in it outside of this mount namespace
shift
mount -t cgroup2 cgroup2 "$cgroups"

# what a killed holder left behind: empty, and named after a process that is no more
for old in "$cgroups"/slurm-lab.*; do
    [ ! -d "$old" ] || [ -d "/proc/${old##*.}" ] || find "$old" -depth -type d -exec rmdir {} \; || true
done

cgroup=$cgroups/slurm-lab.$$
mkdir "$cgroup"
exec 3<&0
setpriv --pdeathsig KILL "$@" "$cgroup" </dev/null 3<&- &
command=$!
exec >/dev/null 2>&1
cat <&3
kill -KILL "$command" || true
wait "$command" || true
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    ! find "$cgroup" -depth -type d -exec rmdir {} + || break
    sleep 0.05
done
