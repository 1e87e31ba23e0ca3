/*
 * Single system calls, each with arguments that change nothing outside the child. They are made in a child because an
 * outer seccomp filter may answer a call it does not like by killing who made it.
 *
 * What the parent of a launch calls is made here with arguments that the kernel refuses: what it answers is asked
 * elsewhere, here it is seen whether it answers at all, before this process itself calls.
 */
#include "runtime/host/kernel_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "seccomp/filter.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_ASK_VERSION 1u /* LANDLOCK_CREATE_RULESET_VERSION */

const enum host_fact kernel_probe_facts[KERNEL_PROBE_N] = {
	FACT_PIDFD, FACT_CLOSE_RANGE, FACT_NO_NEW_PRIVS, FACT_SECCOMP_FILTER, FACT_LANDLOCK};

static int refused(const char *step, struct error *err)
{
	return error_set_errno(err, ERROR_UNENFORCEABLE, errno, step, "it is refused");
}

static int step_pidfd(void *userdata, struct error *err)
{
	cleanup_close int pidfd = sys_pidfd_open(getpid(), 0);

	(void)userdata;
	return pidfd < 0 ? refused("pidfd_open", err) : 0;
}

static int step_close_range(void *userdata, struct error *err)
{
	(void)userdata;
	return sys_close_range(UINT_MAX, UINT_MAX, 0) < 0 ? refused("close_range", err) : 0;
}

static int step_no_new_privs(void *userdata, struct error *err)
{
	(void)userdata;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? refused("prctl PR_SET_NO_NEW_PRIVS", err) : 0;
}

static int step_seccomp(void *userdata, struct error *err)
{
	int number = 0;

	(void)userdata;
	if (filter_probe(&number))
		return 0;
	errno = number;
	return refused("seccomp SECCOMP_SET_MODE_FILTER", err);
}

int kernel_landlock_abi(unsigned *ret_abi)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_ASK_VERSION);

	if (abi < 1)
		return -1;
	*ret_abi = (unsigned)abi;
	return 0;
}

static int step_landlock(void *userdata, struct error *err)
{
	return kernel_landlock_abi(userdata) < 0 ? refused("landlock_create_ruleset", err) : 0;
}

static void unmap(unsigned **shared)
{
	if (*shared != NULL)
		(void)munmap(*shared, sizeof **shared);
}

int kernel_probe(struct kernel_probe *ret_probe, struct error *err)
{
	static const trial_step steps[KERNEL_PROBE_N] = {
		step_pidfd, step_close_range, step_no_new_privs, step_seccomp, step_landlock};
	__attribute__((cleanup(unmap))) unsigned *abi = NULL;
	struct kernel_probe probe = {0};
	struct trial trial = {
		.clone_step = "clone3", .steps = steps, .n_steps = KERNEL_PROBE_N, .timeout_ns = TRIAL_TIMEOUT_NS};
	void *shared = mmap(NULL, sizeof *abi, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return error_no_memory(err);
	abi = shared;
	trial.userdata = abi;
	if (trial_run(&trial, probe.findings, err) < 0)
		return -1;
	probe.landlock_abi = *abi;
	*ret_probe = probe;
	return 0;
}

/* CLONE_FS goes with neither a user nor a mount namespace (clone(2)): no process is made. */
static int step_clone(void *userdata, struct error *err)
{
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			CLONE_NEWCGROUP | CLONE_NEWNET | CLONE_FS};

	(void)userdata;
	(void)err;
	if (sys_clone3(&args) == 0)
		_exit(1);
	return 0;
}

static int step_mount(void *userdata, struct error *err)
{
	struct mount_attr nothing = {0};

	(void)userdata;
	(void)err;
	(void)fd_close(sys_open_tree(-1, "", AT_EMPTY_PATH | OPEN_TREE_CLONE));
	(void)sys_mount_setattr(-1, "", AT_EMPTY_PATH, &nothing);
	return 0;
}

int kernel_probe_survival(struct trial_finding *ret_clone, struct trial_finding *ret_mount, struct error *err)
{
	static const trial_step steps[] = {step_mount, step_clone};
	struct trial_finding findings[2];
	struct trial trial = {.clone_step = "clone3", .steps = steps, .n_steps = 2, .timeout_ns = TRIAL_TIMEOUT_NS};

	if (trial_run(&trial, findings, err) < 0)
		return -1;
	*ret_mount = findings[0];
	*ret_clone = findings[1];
	/* Who dies of the first says nothing of the second: it is asked alone. */
	trial.steps = &steps[1];
	trial.n_steps = 1;
	return findings[0].works ? 0 : trial_run(&trial, ret_clone, err);
}
