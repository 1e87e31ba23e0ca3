# What a newcomer meets: a minimal Debian 12 on which nothing was ever installed, a clean copy of the last commit, and the
# README's two commands. A machine of its own would add nothing, so it is a root of its own on this kernel; not by chroot,
# in which the kernel forbids user namespaces. Sourced by vm.sh.

# Makes the tree of this run, from which nothing is left: the cached one, the copy of the sources, the way to the archive.
prepare_fresh() {
	fresh=$(mktemp -d "$TMPDIR/pinfold-fresh.XXXXXX") || exit 1
	trap 'rm -rf --one-file-system "$fresh"' EXIT
	trap 'exit 130' INT TERM
	cp -a "$debian/." "$fresh/"
	chmod 755 "$fresh"
	git clone --quiet --no-hardlinks "$top" "$fresh/root/pinfold"
	rm -rf "$fresh/etc/apt/sources.list.d"
	debian_sources >"$fresh/etc/apt/sources.list"
	apt-config dump | grep '^Acquire::' >"$fresh/etc/apt/apt.conf.d/99mmdebstrap"
	cp -L /etc/resolv.conf /etc/hosts "$fresh/etc/"
}

# KILL, since unshare keeps the other signals from itself; its child ends with it, and as the first process takes all along.
in_fresh() {
	timeout --foreground --signal=KILL "$seconds" unshare --mount --pid --fork --kill-child /bin/sh "$here/newcomer.sh" "$fresh" "$@"
}

# A line like those of meson's testlog.json.
told() {
	printf '{"name": "fresh-%s", "result": "%s", "returncode": %d}\n' "$1" "$([ "$2" = 0 ] && echo OK || echo FAIL)" "$2"
}

# The log of what was run goes to $1; the suites' own lines are in it.
run_fresh() {
	get_debian fresh
	prepare_fresh
	: >"$1"
	for word in demo test; do
		status=0
		in_fresh "./dev" "$word" || status=$?
		told "$word" "$status" >>"$1"
	done
	suites=$fresh/root/pinfold/build/meson-logs/testlog.json
	if [ -f "$suites" ]; then cat "$suites" >>"$1"; else told suites 1 >>"$1"; fi # a success without its log is none
	cp "$1" "$cache/fresh-testlog.json" # what failed says more than its name there
	rm -rf --one-file-system "$fresh"
	trap - EXIT
	python3 "$top/tests/count.py" "$1"
}
