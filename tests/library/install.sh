#!/bin/sh
# install.sh BUILD CONSUMER CC [CXX] - an installation is complete: the header and the .pc file are all that a program needs
# to use the library, and what is installed runs from where it lies, without LD_LIBRARY_PATH and ldconfig.
set -eu
build=$1 consumer=$2 cc=$3 cxx=${4:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
n=0 status=0

tell() {
	n=$((n + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		head -n 20 "$work/log" | sed 's/^/# /'
		status=1
	fi
}

meson install -C "$build" --no-rebuild --quiet --destdir "$work/installed" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mkdir "$work/elsewhere"
header=$(find "$work/installed" -name pinfold.h)
# Where the prefix is, is found by what was installed; then all of it is moved to another one.
prefix=$(dirname "$(dirname "$header")")
mv "$prefix" "$work/elsewhere/prefix"
prefix=$work/elsewhere/prefix
library=$(dirname "$(find "$prefix" -name libpinfold.so)")
PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
flags() {
	pkg-config --define-variable=prefix="$prefix" "$@" pinfold
}

name='the header stands alone in C99, pedantic'
tell $cc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c "$prefix/include/pinfold.h"
if [ -n "$cxx" ]; then
	name='the header stands alone in C++'
	tell $cxx -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ "$prefix/include/pinfold.h"
fi
name='a program is compiled by what the .pc file says'
tell $cc -std=c99 -Wall -Wextra -Werror "$consumer" -o "$work/consumer" $(flags --cflags --libs) -Wl,-rpath,"$library"
name='it runs'
tell "$work/consumer" /bin/true
name='its exit status is the command'"'"'s'
tell sh -c '"$1" /bin/sh -c "exit 7"; [ $? = 7 ]' sh "$work/consumer"
if [ -f "$library/libpinfold.a" ]; then
	name='a program is linked with the static library by what the .pc file says'
	tell $cc -std=c99 "$consumer" -o "$work/static" $(flags --cflags) "$library/libpinfold.a" \
		$(flags --static --libs | sed 's/-lpinfold\( \|$\)/ /')
	name='it runs, static'
	tell "$work/static" /bin/true
fi
name='the installed command runs from another prefix, with nothing in its environment'
tell env -i "$prefix/bin/pinfold" run /bin/true
name='the installed command needs no shared library of ours'
tell sh -c '! readelf -d "$1" | grep -q "NEEDED.*pinfold"' sh "$prefix/bin/pinfold"
name='nothing installed looks for libraries in the build directory'
tell sh -c '! readelf -d "$2/bin/pinfold" "$3"/libpinfold.so | grep PATH | grep -F -- "$1"' sh "$build" "$prefix" "$library"
echo "1..$n"
exit "$status"
