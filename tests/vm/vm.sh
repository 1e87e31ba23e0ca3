#!/bin/sh
# A machine with cgroup v2 and a stock kernel, under software emulation (KVM is never asked for: where its node exists it
# may not work). The host's root is the VM's, read-only under an overlay in memory: what is built here runs there.
# Called by ./dev vm, which installs the packages. Exit status 77: it cannot be had here, and stderr says why.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
PATH=${PATH:-/usr/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
TMPDIR=${TMPDIR:-/tmp}
HOME=${HOME:-/root}
seconds=${PINFOLD_VM_SECONDS:-3000} # after which a VM that does not end is ended
memory=${PINFOLD_VM_MEMORY:-3G}

say() {
	printf '%s\n' "$*" >&2
}

. "$here/image.sh"

list() {
	cat <<USAGE
usage: ./dev vm run [--user] -- COMMAND  run a command there as root, or as user 1001 in a cgroup of his own
The command sees the host's files (changes are lost), /scratch (ext4, also TMPDIR), and /job (the host's \$PINFOLD_VM_JOB
where that is set, writable). Its output and exit status are passed on.
USAGE
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

run() {
	as=root
	while :; do
		case ${1:-} in
		--user) as=user ;;
		--) shift; break ;;
		*) list >&2; exit 2 ;;
		esac
		shift
	done
	make_job
	quoted "$@" >"$job/.vm/command"
	echo "$as" >"$job/.vm/as"
	pwd -P >"$job/.vm/directory"
	install -m 755 "$here/guest.sh" "$job/.vm/guest.sh"
	make_initramfs "$job/.vm/initramfs"
	boot host /job/.vm/guest.sh
}

for program in qemu-system-x86_64 busybox cpio depmod mke2fs; do
	command -v "$program" >/dev/null || unavailable "$program is not installed"
done
more=
word=${1:-}
[ -z "$word" ] || shift
case $word in
run) get_kernel; run "$@" ;;
*)
	list >&2
	exit 2
	;;
esac
