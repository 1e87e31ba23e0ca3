# Refuses unfinished work, trailing blanks and long files, in the product what makes it depend on what others can set
# (PATH, the wall clock), and in library code what a library must not do.
# Usage: awk -f text.awk FILE...     Offences go to stdout.
#
# Library code is everything below base, ns, cgroup, seccomp and runtime but the programs: cli, mcp, the init, and what
# has a main, as the generators that run while building. Comments and literals are blanked before calls are looked for.

BEGIN {
	word = "(TO" "DO|FIX" "ME|XX" "X)"
	unfinished = "(//|/\\*|\\*|#|\")[ \t]*" word "([^A-Za-z]|$)|" word "[:(]" # where such a note would stand
	for (i = 1; i < ARGC; i++)
		find_main(ARGV[i])
}

function find_main(path,    line) {
	while ((getline line < path) > 0)
		if (line ~ /^int main\(/)
			is_program[path] = 1
	close(path)
}

function complain(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	offences++
}

function is_product(path) {
	return path ~ /^(base|ns|cgroup|seccomp|runtime)\/.*\.[ch]$/
}

function is_library(path) {
	return is_product(path) && path !~ /^runtime\/(cli|mcp)\// &&
		path !~ /^runtime\/launch\/init/ && !(path in is_program)
}

# The line without comments and the insides of literals; in_comment carries over from line to line.
function code_of(line,    code, end) {
	code = ""
	while (line != "") {
		if (in_comment) {
			end = index(line, "*/")
			if (end == 0)
				return code
			line = substr(line, end + 2)
			in_comment = 0
		} else if (match(line, /^"([^"\\]|\\.)*"?/) || match(line, /^'([^'\\]|\\.)*'?/)) {
			code = code "\"\""
			line = substr(line, RLENGTH + 1)
		} else if (line ~ /^\/\//) {
			return code
		} else if (line ~ /^\/\*/) {
			in_comment = 1
			line = substr(line, 3)
		} else {
			match(line, /^[^"'\/]+|^./)
			code = code substr(line, 1, RLENGTH)
			line = substr(line, RLENGTH + 1)
		}
	}
	return code
}

# A call, not a member and not the end of a longer name.
function calls(code, names) {
	return code ~ ("(^|[^A-Za-z0-9_.>])(" names ")[ \t]*\\(")
}

function check_product(code) {
	if (calls(code, "execvp|execvpe|execlp|posix_spawnp"))
		complain("no program is looked for in a PATH that somebody else may have set")
	if (FILENAME != "base/monotime.c" && (calls(code, "time|gettimeofday|ftime") || code ~ /(^|[^A-Za-z0-9_])CLOCK_REALTIME/))
		complain("the wall clock can be set while a run lives: only base/monotime.c reads it")
}

function check_library(code) {
	if (calls(code, "exit|quick_exit|abort"))
		complain("a library does not end its process")
	if (calls(code, "printf|vprintf|puts|putchar|perror|errx?|warnx?|verrx?|vwarnx?|syslog|psignal"))
		complain("a library does not print")
	if (code ~ /(^|[^A-Za-z0-9_.>])(stdout|stderr)([^A-Za-z0-9_]|$)/)
		complain("a library leaves the standard streams alone")
	if (calls(code, "system|popen|setenv|unsetenv|putenv|clearenv|setlocale|strtok|srand|rand"))
		complain("a library runs no shell and leaves process-wide state alone")
	if (calls(code, "gets|strcat|sprintf|vsprintf"))
		complain("a write without a bound")
}

FNR == 1 {
	in_comment = 0
	library = is_library(FILENAME)
	product = is_product(FILENAME)
}

$0 ~ unfinished { complain("unfinished work is not committed") }

/[ \t\r]$/ { complain("blanks at the end of the line") }

FNR == 501 && FILENAME ~ /\.(c|h|py|sh)$/ { complain("more than 500 lines: it is about more than one noun") }

product {
	code = code_of($0)
	check_product(code)
	if (library)
		check_library(code)
}

END { exit offences > 0 }
