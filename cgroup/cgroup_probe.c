/*
 * That a cgroup2 mount is there says little: it may be read-only, another user's, without any controller because
 * version 1 holds them all, or with controllers that are not switched on for groups below ours. So a group is made
 * below the base, a child is cloned into it, its controllers are looked at and switched on in it, and it is removed.
 *
 * Nothing but that group is written to. Whether controllers could be switched on in the base is not tried, for that
 * would change the machine; where they are there but not on, this is the finding, with what stands in the way.
 */
#include "cgroup/cgroup_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"

#define FILE_MAX 65536

struct controller {
	enum cgroup_ability ability;
	const char *name;
	const char *knob; /* the file by which it limits */
};

static const struct controller controllers[] = {
	{CGROUP_MEMORY, "memory", "memory.max"},
	{CGROUP_PIDS, "pids", "pids.max"},
	{CGROUP_CPU, "cpu", "cpu.max"},
};

bool cgroup_lists_controller(const char *text, const char *name)
{
	size_t size = strlen(name);

	while (*text != '\0') {
		size_t n = strcspn(text, " \n");

		if (n == size && memcmp(text, name, n) == 0)
			return true;
		text += n;
		text += strspn(text, " \n");
	}
	return false;
}

static struct cgroup_finding lack(int sys_errno, const char *step, const char *detail)
{
	struct cgroup_finding finding = {.sys_errno = sys_errno};

	(void)snprintf(finding.step, sizeof finding.step, "%.63s", step);
	(void)snprintf(finding.detail, sizeof finding.detail, "%.199s", detail);
	return finding;
}

static bool is_shortage(const struct error *err)
{
	return err->code == ERROR_NO_MEMORY || err->sys_errno == EMFILE || err->sys_errno == ENFILE ||
		err->sys_errno == ENOMEM || err->sys_errno == EAGAIN;
}

/*
 * A child that ends before it has done anything. A run asks this on its way, so the child borrows our memory and even
 * our stack, which it never touches, instead of getting a copy: CLONE_VFORK lets us go on only when it has ended.
 */
static long clone_that_exits(struct clone_args *args)
{
	long result = SYS_clone3;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "movl %[exit], %%eax\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "syscall\n\t"
			 "1:"
			 : "+a"(result)
			 : "D"(args), "S"(sizeof *args), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	return result;
}

static int try_entering(struct group *group, struct error *err)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP | CLONE_VM | CLONE_VFORK, .cgroup = (unsigned)group_fd(group)};
	sigset_t all;
	sigset_t before;
	long pid;

	/* A signal handler of the host program must not run in the child, and here least of all. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_that_exits(&args);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return error_set_errno(err, group_error_code((int)-pid), (int)-pid, "clone3 with CLONE_INTO_CGROUP",
			"a process cannot be started in a cgroup of ours");
	while (waitpid((pid_t)pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return 0;
}

static int read_controllers(int dirfd, struct buf *buf, struct error *err)
{
	return fd_read_file(dirfd, "cgroup.controllers", FILE_MAX, buf, err);
}

/* Why groups below the base lack a controller: it is elsewhere, or it is there and not switched on. */
static struct cgroup_finding explain_lack(int base_fd, const struct controller *controller)
{
	cleanup_buf struct buf listed = {0};
	cleanup_buf struct buf tasks = {0};
	char detail[200];

	if (read_controllers(base_fd, &listed, NULL) < 0)
		return lack(0, "read cgroup.controllers", "");
	if (!cgroup_lists_controller(buf_str(&listed), controller->name)) {
		(void)snprintf(detail, sizeof detail,
			"the cgroup below which ours are made does not have the %s controller", controller->name);
		return lack(0, "cgroup.controllers", detail);
	}
	if (fd_read_file(base_fd, "cgroup.procs", (size_t)FILE_MAX * 16, &tasks, NULL) < 0)
		return lack(0, "read cgroup.procs", "");
	(void)snprintf(detail, sizeof detail, "the %s controller is there, but not switched on for groups below%s",
		controller->name, tasks.size > 0 ? ", and processes are in the cgroup itself" : "");
	return lack(0, "cgroup.subtree_control", detail);
}

/* In the group of our own, which is empty: nothing of the machine is changed. */
static struct cgroup_finding try_controller(const struct group *group, const struct controller *controller)
{
	cleanup_close int knob = openat(group_fd(group), controller->knob, O_RDWR | O_CLOEXEC);
	cleanup_close int control = -1;
	char command[32];

	if (knob < 0)
		return lack(errno, controller->knob, "the group has no such file, or it cannot be written to");
	control = openat(group_fd(group), "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
	(void)snprintf(command, sizeof command, "+%s", controller->name);
	if (control < 0 || fd_write_all(control, command, strlen(command)) < 0)
		return lack(errno, "cgroup.subtree_control", "the controller cannot be switched on");
	return (struct cgroup_finding){.works = true};
}

static int probe_controllers(struct cgroup_probe *probe, const struct group *group, struct error *err)
{
	cleanup_close int base_fd = group_base_open(probe->base, err);
	cleanup_buf struct buf own = {0};

	if (base_fd < 0 || read_controllers(group_fd(group), &own, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
		const struct controller *controller = &controllers[i];
		bool has = cgroup_lists_controller(buf_str(&own), controller->name);

		probe->findings[controller->ability] = has ? try_controller(group, controller)
							   : explain_lack(base_fd, controller);
	}
	return 0;
}

static int probe_group(struct cgroup_probe *probe, struct group *group, struct error *err)
{
	struct cgroup_finding *kill_finding = &probe->findings[CGROUP_KILL];

	if (try_entering(group, err) < 0)
		return -1;
	if (faccessat(group_fd(group), "cgroup.kill", W_OK, AT_EACCESS) == 0)
		kill_finding->works = true;
	else
		*kill_finding = lack(errno, "cgroup.kill", "");
	if (probe_controllers(probe, group, err) < 0)
		return -1;
	if (group_remove(group, err) < 0)
		return -1;
	probe->findings[CGROUP_GROUP] = (struct cgroup_finding){.works = true};
	return 0;
}

/* Without a group of our own the base still says which controllers it does not have; the remedy is another one then. */
static void explain_controllers(struct cgroup_probe *probe)
{
	cleanup_close int base_fd = probe->base[0] == '\0' ? -1 : group_base_open(probe->base, NULL);

	for (size_t i = 0; base_fd >= 0 && i < sizeof controllers / sizeof *controllers; i++) {
		struct cgroup_finding finding = explain_lack(base_fd, &controllers[i]);

		if (strcmp(finding.step, "cgroup.controllers") == 0)
			probe->findings[controllers[i].ability] = finding;
	}
}

/* -1 for a shortage; else 0, and every ability lacks for this reason. */
static int lack_all(struct cgroup_probe *probe, const struct error *why, struct error *err)
{
	if (is_shortage(why)) {
		if (err != NULL)
			*err = *why;
		return -1;
	}
	for (int i = 0; i < _CGROUP_ABILITY_COUNT; i++)
		probe->findings[i] = lack(why->sys_errno, why->where, why->text);
	explain_controllers(probe);
	probe->base[0] = '\0';
	return 0;
}

int cgroup_probe(struct cgroup_probe *ret_probe, struct error *err)
{
	cleanup_with(group_freep) struct group *group = NULL;
	struct cgroup_probe probe = {0};
	struct error why = {0};
	int r = group_find_base(probe.base, sizeof probe.base, &why);

	if (r == 0 && probe.base[0] == '\0')
		r = error_set(&why, ERROR_NOT_FOUND, "find cgroup",
			"this process is in no cgroup of version 2 that is mounted here");
	if (r == 0)
		r = group_make(probe.base, &group, &why);
	if (r == 0)
		r = probe_group(&probe, group, &why);
	if (r < 0 && lack_all(&probe, &why, err) < 0)
		return -1;
	*ret_probe = probe;
	return 0;
}
