# Holds the layer table and the order of includes: the file's own header, then <system>, then project.
# Usage: awk -f layers.awk layers.txt LIST-OF-FILES SOURCE...
# LIST-OF-FILES has the path of every header, one a line, from the root. Offences go to stdout.

function starts_with(s, prefix) { return substr(s, 1, length(prefix)) == prefix }

function complain(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	offences++
}

# The row of the table for a file; 0 where there is none.
function row_of(path,    i) {
	for (i = 1; i <= n_rows; i++)
		if (starts_with(path, prefix[i]))
			return i
	return 0
}

function check_layer(path,    parts, n, i) {
	n = split(allowed[row], parts, " ")
	for (i = 1; i <= n; i++)
		if (starts_with(path, parts[i]))
			return
	complain("a file of " prefix[row] " may not include \"" path "\"")
}

# x.h for x.c; also for x_part.c, where a noun has several files, and for an x.c one layer up that carries the noun on.
# A test may begin with the header that it tests.
function is_own_header(path,    stem) {
	stem = FILENAME
	sub(/\.[ch]$/, "", stem)
	sub(/\.h$/, "", path)
	if (starts_with(FILENAME, "tests/") || starts_with(stem, path "_"))
		return 1
	sub(/^.*\//, "", stem)
	sub(/^.*\//, "", path)
	return path == stem
}

# Ranks: 1 own header, 2 system, 3 project. They may not fall.
function check_order(rank, text) {
	if (conditional > 0)
		return
	if (rank == 3 && n_includes == 0 && is_own_header(text))
		rank = 1
	if (n_includes == 0 && own_exists && rank != 1)
		complain("its own header \"" own "\" comes first")
	if (rank < last_rank)
		complain(rank == 2 ? "<" text "> comes before the project's headers" : "headers out of order")
	last_rank = rank
	n_includes++
}

FILENAME == ARGV[1] {
	if ($0 !~ /^#/ && NF > 0) {
		prefix[++n_rows] = $1
		$1 = ""
		allowed[n_rows] = $0
	}
	next
}

FILENAME == ARGV[2] { exists[$0] = 1; next }

FNR == 1 {
	n_includes = last_rank = 0
	own = FILENAME
	sub(/\.c$/, ".h", own)
	is_header = FILENAME ~ /\.h$/
	conditional = is_header ? -1 : 0 # a header's guard does not count
	own_exists = !is_header && own in exists
	row = row_of(FILENAME)
	if (row == 0)
		complain("no row of tests/lint/layers.txt says what it may include")
}

/^[ \t]*#[ \t]*if/ { conditional++ }
/^[ \t]*#[ \t]*endif/ { conditional-- }

/^[ \t]*#[ \t]*include[ \t]*</ && row > 0 {
	path = $0
	sub(/^[^<]*</, "", path)
	sub(/>.*$/, "", path)
	if (path in exists || path == "pinfold.h" && !starts_with(FILENAME, "tests/"))
		complain("<" path "> is a header of the project: write \"" path "\"")
	check_order(2, path)
}

/^[ \t]*#[ \t]*include[ \t]*"/ && row > 0 {
	path = $0
	sub(/^[^"]*"/, "", path)
	sub(/".*$/, "", path)
	folder = FILENAME
	sub(/[^\/]*$/, "", folder)
	beside = starts_with(FILENAME, "tests/") && (folder path) in exists # small programs that are built alone
	if (!beside && (path !~ /\// || path ~ /\.\./))
		complain("\"" path "\" is not written from the root")
	else if (!beside)
		check_layer(path)
	check_order(3, path)
}

END { exit offences > 0 }
