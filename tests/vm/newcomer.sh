#!/bin/sh
# newcomer.sh TREE COMMAND...: in namespaces of its own, makes TREE the root and runs the command there as somebody would
# who has just logged in. proc is of its own; sys and dev are this machine's.
set -eu
cd "$1"
shift
mount --make-rprivate /
mount --bind . .
cd "$PWD"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
pivot_root . mnt
cd /root/pinfold
umount -l /mnt
exec env -i HOME=/root USER=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@" </dev/null
