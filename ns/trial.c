/*
 * How a host is asked: by doing the thing in a process that is thrown away. The parent clones a child, writes its id
 * maps from outside, lets it go, and hears a record for each step. All travels on one socket pair:
 *
 *   parent                                child
 *   clone3, write the maps
 *   one byte: go                  ->      become the identity inside
 *                                 <-      a record for each step, works or errno and name of what failed
 *   kill, reap                            exit
 *
 * A record is sent as soon as its step is over, so a child that gets stuck in the third step, or is killed by an outer
 * seccomp filter, has told of the first two. The child has no exit signal: a host program's SIGCHLD handler never hears
 * of it, and its wait(-1) cannot take it away. Signals are blocked over the clone and stay so in the child, which would
 * otherwise run the host program's handlers. Death of the parent is the end of the socket before the child was let go,
 * and a parent-death signal afterwards.
 */
#include "ns/trial.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/sys.h"
#include "ns/caps.h"
#include "ns/idmap.h"

#define REAP_MS 10000 /* a machine under load takes seconds to end a process with namespaces of its own */

struct record {
	uint32_t step;
	struct trial_finding finding;
};

struct child {
	pid_t pid;
	int pidfd;
	int sock;
};

int trial_become(const struct trial_identity *identity, struct error *err)
{
	if (caps_become(identity->uid, identity->gid, identity->privileged, err) < 0)
		return -1;
	/* Order: a change of ids clears the parent-death signal. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return 0;
}

/* The copy is cut where it is too long. */
static void set_step(struct trial_finding *finding, const char *step)
{
	size_t size = strlen(step);

	if (size >= sizeof finding->step)
		size = sizeof finding->step - 1;
	memcpy(finding->step, step, size);
	finding->step[size] = '\0';
}

static struct trial_finding failed(int sys_errno, const char *step)
{
	struct trial_finding finding = {.sys_errno = sys_errno};

	set_step(&finding, step);
	return finding;
}

static void say(int sock, size_t step, struct trial_finding finding)
{
	struct record record = {.step = (uint32_t)step, .finding = finding};

	/* Nobody left to hear it: the parent is dead. */
	if (fd_send(sock, &record, sizeof record, NULL, 0) < 0)
		_exit(1);
}

static _Noreturn void run_child(const struct trial *trial, int sock)
{
	struct error err = {0};
	int become_failed = 0;
	char go;

	if (fd_receive(sock, &go, 1, NULL, 0, NULL, 0) != 1)
		_exit(1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (trial->identity != NULL && !trial->become_later)
		become_failed = trial_become(trial->identity, &err);
	for (size_t i = 0; i < trial->n_steps; i++) {
		if (become_failed == 0) {
			err = (struct error){0};
			if (trial->steps[i](trial->userdata, &err) == 0) {
				say(sock, i, (struct trial_finding){.works = true});
				continue;
			}
		}
		say(sock, i, failed(err.sys_errno, err.where));
	}
	_exit(0);
}

static int clone_child(const struct trial *trial, struct child *child, struct error *err)
{
	struct clone_args args = {.flags = trial->namespaces | CLONE_PIDFD, .pidfd = (uintptr_t)&child->pidfd};
	sigset_t all;
	sigset_t before;
	int ends[2];
	int number;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set_errno(err, ERROR_LIMIT, errno, "socketpair", "cannot make a probe");
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	child->pid = sys_clone3(&args);
	number = errno;
	if (child->pid == 0) {
		(void)close(ends[0]);
		run_child(trial, ends[1]);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)close(ends[1]);
	child->sock = ends[0];
	errno = number;
	return 0;
}

static void end_child(struct child *child)
{
	struct pollfd gone = {.fd = child->pidfd, .events = POLLIN};
	siginfo_t info;

	(void)fd_close(child->sock);
	if (child->pid <= 0)
		return;
	(void)sys_pidfd_send_signal(child->pidfd, SIGKILL);
	/* A process that cannot die (a dead network file system) is not waited for without end. */
	while (poll(&gone, 1, REAP_MS) < 0 && errno == EINTR)
		;
	(void)waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG | __WALL);
	(void)fd_close(child->pidfd);
}

static void fill(const struct trial *trial, struct trial_finding *findings, struct trial_finding finding)
{
	for (size_t i = 0; i < trial->n_steps; i++)
		findings[i] = finding;
}

static int write_maps(const struct trial *trial, const struct child *child, struct error *err)
{
	const struct trial_identity *identity = trial->identity;
	struct idmap map;

	if (identity == NULL)
		return 0;
	map = (struct idmap){.inner_uid = identity->uid,
		.inner_gid = identity->gid,
		.outer_uid = geteuid(),
		.outer_gid = getegid(),
		.deny_setgroups = !identity->privileged};
	if (identity->mapped) {
		map.outer_uid = identity->uid_base + (uid_t)child->pid;
		map.outer_gid = map.outer_uid;
	}
	return idmap_write(child->pid, &map, err);
}

/* 1: a record was read; 0: none came any more, or not in time. */
static int next_record(const struct child *child, uint64_t until, struct record *ret_record)
{
	struct pollfd polls[] = {{.fd = child->sock, .events = POLLIN}, {.fd = child->pidfd, .events = POLLIN}};

	for (;;) {
		uint64_t now = monotime_ns();
		long size = fd_receive(child->sock, ret_record, sizeof *ret_record, NULL, 0, NULL, MSG_DONTWAIT);

		if (size == (long)sizeof *ret_record)
			return 1;
		if (size == 0)
			polls[0].fd = -1; /* it is about to be dead */
		/* Both were ready together, and what the dead child had said has been read. */
		if ((polls[1].revents & POLLIN) != 0 || now >= until)
			return 0;
		if (poll(polls, 2, (int)((until - now) / NS_PER_MS) + 1) < 0 && errno != EINTR)
			return 0;
	}
}

static struct trial_finding silence(const struct child *child)
{
	siginfo_t info = {0};

	if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) == 0 && info.si_pid != 0 &&
		info.si_code != CLD_EXITED)
		return failed(0, info.si_status == SIGSYS ? "killed by an outer seccomp filter" : "killed by a signal");
	return failed(ETIMEDOUT, "no answer in time");
}

static void listen_to(const struct trial *trial, const struct child *child, struct trial_finding *findings)
{
	uint64_t until = monotime_after_ns(trial->timeout_ns);
	bool heard[TRIAL_STEPS_MAX] = {false};
	struct record record;

	for (size_t n = 0; n < trial->n_steps && next_record(child, until, &record) > 0; n++) {
		if (record.step >= trial->n_steps)
			continue;
		heard[record.step] = true;
		record.finding.step[sizeof record.finding.step - 1] = '\0';
		findings[record.step] = record.finding;
	}
	for (size_t i = 0; i < trial->n_steps; i++)
		if (!heard[i])
			findings[i] = silence(child);
}

/* What the machine as such cannot do is a finding; what it has run out of just now is not. */
static bool is_shortage(int sys_errno)
{
	return sys_errno == ENOMEM || sys_errno == EAGAIN || sys_errno == EMFILE || sys_errno == ENFILE;
}

int trial_run(const struct trial *trial, struct trial_finding *ret_findings, struct error *err)
{
	__attribute__((cleanup(end_child))) struct child child = {.pid = -1, .pidfd = -1, .sock = -1};
	struct error local = {0};

	if (clone_child(trial, &child, err) < 0)
		return -1;
	if (child.pid < 0) {
		if (is_shortage(errno))
			return error_set_errno(err, ERROR_LIMIT, errno, "clone3", "no process can be made for a probe");
		fill(trial, ret_findings, failed(errno, trial->clone_step));
		return 0;
	}
	if (write_maps(trial, &child, &local) < 0) {
		fill(trial, ret_findings, failed(local.sys_errno, local.where));
		return 0;
	}
	if (fd_send(child.sock, "g", 1, NULL, 0) < 0 && errno != EPIPE)
		return error_set_errno(err, ERROR_IO, errno, "socket", "cannot talk to a probe");
	listen_to(trial, &child, ret_findings);
	return 0;
}
