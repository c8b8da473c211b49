#!/bin/sh
# First process of a box's namespaces: builds a private file system over a read-only root, then becomes PID 1.
#   enter.sh ROOT HOSTNAME wait             reap orphans until standard input ends
#   enter.sh ROOT HOSTNAME systemd CGROUP   CGROUP: a folder of a cgroup2 file system for systemd to own
# ROOT is never written: an overlay takes all changes into a tmpfs that dies with the namespace.
# Prints its process id, as the outside numbers it, when everything is in place.
set -eu
root=$1 hostname=$2 init=$3 cgroup=${4:-}
scratch=$root/mnt # an empty folder to mount on; nothing appears in it outside of this mount namespace

# /proc is still the outside's, so this is the outside's number of this very process
read -r outside_pid _ </proc/self/stat

if [ -n "$cgroup" ]; then
    # alone in there, because a cgroup with processes of its own can't hand controllers down
    echo 0 >"$cgroup/cgroup.procs"
    exec unshare --cgroup sh "$0" "$root" "$hostname" "$init"
fi

mount -t tmpfs -o mode=755 tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/root"
new=$scratch/root

mount -t proc proc "$new/proc"
# the kernel's settings are the whole machine's
mount --bind "$new/proc/sys" "$new/proc/sys"
mount -o remount,bind,ro "$new/proc/sys"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$new/sys"
mount -t tmpfs -o mode=755,nosuid tmpfs "$new/dev"
for device in null zero full random urandom tty; do
    : >"$new/dev/$device"
    mount --bind "/dev/$device" "$new/dev/$device"
done
mkdir "$new/dev/pts" "$new/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$new/dev/pts"
ln -s pts/ptmx "$new/dev/ptmx"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$new/dev/shm"
ln -s /proc/self/fd "$new/dev/fd"
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$new/run"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$new/tmp"

hostname "$hostname"
echo "$hostname" >"$new/etc/hostname"
# without its own name in /etc/hosts every Slurm command waits seconds for DNS; an empty resolv.conf fails at once
printf '127.0.0.1 localhost\n10.0.0.1 %s\n' "$hostname" >"$new/etc/hosts"
rm -f "$new/etc/resolv.conf"
: >"$new/etc/resolv.conf"

chroot "$new" ip link set lo up
# one address that isn't 127.*: getaddrinfo(AI_ADDRCONFIG), which slurmctld listens by, doesn't count those
chroot "$new" ip address add 10.0.0.1/32 dev lo
# every address of 10.0.0.0/8 is this machine (AnyIP), so a node can have the address that HyperPod would give it;
# without `src` the kernel would call from the address it calls, and srun wouldn't know its caller
chroot "$new" ip route add local 10.0.0.0/8 dev lo src 10.0.0.1

# systemd starts its journal and what a test starts, nothing that is for a machine
systemd_units() {
    units=$new/etc/systemd/system
    rm -rf "$units"/*.wants
    for unit in "$new"/usr/lib/systemd/system/*.wants/*; do
        case ${unit##*/} in
        systemd-journal* | systemd-tmpfiles-setup.service | *.target | *.slice) ;;
        *) ln -sf /dev/null "$units/${unit##*/}" ;;
        esac
    done
    ln -sf /usr/lib/systemd/system/multi-user.target "$units/default.target"
    echo 5eedf00d5eedf00d5eedf00d5eedf00d >"$new/etc/machine-id"
}
if [ "$init" = systemd ]; then
    # never go on without: systemd would mount the outside's version 1 hierarchies instead
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$new/sys/fs/cgroup"
    systemd_units
fi

cd "$new"
mkdir .outside
pivot_root . .outside
# the outside's umount, with the outside as its root: a Debian root needn't have one
chroot /.outside umount -l /
rmdir /.outside

echo "$outside_pid"
case $init in
wait)
    # with SIGCHLD ignored the kernel itself reaps the orphans that PID 1 adopts
    exec env --ignore-signal=CHLD cat >/dev/null
    ;;
systemd)
    exec env -i container=slurm-lab PATH=/usr/sbin:/usr/bin LANG=C.UTF-8 \
        /lib/systemd/systemd --system --show-status=no --log-target=journal-or-kmsg </dev/null >/dev/null 2>&1
    ;;
esac
