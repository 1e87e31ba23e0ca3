#!/bin/sh
# The VM's first process once the host's root is its root: mounts what a machine has, runs the command of /job/.vm/command
# as /job/.vm/as says, and leaves its exit status in /job/.vm/status.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
user=1001
groups=/sys/fs/cgroup

machine() {
	mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 "$groups"
	mount -t tmpfs -o mode=755 tmpfs /run
	mkdir -p /dev/pts /dev/shm /dev/mqueue /run/lock
	mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mount -t mqueue mqueue /dev/mqueue
	ln -sf /proc/self/fd /dev/fd
	ln -sf /proc/self/fd/0 /dev/stdin
	ln -sf /proc/self/fd/1 /dev/stdout
	ln -sf /proc/self/fd/2 /dev/stderr
	echo pinfold-vm >/proc/sys/kernel/hostname
	echo '+cpu +memory +pids' >"$groups/cgroup.subtree_control"
}

# An ordinary user of the VM; the host's files are not changed, they lie under an overlay.
people() {
	getent passwd "$user" >/dev/null || echo "user:x:$user:$user::/scratch/home:/bin/sh" >>/etc/passwd
	getent group "$user" >/dev/null || echo "user:x:$user:" >>/etc/group
	install -d -o "$user" -g "$user" /scratch/home
}

# Makes a cgroup of the user's own, as systemd does with Delegate=yes, and puts this process there, alone.
delegated() {
	mine=$groups/delegated-$1
	mkdir "$mine"
	chown "$user:$user" "$mine"
	while read -r file; do
		[ ! -e "$mine/$file" ] || chown "$user:$user" "$mine/$file"
	done </sys/kernel/cgroup/delegate
	echo "$1" >"$mine/cgroup.procs"
}

# The command as root or as the user, in this process.
enter() {
	as=$1
	shift
	export TMPDIR=/scratch LC_ALL=C.UTF-8 PINFOLD_VM=1
	cd "$(cat /job/.vm/directory)" 2>/dev/null || cd /
	if [ "$as" = root ]; then
		HOME=/root exec "$@"
	fi
	delegated "$(exec sh -c 'echo $PPID')" || exit 125
	HOME=/scratch/home exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
}

# A script of the guest may ask for the user's place itself: guest.sh enter user COMMAND...
if [ "${1:-}" = enter ]; then
	shift
	enter "$@"
fi

finish() {
	echo "$1" >/job/.vm/status
	sync
	echo o >/proc/sysrq-trigger
	sleep 60
}

machine && people || finish 125
mkfifo /run/output
cat </run/output >"$(echo /dev/vport*)" & # the only one there is; its number is the kernel's affair
output=$!
(
	eval "set -- $(cat /job/.vm/command)"
	enter "$(cat /job/.vm/as)" "$@"
) </dev/null >/run/output 2>&1 &
wait $!
status=$?
# What the command left running may hold the pipe, so its end is not waited for without a limit.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -d "/proc/$output" ] || break
	sleep 0.2
done
finish "$status"
