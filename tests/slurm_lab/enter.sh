#!/bin/sh
# First process of a box's namespaces: builds a private file system over a read-only root, then becomes PID 1.
#   enter.sh ROOT SCRATCH HOSTNAME INIT
# ROOT is never written: an overlay takes all changes into a tmpfs that dies with the namespace.
# SCRATCH is an empty folder to mount on; nothing appears in it outside of this mount namespace.
# INIT is `wait` (reap orphans until standard input ends) or `systemd`.
# Prints its process id as the outside knows it, once everything is in place.
set -eu
root=$1 scratch=$2 hostname=$3 init=$4

# /proc is still the outside's, so this is the outside's number of this very process
read -r outside_pid _ </proc/self/stat

mount -t tmpfs -o mode=755 tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/root"
new=$scratch/root

mount -t proc proc "$new/proc"
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

ip link set lo up
# every address of 10.0.0.0/8 is this machine (AnyIP), so a node can have the address that HyperPod would give it
ip route add local 10.0.0.0/8 dev lo
# one address that isn't 127.*: getaddrinfo(AI_ADDRCONFIG), which slurmctld listens by, doesn't count those
ip address add 10.0.0.1/32 dev lo

cd "$new"
mkdir .outside
pivot_root . .outside
# the outside's umount, with the outside as its root: a Debian root needn't have one
chroot /.outside umount -l /
rmdir /.outside

case $init in
wait)
    echo "$outside_pid"
    # with SIGCHLD ignored the kernel itself reaps the orphans that PID 1 adopts
    exec env --ignore-signal=CHLD cat >/dev/null
    ;;
systemd)
    echo "$outside_pid"
    exec env -i container=slurm-lab PATH=/usr/sbin:/usr/bin LANG=C.UTF-8 \
        /lib/systemd/systemd --system --show-status=no --log-target=journal-or-kmsg </dev/null >/dev/null 2>&1
    ;;
esac
