# What the VM is made of, in a cache: a stock kernel that is never installed, and an initramfs. Sourced by vm.sh.
# Everything here can be called again: what is there is not made again, and what was begun and broken off is.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/pinfold-vm
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$TMPDIR/pinfold-vm-$(id -u)

# What the initramfs loads; modprobe adds what they depend on, in the order in which they must come.
# virtio_pci and 9p: the root; overlay: writing to it; virtio_blk and ext4: the scratch disk; virtio_console: the output;
# fuse, veth, tun: what tests and policies meet on a usual host.
modules='virtio_pci 9pnet_virtio 9p overlay virtio_blk ext4 virtio_console fuse veth tun'

unavailable() {
	say "vm: skipped: $*"
	[ "$word" != fresh ] || echo "0 passed, 0 failed, 1 skipped"
	exit 77
}

# Downloads and unpacks the kernel that Debian's metapackage names, into $cache/VERSION. Sets $kernel to that directory.
get_kernel() {
	name=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
	if [ -z "$name" ]; then # no package lists: what the cache has will do
		name=$(find "$cache" -maxdepth 1 -name 'linux-image-*' -printf '%f\n' 2>/dev/null | sort -V | tail -n 1)
	fi
	[ -n "$name" ] || unavailable "apt knows no linux-image-amd64"
	version=${name#linux-image-}
	kernel=$cache/$name
	[ ! -d "$kernel" ] || return 0
	mkdir -p "$cache"
	new=$(mktemp -d "$cache/new.XXXXXX") || exit 1
	say "vm: getting $name ..."
	if ! (cd "$new" && apt-get download "$name" >log 2>&1 && dpkg -x "$name"_*.deb tree); then
		tail -n 3 "$new/log" >&2
		rm -rf "$new"
		unavailable "$name cannot be had"
	fi
	depmod -b "$new/tree" "$version"
	rm "$new/$name"_*.deb
	mv -T "$new/tree" "$kernel" 2>/dev/null || [ -d "$kernel" ] # another was quicker
	rm -rf "$new"
}

# Writes the initramfs to the given file: a static busybox, the modules in their order, init.
make_initramfs() {
	tree=$(mktemp -d) || exit 1
	mkdir -p "$tree/bin" "$tree/dev" "$tree/proc" "$tree/sys" "$tree/modules"
	cp /bin/busybox "$tree/bin/busybox"
	ln -s busybox "$tree/bin/sh"
	install -m 755 "$here/init" "$tree/init"
	for module in $modules; do
		modprobe -d "$kernel" -S "$version" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++' | while read -r file; do
		cp "$file" "$tree/modules/"
		basename "$file" >>"$tree/modules/order"
	done
	(cd "$tree" && find . | cpio --quiet -o -H newc | gzip -1) >"$1"
	rm -rf "$tree"
}

# The host's own Debian 12 sources, one a line, wherever its apt has them from.
debian_sources() {
	apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
		grep -E ' bookworm(-[a-z]+)? ' | sort -u
}

# get_debian NAME PACKAGE...: a minimal Debian 12 with these packages, in $cache/NAME-DIGEST. Sets $debian to it. The way
# to the archive is the host's: its sources, and what it has said of proxies, dates and retries.
get_debian() {
	[ "$(id -u)" = 0 ] || unavailable "a Debian tree is made by root alone"
	sources=$(debian_sources)
	packages=$(shift; echo "$*" | tr ' ' ,)
	debian=$cache/debian-$1-$(echo "$packages" | sha256sum | cut -c 1-12)
	[ ! -d "$debian" ] || return 0
	[ -n "$sources" ] || unavailable "apt has no Debian 12 sources"
	command -v mmdebstrap >/dev/null || unavailable "mmdebstrap is not installed"
	new=$(mktemp -d "$cache/new.XXXXXX") || exit 1
	say "vm: getting a Debian 12 ($1) ..."
	apt-config dump | grep '^Acquire::' >"$new/apt.conf"
	if ! echo "$sources" | mmdebstrap --quiet --variant=minbase --aptopt="$new/apt.conf" ${packages:+--include="$packages"} \
		bookworm "$new/tree" - >"$new/log" 2>&1; then
		tail -n 5 "$new/log" >&2
		rm -rf "$new"
		unavailable "a Debian 12 cannot be had"
	fi
	mv -T "$new/tree" "$debian" 2>/dev/null || [ -d "$debian" ]
	rm -rf "$new"
}
