/*
 * A transient scope, asked of systemd over its bus.
 *
 * Asked by the program busctl, which every systemd has with it: it is sd-bus on a command line, nothing of the bus
 * comes into the process of whoever uses the library, and a static program, which can load no libraries, can ask just
 * as well.
 *
 * It is this process itself that is moved, as systemd-run --scope does: only what is in a delegated cgroup may start
 * processes in it (the kernel asks for write access to the cgroup that both have above them, which outside of the scope
 * is the system's), so the tree that is to be limited must come from inside. What it was in must be a scope: a service
 * whose main process went away would be at its end for its manager.
 *
 * Fallback: before version 253 scopes have no OOMPolicy, and the manager stops a scope as soon as something in it was
 * killed for lack of memory, which would end this process for what befell the command. There the stop is made harmless:
 * SIGCONT, and no SIGKILL after it.
 */
#include "cgroup/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/program.h"
#include "base/str.h"

#define STEP       "systemd scope"
#define ASK_NS     (15 * NS_PER_S)
#define ARRIVE_NS  (10 * NS_PER_S)
#define CGROUP_MAX 65536
#define VALUE_MAX  4096
#define NAME_SIZE  64
#define PROPERTIES 16

static const char *const busctls[] = {"/usr/bin/busctl", "/bin/busctl", "/run/current-system/sw/bin/busctl"};

/* Type and value of each property, as busctl takes them; those that tell of this version of systemd come last. */
static const char *const plain[] = {
	"Delegate", "b", "true", "CollectMode", "s", "inactive-or-failed", "OOMPolicy", "s", "continue", NULL};
static const char *const before_253[] = {"Delegate", "b", "true", "CollectMode", "s", "inactive-or-failed",
	"KillSignal", "i", "18", "SendSIGKILL", "b", "false", NULL};

bool manager_runs(void)
{
	struct stat st;

	return lstat("/run/systemd/system", &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s);
	size_t m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

enum manager_unit manager_unit_of(const char *path)
{
	if (ends_with(path, ".scope"))
		return UNIT_SCOPE;
	if (ends_with(path, ".service"))
		return UNIT_SERVICE;
	return ends_with(path, ".slice") ? UNIT_SLICE : UNIT_NONE;
}

bool manager_delegates(const char *path)
{
	static const char *const attributes[] = {"user.delegate", "trusted.delegate"};

	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
		char value[2];

		if (lgetxattr(path, attributes[i], value, sizeof value) == 1 && value[0] == '1')
			return true;
	}
	return false;
}

static const char *find_busctl(void)
{
	for (size_t i = 0; i < sizeof busctls / sizeof *busctls; i++) {
		if (access(busctls[i], X_OK) == 0)
			return busctls[i];
	}
	return NULL;
}

static void push(const char **argv, size_t *n, const char *word)
{
	argv[(*n)++] = word;
}

/* How many properties: each is three words. */
static size_t count_properties(const char *const *words)
{
	size_t n = 0;

	while (words[n] != NULL)
		n++;
	return n / 3;
}

/* busctl's own way to find the bus of a user needs XDG_RUNTIME_DIR, which a login by su or sudo does not set. */
static void make_environment(char runtime[VALUE_MAX], char bus[VALUE_MAX], const char *environment[4])
{
	const char *directory = secure_getenv("XDG_RUNTIME_DIR");
	const char *address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
	size_t n = 0;

	if (directory != NULL && *directory != '\0')
		(void)snprintf(runtime, VALUE_MAX, "XDG_RUNTIME_DIR=%s", directory);
	else
		(void)snprintf(runtime, VALUE_MAX, "XDG_RUNTIME_DIR=/run/user/%u", (unsigned)geteuid());
	environment[n++] = "LC_ALL=C";
	environment[n++] = runtime;
	if (address != NULL && *address != '\0') {
		(void)snprintf(bus, VALUE_MAX, "DBUS_SESSION_BUS_ADDRESS=%s", address);
		environment[n++] = bus;
	}
	environment[n] = NULL;
}

static int run_busctl(const char *path, const char *const *argv, struct buf *output, struct error *err)
{
	char runtime[VALUE_MAX], bus[VALUE_MAX];
	const char *environment[4];
	const struct program program = {path, argv, environment, ASK_NS};
	struct error why = {0};
	int status;

	make_environment(runtime, bus, environment);
	status = program_run(&program, output, &why);
	if (status < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, why.sys_errno, STEP,
			"the service manager cannot be asked for a scope: %s", why.text);
	return status;
}

/* The exit status of the call. */
static int ask(const char *busctl, const char *name, const char *const *properties, struct buf *output, struct error *err)
{
	const char *argv[16 + 3 * PROPERTIES];
	char pid[16], count[24];
	size_t n = 0;

	(void)snprintf(pid, sizeof pid, "%d", (int)getpid());
	(void)snprintf(count, sizeof count, "%zu", count_properties(properties) + 1);
	push(argv, &n, "busctl");
	push(argv, &n, geteuid() == 0 ? "--system" : "--user");
	push(argv, &n, "call");
	push(argv, &n, "org.freedesktop.systemd1");
	push(argv, &n, "/org/freedesktop/systemd1");
	push(argv, &n, "org.freedesktop.systemd1.Manager");
	push(argv, &n, "StartTransientUnit");
	push(argv, &n, "ssa(sv)a(sa(sv))");
	push(argv, &n, name);
	push(argv, &n, "fail");
	push(argv, &n, count);
	push(argv, &n, "PIDs");
	push(argv, &n, "au");
	push(argv, &n, "1");
	push(argv, &n, pid);
	for (size_t i = 0; properties[i] != NULL; i++)
		push(argv, &n, properties[i]);
	push(argv, &n, "0");
	argv[n] = NULL;
	return run_busctl(busctl, argv, output, err);
}

/* The first line of what busctl said. */
static int refused(struct buf *output, struct error *err)
{
	char shown[160];
	size_t n = strcspn(buf_str(output), "\n");

	if (output->size > n)
		output->data[n] = '\0';
	str_printable(buf_str(output), shown, sizeof shown);
	return error_set(err, ERROR_UNENFORCEABLE, STEP, "the %s service manager gives no scope: %s",
		geteuid() == 0 ? "system's" : "user's", *shown != '\0' ? shown : "busctl said nothing");
}

static bool has_arrived(const char *name)
{
	cleanup_buf struct buf text = {0};

	return fd_read_file(AT_FDCWD, "/proc/self/cgroup", CGROUP_MAX, &text, NULL) == 0 &&
		strstr(buf_str(&text), name) != NULL;
}

/* The call returns when the job is queued, which is before it is done. */
static int wait_for_arrival(const char *name, struct error *err)
{
	uint64_t until = monotime_after_ns(ARRIVE_NS);

	while (!has_arrived(name)) {
		const struct timespec pause = {.tv_nsec = (long)(NS_PER_MS / 2)};

		if (monotime_ns() >= until)
			return error_set(err, ERROR_UNENFORCEABLE, STEP,
				"the service manager has taken the order for a scope and has not moved this process into it");
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int manager_enter_scope(struct error *err)
{
	static const char *const *const attempts[] = {plain, before_253};
	const char *busctl = find_busctl();
	cleanup_buf struct buf output = {0};
	char name[NAME_SIZE];

	if (busctl == NULL)
		return error_set(err, ERROR_UNENFORCEABLE, STEP,
			"there is no busctl, by which the service manager could be asked");
	(void)snprintf(name, sizeof name, "pinfold-%d-%llu.scope", (int)getpid(), (unsigned long long)monotime_ns());
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		int status;

		buf_reset(&output);
		status = ask(busctl, name, attempts[i], &output, err);
		if (status < 0)
			return -1;
		if (status == 0)
			return wait_for_arrival(name, err);
		if (strstr(buf_str(&output), "OOMPolicy") == NULL)
			break;
	}
	return refused(&output, err);
}
