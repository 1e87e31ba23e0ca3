#!/bin/sh
# A machine with cgroup v2 and a stock kernel, under software emulation (KVM is never asked for: where its node exists it
# may not work). The host's root is the VM's, read-only under an overlay in memory: what is built here runs there.
# Called by ./dev vm, which installs the packages. Exit status 77: it cannot be had here, and stderr says why.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
top=$(CDPATH='' cd -- "$here/../.." && pwd -P)
PATH=${PATH:-/usr/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
TMPDIR=${TMPDIR:-/tmp}
HOME=${HOME:-/root}
seconds=${PINFOLD_VM_SECONDS:-3000} # after which a VM that does not end is ended
memory=${PINFOLD_VM_MEMORY:-3G}

say() {
	printf '%s\n' "$*" >&2
}

. "$here/image.sh"
. "$here/fresh.sh"

usage() {
	cat >&2 <<USAGE
usage: ./dev vm                       every suite; the last line is the count
       ./dev vm suites [SUITE...] [-- PATTERN...]   some of them (escape-user, systemd-root, ...), some of their cases
       ./dev vm fresh                what the README tells a newcomer to do, on a Debian 12 with nothing installed
       ./dev vm run [--user] -- COMMAND  as root, or as user 1001 in a cgroup of his own
       ./dev vm systemd [--root|--bare|--service] -- COMMAND
                                      with systemd: in a session of user 1001's, of root's, as the user without a session
                                      and without XDG_RUNTIME_DIR (bare), or as root in a service of the system
The command sees the host's files (with systemd its /tmp, and the rest below /host; changes are lost), /scratch (ext4,
also TMPDIR), and /job (the host's \$PINFOLD_VM_JOB where that is set, writable). Its output and status are passed on.
USAGE
	exit 2
}

quoted() {
	for word; do
		printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
	done
}

# boot ROOT INIT [CMDLINE]: boots with the given tag's share as root and waits for the end; the job's status is its own.
boot() {
	truncate -s 6G "$job/.vm/scratch"
	mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1 "$job/.vm/scratch"
	set -- "$1" "$2" "${3:-}"
	timeout --foreground "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m "$memory" \
		-nodefaults -no-user-config -display none -no-reboot -nic none \
		-kernel "$kernel/boot/vmlinuz-$version" -initrd "$job/.vm/initramfs" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off pinfold.root=$1 pinfold.init=$2 $3" \
		-serial "file:$job/.vm/console" \
		-drive "file=$job/.vm/scratch,if=none,id=scratch,format=raw,cache=unsafe" -device virtio-blk-pci,drive=scratch \
		-device virtio-serial-pci -chardev file,id=output,path=/dev/stdout -device virtserialport,chardev=output,name=output \
		-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=host,mount_tag=host \
		-fsdev "local,id=job,path=$job,security_model=none,multidevs=remap" \
		-device virtio-9p-pci,fsdev=job,mount_tag=job $more </dev/null 2>"$job/.vm/qemu" | cat || true
	[ -s "$job/.vm/status" ] && return "$(cat "$job/.vm/status")"
	say "vm: it ended without a status:"
	tail -n 20 "$job/.vm/console" "$job/.vm/qemu" >&2
	return 125
}

# The directory that the VM and the host share: the caller's, or one for this boot. What is the VM's own lies in .vm.
make_job() {
	job=${PINFOLD_VM_JOB:-}
	made=
	[ -n "$job" ] || { made=$(mktemp -d "$TMPDIR/pinfold-vm.XXXXXX"); job=$made; }
	job=$(CDPATH='' cd -- "$job" && pwd -P)
	rm -rf "$job/.vm"
	mkdir "$job/.vm"
	chmod 755 "$job" "$job/.vm"
	trap 'rm -rf "$job/.vm" ${made:+"$made"}' EXIT
	trap 'exit 130' INT TERM
}

# prepare COMMAND...: what the guest is told.
prepare() {
	make_job
	quoted "$@" >"$job/.vm/command"
	echo "$as" >"$job/.vm/as"
	pwd -P >"$job/.vm/directory"
	install -m 755 "$here/guest.sh" "$job/.vm/guest.sh"
	make_initramfs "$job/.vm/initramfs"
}

run() {
	get_kernel
	prepare "$@"
	boot host /job/.vm/guest.sh
}

# What only costs time under emulation is left out: consoles, devices' events, clocks from the network, the archive's timers.
unwanted='getty.target systemd-udevd.service systemd-udev-trigger.service systemd-timesyncd.service apt-daily.timer
	apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer e2scrub_reap.service systemd-pcrphase.service'

run_systemd() {
	get_kernel
	get_debian systemd systemd systemd-sysv dbus dbus-user-session libpam-systemd procps python3-minimal libpython3-stdlib
	prepare "$@"
	units=$job/.vm/etc/systemd/system
	mkdir -p "$units/multi-user.target.wants" "$job/.vm/etc/tmpfiles.d"
	for unit in $unwanted; do
		ln -s /dev/null "$units/$unit"
	done
	cp "$here/systemd/pinfold-vm.service" "$units/"
	ln -s ../pinfold-vm.service "$units/multi-user.target.wants/"
	ln -s /dev/null "$job/.vm/etc/tmpfiles.d/tmp.conf" # /tmp shows the host's and is not emptied
	more="-fsdev local,id=debian,path=$debian,security_model=none,readonly=on,multidevs=remap
		-device virtio-9p-pci,fsdev=debian,mount_tag=debian"
	boot debian /lib/systemd/systemd "systemd.unified_cgroup_hierarchy=1 systemd.show_status=no"
}

more=
word=${1:-}
if [ "$word" = fresh ]; then
	log=$(mktemp)
	status=0
	run_fresh "$log" || status=$?
	rm -f "$log"
	exit "$status"
fi
for program in qemu-system-x86_64 busybox cpio depmod mke2fs; do
	command -v "$program" >/dev/null || unavailable "$program is not installed"
done
case $word in
run) places='root user' ;;
systemd) places='user root bare service' ;;
*) usage ;;
esac
shift
as=${places%% *} # unless an option names another
while [ $# != 0 ] && [ "$1" != -- ]; do
	case " $places " in
	*" ${1#--} "*) as=${1#--} ;;
	*) usage ;;
	esac
	shift
done
[ $# -gt 1 ] || usage
shift
if [ "$word" = run ]; then run "$@"; else run_systemd "$@"; fi
