/*
 * Runs a command in an awkward or bounded environment: what a careless or hostile caller hands down to pinfold.
 *
 *   outer [--processes N] [--address-space MIB] [--files N] [--ignore SIGNO] [--block SIGNO] [--umask OCTAL]
 *         [--give FD FILE] [--refuse SYSCALL ERRNO] [--session] -- COMMAND [ARGUMENT...]
 *
 * --give opens FILE as descriptor FD without close-on-exec. --refuse answers a system call, by number, with an errno
 * from a filter of our own. --session makes stdin the controlling terminal of a new session.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "hostile.h"

#define REFUSED_MAX 16

static struct {
	unsigned number, error;
} refused[REFUSED_MAX];
static unsigned n_refused;

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
	struct sock_filter code[2 * REFUSED_MAX + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned n = 1;

	for (unsigned i = 0; i < n_refused; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refused[i].error);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
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
	if (strcmp(argv[0], "--refuse") == 0) {
		need(n_refused < REFUSED_MAX, "too many refusals");
		refused[n_refused].number = (unsigned)atoi(argv[1]);
		refused[n_refused++].error = (unsigned)atoi(argv[2]);
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
	if (n_refused > 0)
		install_refusals();
	execvp(argv[i + 1], argv + i + 1);
	need(false, argv[i + 1]);
}
