#!/bin/sh
# symbols.sh ARCHIVE... - refuses file-scope variables that can change, in the static libraries of the folders.
#
# A table of pointers to constants is relocated and lies in .data.rel.ro, which is read-only once the program runs; the
# linked-in init image is put into .data by ld and named by constants only.
set -eu
status=0
for archive; do
	objdump -t "$archive" | awk -v archive="$(basename "$archive")" '
		/:[ \t]+file format/ { object = $1; sub(/:$/, "", object) }
		/^[0-9a-f]+ / {
			# VALUE FLAGS SECTION<TAB>SIZE NAME; the flag O marks a variable
			tab = index($0, "\t")
			n = split(substr($0, 1, tab - 1), fields, " ")
			section = fields[n]
			name = $NF
			flags = substr($0, 18, 7)
			if (section !~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ || section ~ /^\.data\.rel\.ro/)
				next
			if (flags ~ /[dfF]/ || name ~ /^(_binary_|__gcov|__profc|__profd|__llvm)/ || name == section)
				next
			printf "%s(%s): %s in %s can change\n", archive, object, name, section
			offences++
		}
		END { exit offences > 0 }' || status=1
done
exit "$status"
