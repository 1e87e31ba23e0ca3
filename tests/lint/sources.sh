#!/bin/sh
# sources.sh ROOT - holds every source file below ROOT to the rules of layers.awk and text.awk.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

folders=
for folder in base ns cgroup seccomp include runtime profiles tests docs; do
	[ ! -d "$folder" ] || folders="$folders $folder"
done
# No name in this tree has a blank in it: that is checked first, so that lists of names are safe below.
# shellcheck disable=SC2086
find $folders -name '*[[:space:]]*' > "$work/blank"
if [ -s "$work/blank" ]; then
	echo "names with blanks in them:"
	cat "$work/blank"
	exit 1
fi
# shellcheck disable=SC2086
find $folders -type f \( -name '*.c' -o -name '*.h' \) | sort > "$work/code"
grep '\.h$' "$work/code" > "$work/headers" || :
# Golden files are what programs print and stay as they are.
# shellcheck disable=SC2086
find $folders -path tests/golden -prune -o -type f \( -name '*.[ch]' -o -name '*.py' -o -name '*.sh' -o -name '*.awk' \
	-o -name '*.build' -o -name '*.md' -o -name '*.json' -o -name '*.jsonc' -o -name '*.map' \) -print | sort > "$work/text"
for file in meson.build meson_options.txt README.md dev .ci/run; do
	[ ! -f "$file" ] || echo "$file" >> "$work/text"
done
[ -s "$work/code" ] || { echo "no source below $1"; exit 1; }

status=0
xargs awk -f "$here/layers.awk" "$here/layers.txt" "$work/headers" < "$work/code" || status=1
xargs awk -f "$here/text.awk" < "$work/text" || status=1
exit "$status"
