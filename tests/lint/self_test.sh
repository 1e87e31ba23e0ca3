#!/bin/sh
# self_test.sh CC - shows that the lint refuses what it is there to refuse: small bad trees, one a rule. Prints TAP.
set -eu
cc=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0

# A fresh tree that has nothing wrong with it.
start() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/base" "$work/tree/ns" "$work/tree/runtime/launch" "$work/tree/runtime/plan" \
		"$work/tree/runtime/cli" "$work/tree/include" "$work/tree/tests/unit"
	cd "$work/tree"
	printf '%s\n' '#ifndef A_H' '#define A_H' '#include <stdlib.h>' '#endif' > base/a.h
	printf '%s\n' '#include "base/a.h"' '' '#include <stdio.h>' '' '#include "base/b.h"' > base/a.c
	printf '%s\n' '#include "base/a.h"' '' '#include <string.h>' > base/a_part.c
	: > base/b.h
	: > ns/ns_probe.h
	: > include/pinfold.h
}

report() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$work/output"
	fi
}

accepts() {
	result=0
	"$@" > "$work/output" 2>&1 || result=1
	report "$result" "accepts $what"
}

# refuses MESSAGE COMMAND...: it must fail, and for this reason.
refuses() {
	message=$1 result=1
	shift
	if ! "$@" > "$work/output" 2>&1 && grep -qF -- "$message" "$work/output"; then
		result=0
	fi
	report "$result" "refuses $what"
}

sources() {
	"$here/sources.sh" "$work/tree"
}

# bad WHAT FILE MESSAGE: the tree with this one file, from stdin, is refused with that message.
bad() {
	what=$1
	start
	cat > "$2"
	refuses "$3" sources
}

good() {
	what=$1
	start
	cat > "$2"
	accepts sources
}

what='a clean tree'
start
accepts sources

bad 'an include against the layers' base/c.c 'base/c.c:1: a file of base/ may not include "ns/ns_probe.h"' <<'END'
#include "ns/ns_probe.h"
END
bad 'a mechanism that knows another' ns/c.h 'may not include "seccomp/filter.h"' <<'END'
#include "seccomp/filter.h"
END
bad 'a command line that goes round the API' runtime/cli/c.c 'may not include "runtime/plan/plan.h"' <<'END'
#include "include/pinfold.h"
#include "runtime/plan/plan.h"
END
bad 'a plan that acts' runtime/plan/c.c 'may not include "ns/caps.h"' <<'END'
#include "ns/caps.h"
END
bad 'an init that is not alone' runtime/launch/init.c 'runtime/launch/init.c:2: a file of runtime/launch/init may not' <<'END'
#include <stdint.h>
#include "base/a.h"
END
good 'an init with its own headers' runtime/launch/init.c <<'END'
#include <stdint.h>

#include "runtime/launch/init_message.h"
END
bad 'a folder without a row' runtime/c.c 'no row of tests/lint/layers.txt' <<'END'
int c;
END
bad 'an include that is not from the root' base/c.c '"b.h" is not written from the root' <<'END'
#include "b.h"
END
bad 'an include that climbs' base/c.c '"base/../ns/ns_probe.h" is not written from the root' <<'END'
#include "base/../ns/ns_probe.h"
END
bad 'a project header in angles' base/c.c '<base/b.h> is a header of the project' <<'END'
#include <base/b.h>
END
bad 'the own header in second place' base/a.c 'its own header "base/a.h" comes first' <<'END'
#include <stdio.h>

#include "base/a.h"
END
bad 'a system header behind the project' base/a.c '<stdio.h> comes before the project' <<'END'
#include "base/a.h"
#include "base/b.h"
#include <stdio.h>
END
bad 'a system header behind a foreign one' base/c.c '<stdio.h> comes before the project' <<'END'
#include "base/b.h"
#include <stdio.h>
END
good 'a test that begins with what it tests' tests/unit/test_a.c <<'END'
#include "base/a.h"

#include <stdio.h>

#include "base/b.h"
END
good 'a conditional include in its place' base/c.c <<'END'
#include <stdio.h>

#include "base/a.h"
#ifdef X
#include <stdlib.h>
#endif
END

for call in 'exit(1)' 'abort ()' 'quick_exit(1)'; do
	bad "$call in a library" base/c.c 'does not end its process' <<END
void f(void) { $call; }
END
done
for call in 'printf("x")' 'puts("x")' 'perror("x")' 'warnx("x")' 'err(1, "x")'; do
	bad "$call in a library" ns/c.c 'does not print' <<END
void f(void) { $call; }
END
done
for use in 'fprintf(stderr, "x")' 'fflush(stdout)'; do
	bad "$use in a library" ns/c.c 'leaves the standard streams alone' <<END
void f(void) { $use; }
END
done
bad 'a change of the environment' base/c.c 'leaves process-wide state alone' <<'END'
void f(void) { setenv("A", "b", 1); }
END
bad 'a write without a bound' base/c.c 'without a bound' <<'END'
void f(char *s) { sprintf(s, "x"); }
END
for call in 'execvp("x", argv)' 'execlp("x", "x", NULL)' 'posix_spawnp(&p, "x", 0, 0, a, e)'; do
	bad "$call" runtime/cli/c.c 'no program is looked for in a PATH' <<END
void f(void) { $call; }
END
done
for use in 'time(NULL)' 'gettimeofday(&t, NULL)' 'clock_gettime(CLOCK_REALTIME, &t)'; do
	bad "$use" runtime/cli/c.c 'the wall clock can be set' <<END
void f(void) { $use; }
END
done
good 'the clock of the file that reads clocks, and clocks that nobody sets' base/monotime.c <<'END'
void f(void) { clock_gettime(CLOCK_REALTIME, &t); clock_gettime(CLOCK_MONOTONIC, &t); wall_time(1); }
END
good 'names, members, words and comments that look alike' base/c.c <<'END'
/* exit(1) and
 * printf("x") and stderr */
// abort()
void f(void) { _exit(1); s->exit(1); s.abort(2); buf_printf(b, "exit(1) \" stderr"); take(stdout_fd, 'x'); } /* puts() */
END
good 'a program that prints' runtime/cli/c.c <<'END'
void f(void) { printf("x"); exit(1); }
END
good 'a generator that prints' base/c.c <<'END'
int main(void) { puts("x"); exit(1); }
END

note='TO''DO'
bad 'unfinished work' base/c.c 'unfinished work' <<END
/* $note: later */
END
note='FIX''ME'
bad 'unfinished work in a script' tests/c.sh 'unfinished work' <<END
# $note
END
blank=' '
bad 'blanks at the end of a line' base/c.h 'base/c.h:2: blanks at the end' <<END
#define A
#define B$blank
END
start
what='a long file'
awk 'BEGIN { for (i = 0; i < 501; i++) print "/* x */" }' > base/c.c
refuses 'base/c.c:501: more than 500 lines' sources
start
what='a file of 500 lines'
awk 'BEGIN { for (i = 0; i < 500; i++) print "/* x */" }' > base/c.c
accepts sources
start
what='a name with a blank'
: > 'base/a b.h'
refuses 'base/a b.h' sources

archive() {
	rm -f "$work/x.o" "$work/libx.a"
	$cc -fPIC -x c -c - -o "$work/x.o"
	ar rc "$work/libx.a" "$work/x.o"
}

what='constants, tables of pointers and functions'
archive <<'END'
static const int table[] = {1, 2};
static const char *const words[] = {"a", "b"};
const int *f(int i);
const int *f(int i) { static const int local[] = {3, 4}; return i ? local : words[0][0] == 'a' ? table : 0; }
END
accepts "$here/symbols.sh" "$work/libx.a"
for variable in 'int global;' 'int set = 1;' 'static int hidden;' 'static const char *words[] = {"a"};' \
	'_Thread_local int each;' 'int f(void); int f(void) { static int calls; return ++calls; }'; do
	what="$variable"
	archive <<END
$variable
void *use(void);
void *use(void) { $(case $variable in *hidden*) echo 'return &hidden;' ;; *words*) echo 'return words;' ;; *) echo 'return 0;' ;; esac) }
END
	refuses 'can change' "$here/symbols.sh" "$work/libx.a"
done

# The three lists of names, each of which may lack or have one too many.
exports() {
	printf '%s\n' "$1" | $cc -fPIC -fvisibility=hidden -shared -x c - -o "$work/libpinfold.so" \
		-Wl,--version-script="$work/link.map"
	printf '%s\n' "$2" > "$work/x.map"
	printf '%s\n' "$3" > "$work/x.h"
}
printf '%s\n' 'X_0 { global: pinfold_a; pinfold_b; local: *; };' > "$work/link.map"
api='__attribute__((visibility("default")))'
code_a="$api int pinfold_a(void); int pinfold_a(void) { return 0; }"
code_b="$api int pinfold_b(void); int pinfold_b(void) { return 0; }"
header_a='PINFOLD_API int pinfold_a(void);'
header_b='PINFOLD_API int *pinfold_b(
	int x);'
map_a='X_0 { /* one */ global: pinfold_a; local: *; };'
map_ab='X_0 {
global:
	pinfold_a;
	pinfold_b;
local:
	*;
};'

what='three lists that agree'
exports "$code_a $code_b" "$map_ab" "$header_a
$header_b"
accepts "$here/exports.sh" "$work/libpinfold.so" "$work/x.map" "$work/x.h"
what='an export that is not listed'
exports "$code_a $code_b" "$map_a" "$header_a"
refuses 'pinfold_b: exported but not listed' "$here/exports.sh" "$work/libpinfold.so" "$work/x.map" "$work/x.h"
what='a name that is listed and not there'
exports "$code_a" "$map_ab" "$header_a
$header_b"
refuses 'pinfold_b: listed but not exported' "$here/exports.sh" "$work/libpinfold.so" "$work/x.map" "$work/x.h"
what='a declaration that is not listed'
exports "$code_a" "$map_a" "$header_a
$header_b"
refuses 'pinfold_b: declared but not listed' "$here/exports.sh" "$work/libpinfold.so" "$work/x.map" "$work/x.h"
what='a pattern in the map'
exports "$code_a" 'X_0 { global: pinfold_*; local: *; };' "$header_a"
refuses 'without patterns' "$here/exports.sh" "$work/libpinfold.so" "$work/x.map" "$work/x.h"

shown_by() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/docs" "$work/tree/tests/cli/cases" "$work/tree/tests/unit"
	: > "$work/tree/tests/unit/test_noun.c"
	printf '%s\n' '@case("one, and more")' '@case("two; three")' '@case(f"for {each}", only="root")' > "$work/tree/tests/cli/cases/a.py"
	printf '%s\n' '| what went wrong | what happens here | shown by |' '|---|---|---|' "| a | b | $1 |" > "$work/tree/docs/failures.md"
}
what='names of tests that are there'
shown_by 'cli: one, and more; for every one; two; three. unit: noun'
accepts "$here/shown_by.py" "$work/tree"
what='the name of a test that is not there'
shown_by 'cli: one, and more; two, three'
refuses 'no test is called so: two' "$here/shown_by.py" "$work/tree"
what='a test without its suite'
shown_by 'one, and more'
refuses 'no test is called so' "$here/shown_by.py" "$work/tree"
what='a row without a test'
shown_by ''
refuses 'not three cells' "$here/shown_by.py" "$work/tree"

echo "1..$n"
