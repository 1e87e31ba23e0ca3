#!/bin/sh
# What runs in the VM: the command of /job/.vm/command, as /job/.vm/as says; its exit status goes to /job/.vm/status.
#
#   guest.sh               as the first process: mounts what a machine has, then root, or the user in a cgroup of his own
#   guest.sh systemd       as a service of systemd, which has seen to all that
#   guest.sh enter WHO COMMAND...   for scripts of the guest: the place that WHO has on the first of the two machines
#   guest.sh session WHO FILE       the same on the second, for the command in the file: a session of root's or the
#                                   user's; with "bare" the user outside any session of his, who is told of no manager
#                                   of his own; with "service" root in the service itself
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
user=1001
groups=/sys/fs/cgroup
vm=/job/.vm

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
	ulimit -Hn 524288 # as systemd has it; the kernel's own bound is lower than many hosts'
	ulimit -Sn 1024
}

# Makes a cgroup of the user's own, as systemd does with Delegate=yes, and puts the process there, alone.
delegated() {
	mine=$groups/delegated-$1
	mkdir "$mine"
	chown "$user:$user" "$mine"
	while read -r file; do
		[ ! -e "$mine/$file" ] || chown "$user:$user" "$mine/$file"
	done </sys/kernel/cgroup/delegate
	echo "$1" >"$mine/cgroup.procs"
}

surroundings() {
	export TMPDIR=/scratch LC_ALL=C.UTF-8 PINFOLD_VM=1
	cd "$(cat "$vm/directory")" 2>/dev/null || cd /
}

enter() {
	as=$1
	shift
	surroundings
	if [ "$as" = root ]; then
		HOME=/root exec "$@"
	fi
	delegated "$(exec sh -c 'echo $PPID')" || exit 125
	HOME=/scratch/home exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
}

# su opens a session with logind, with all that belongs to it. It forgets what was exported, so this file is run again.
enter_session() {
	case $1 in
	root | user) exec su -l "$1" -c "$vm/guest.sh command $2" ;;
	bare) exec setpriv --reuid="$user" --regid="$user" --init-groups env -i HOME=/scratch/home USER=user "$vm/guest.sh" command "$2" ;;
	service) exec "$vm/guest.sh" command "$2" ;;
	esac
}

# perform FUNCTION ARGUMENT...: with the host as its output, and to the end of the machine.
perform() {
	mkfifo /run/vm-output
	cat </run/vm-output >"$(echo /dev/vport*)" & # the only one there is; its number is the kernel's affair
	output=$!
	("$@") </dev/null >/run/vm-output 2>&1 &
	wait $!
	status=$?
	# What the command left running may hold the pipe, so its end is not waited for without a limit.
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -d "/proc/$output" ] || break
		sleep 0.2
	done
	finish "$status"
}

finish() {
	echo "$1" >"$vm/status"
	sync
	echo o >/proc/sysrq-trigger
	sleep 60
}

case ${1:-} in
'')
	machine || finish 125
	eval "perform enter \"\$(cat "$vm/as")\" $(cat "$vm/command")"
	;;
systemd) perform enter_session "$(cat "$vm/as")" "$vm/command" ;;
command)
	surroundings
	eval "exec $(cat "$2")"
	;;
session) enter_session "$2" "$3" ;;
enter)
	shift
	enter "$@"
	;;
esac
