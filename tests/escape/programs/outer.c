/*
 * Runs a command in an awkward or bounded environment: what a careless or hostile caller hands down to pinfold.
 *
 *   outer [--processes N] [--address-space MIB] [--files N] [--ignore SIGNO] [--block SIGNO] [--umask OCTAL]
 *         [--give FD FILE] [--refuse SYSCALL ERRNO] [--read-only-proc] [--session] -- COMMAND [ARGUMENT...]
 *
 * --give opens FILE as descriptor FD without close-on-exec. --refuse answers a system call, by number, with an errno
 * from a filter of our own, or by death where the errno is "kill"; NUMBER:BITS only where the first argument has one of
 * these bits, NUMBER=VALUE where it is this. --read-only-proc lets Landlock answer EACCES to who opens anything in
 * /proc for writing, an id map for instance. --session makes stdin the controlling terminal of a new session.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "hostile.h"

#define REFUSED_MAX 32
#define CODE_MAX    6 /* for each */

static struct refusal {
	unsigned number, answer;
	char test; /* ':' or '=', or neither */
	unsigned argument;
} refused[REFUSED_MAX];
static unsigned n_refused;
static bool proc_is_read_only;

static void limit(int resource, const char *value, rlim_t unit)
{
	struct rlimit bound;

	need(getrlimit((__rlimit_resource_t)resource, &bound) == 0, "getrlimit");
	rlim_t wanted = strtoul(value, NULL, 10) * unit;
	if (wanted > bound.rlim_max)
		wanted = bound.rlim_max;
	bound.rlim_cur = bound.rlim_max = wanted;
	need(setrlimit((__rlimit_resource_t)resource, &bound) == 0, "setrlimit");
}

static void block(const char *value)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, atoi(value));
	need(sigprocmask(SIG_BLOCK, &set, NULL) == 0, "sigprocmask");
}

static void give(const char *number, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int wanted = atoi(number);
	struct rlimit files;

	need(fd >= 0, path);
	need(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	if (files.rlim_cur <= (rlim_t)wanted) { // the usual soft limit is 1024
		files.rlim_cur = (rlim_t)wanted + 1;
		need(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
	}
	need(dup2(fd, wanted) == wanted, "dup2");
	if (fd != wanted)
		close(fd);
}

static void new_session(void)
{
	need(setsid() >= 0, "setsid");
	need(ioctl(STDIN_FILENO, TIOCSCTTY, 0) == 0, "TIOCSCTTY");
}

static void install_refusals(void)
{
	struct sock_filter code[CODE_MAX * REFUSED_MAX + 1];
	unsigned n = 0;

	for (unsigned i = 0; i < n_refused; i++) {
		const struct refusal *one = &refused[i];
		unsigned short test = one->test == ':' ? BPF_JSET : BPF_JEQ;

		code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one->number, 0, one->test ? 3 : 1);
		if (one->test) {
			code[n++] = (struct sock_filter)BPF_STMT(
				BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
			code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, one->argument, 0, 1);
		}
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, one->answer);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

static void refuse(const char *call, const char *answer)
{
	struct refusal *one = &refused[n_refused++];
	char *end;

	need(n_refused < REFUSED_MAX, "too many refusals");
	one->number = (unsigned)strtoul(call, &end, 0);
	one->test = *end;
	one->argument = *end ? (unsigned)strtoul(end + 1, NULL, 0) : 0;
	one->answer = strcmp(answer, "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | (unsigned)atoi(answer);
}

/* Landlock has no word for "everything but": all that lies in / is named, and /proc is not. */
static void make_proc_read_only(void)
{
	struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE};
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
	DIR *root = opendir("/");
	const struct dirent *entry;

	need(ruleset >= 0 && root != NULL, "landlock");
	while ((entry = readdir(root)) != NULL) {
		struct landlock_path_beneath_attr beneath = {.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE};
		bool named = strcmp(entry->d_name, "..") != 0 && strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "proc") != 0;

		beneath.parent_fd = openat(dirfd(root), entry->d_name, O_PATH | O_CLOEXEC);
		if (named && beneath.parent_fd >= 0)
			need(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0,
				entry->d_name);
		close(beneath.parent_fd);
	}
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	need(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0, "landlock_restrict_self");
}

/* Takes one option with its values from argv; returns how many words it was. */
static int option(char **argv)
{
	if (strcmp(argv[0], "--session") == 0) {
		new_session();
		return 1;
	}
	if (strcmp(argv[0], "--give") == 0) {
		give(argv[1], argv[2]);
		return 3;
	}
	if (strcmp(argv[0], "--read-only-proc") == 0) {
		proc_is_read_only = true;
		return 1;
	}
	if (strcmp(argv[0], "--refuse") == 0) {
		refuse(argv[1], argv[2]);
		return 3;
	}
	if (strcmp(argv[0], "--processes") == 0)
		limit(RLIMIT_NPROC, argv[1], 1);
	else if (strcmp(argv[0], "--address-space") == 0)
		limit(RLIMIT_AS, argv[1], 1 << 20);
	else if (strcmp(argv[0], "--files") == 0)
		limit(RLIMIT_NOFILE, argv[1], 1);
	else if (strcmp(argv[0], "--ignore") == 0)
		need(signal(atoi(argv[1]), SIG_IGN) != SIG_ERR, "signal");
	else if (strcmp(argv[0], "--block") == 0)
		block(argv[1]);
	else if (strcmp(argv[0], "--umask") == 0)
		umask((mode_t)strtoul(argv[1], NULL, 8));
	else
		need(false, argv[0]);
	return 2;
}

int main(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i += option(argv + i);
	need(i + 1 < argc, "no command");
	if (proc_is_read_only)
		make_proc_read_only();
	if (n_refused > 0)
		install_refusals();
	execvp(argv[i + 1], argv + i + 1);
	need(false, argv[i + 1]);
}
