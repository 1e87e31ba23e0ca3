#!/bin/sh
# run.sh root|user PROGRAM LIBRARY [ARGUMENT...] - runs a program of this folder as root, or as an ordinary user from a
# copy that he can read: where root builds, he may not enter the build directory.
set -eu
who=$1 program=$2 library=$3
shift 3

if [ "$who" = root ]; then
	[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP not started by root"; exit 0; }
	exec "$program" "$@"
fi
[ "$(id -u)" = 0 ] || exec "$program" "$@"
stage=$(mktemp -d /tmp/pinfold-library-XXXXXX)
trap 'rm -rf "$stage"' EXIT
cp "$program" "$stage/program"
cp "$library" "$stage/libpinfold.so.0"
chmod -R a+rX "$stage"
mkdir -m 1777 "$stage/tmp"
setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$stage/tmp" TMPDIR="$stage/tmp" LD_LIBRARY_PATH="$stage" \
	"$stage/program" "$@"
left=$(ls -A "$stage/tmp")
[ -z "$left" ] || { echo "# left behind: $left"; exit 1; }
