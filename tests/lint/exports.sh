#!/bin/sh
# exports.sh LIBRARY MAP HEADER - the three must name the same functions: what libpinfold.so exports, what pinfold.map
# lists, and what pinfold.h declares.
set -eu
library=$1 map=$2 header=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u > "$work/exported"
sed 's,/\*.*\*/,,; s,#.*,,; s,[;{}],\n,g' "$map" | awk '
	/global:/ { global = 1; sub(/.*global:/, "") }
	/local:/ { global = 0 }
	global && NF > 0 { print $1 }' | sort -u > "$work/listed"
awk '/PINFOLD_API/ && !/#define/ { declaration = 1 }
	declaration && match($0, /pinfold_[a-z0-9_]+\(/) { print substr($0, RSTART, RLENGTH - 1); declaration = 0 }' \
	"$header" | sort -u > "$work/declared"

status=0
if grep '[*?[]' "$work/listed"; then
	echo "pinfold.map lists each name, without patterns"
	status=1
fi
for pair in 'exported listed' 'listed declared'; do
	# shellcheck disable=SC2086
	set -- $pair
	comm -23 "$work/$1" "$work/$2" | sed "s/\$/: $1 but not $2/" > "$work/missing"
	comm -13 "$work/$1" "$work/$2" | sed "s/\$/: $2 but not $1/" >> "$work/missing"
	if [ -s "$work/missing" ]; then
		cat "$work/missing"
		status=1
	fi
done
[ -s "$work/exported" ] || { echo "$library exports nothing"; status=1; }
exit "$status"
