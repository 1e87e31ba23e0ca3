/*
 * That a cgroup2 mount is there says little: it may be read-only, another user's, without any controller because
 * version 1 holds them all, or with controllers that are not switched on for groups below ours. So a group is made
 * below each cgroup that comes into question, a child is cloned into it, its files are looked at, and it is removed.
 * A run takes some of it for granted instead, because it makes its own group at once: where it cannot, it asks again.
 * The first in which all works that is wanted is taken, else the one in which most does.
 *
 * Where a service manager owns the tree, its units are its own: nothing is switched on in one that it has not
 * delegated, even where root could, for it takes back at any time what it does not know of. Root's last resort is the
 * root of the hierarchy, with the controllers that the manager keeps on there for its own accounting: memory and pids.
 */
#include "cgroup/cgroup_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cgroup/candidates.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "cgroup/manager.h"
#include "cgroup/place.h"

#define WORTH_CONTROLLER 16
#define WORTH_GROUP      4

static const enum cgroup_ability abilities[_CONTROLLER_COUNT] = {
	[CONTROLLER_MEMORY] = CGROUP_MEMORY,
	[CONTROLLER_PIDS] = CGROUP_PIDS,
	[CONTROLLER_CPU] = CGROUP_CPU,
};

struct cgroup_hold {
	struct place place;
};

/* One cgroup that was tried. */
struct attempt {
	struct place place;
	struct cgroup_finding findings[_CGROUP_ABILITY_COUNT];
};

struct search {
	const struct cgroup_request *request;
	struct attempt best;
	bool any;
};

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

static struct cgroup_finding try_file(const struct group *group, const char *name)
{
	if (faccessat(group_limits_fd(group), name, R_OK | W_OK, AT_EACCESS) == 0)
		return (struct cgroup_finding){.works = true};
	return lack(errno, name, "the group has no such file, or it cannot be written to");
}

/* group: NULL where none was made, and its files are taken for granted. */
static void probe_controllers(struct attempt *attempt, const struct group *group)
{
	const struct cgroup_finding granted = {.works = true};

	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		const struct place_lack *missing = &attempt->place.lacks[i];

		attempt->findings[abilities[i]] = (attempt->place.on & CONTROLLER_BIT(i)) != 0
			? (group == NULL ? granted : try_file(group, controller_knob(i)))
			: lack(missing->sys_errno, missing->step, missing->detail);
	}
	attempt->findings[CGROUP_SWAP] = attempt->findings[CGROUP_MEMORY];
	if (group != NULL && attempt->findings[CGROUP_MEMORY].works)
		attempt->findings[CGROUP_SWAP] = try_file(group, "memory.swap.max");
}

static int probe_group(struct attempt *attempt, struct error *err)
{
	cleanup_with(group_freep) struct group *group = NULL;

	if (group_make(attempt->place.path, false, &group, err) < 0 || try_entering(group, err) < 0)
		return -1;
	attempt->findings[CGROUP_KILL] = (struct cgroup_finding){.works = true};
	if (faccessat(group_limits_fd(group), "cgroup.kill", W_OK, AT_EACCESS) < 0)
		attempt->findings[CGROUP_KILL] = lack(errno, "cgroup.kill", "");
	probe_controllers(attempt, group);
	if (group_remove(group, err) < 0)
		return -1;
	attempt->findings[CGROUP_GROUP] = (struct cgroup_finding){.works = true};
	return 0;
}

/* As a run asks, which then makes its group itself. */
static int expect_group(struct attempt *attempt, struct error *err)
{
	if (faccessat(attempt->place.fd, ".", W_OK, AT_EACCESS) < 0)
		return error_set_errno(err, group_error_code(errno), errno, "mkdir cgroup", "cannot make a cgroup");
	probe_controllers(attempt, NULL);
	attempt->findings[CGROUP_KILL] = (struct cgroup_finding){.works = true};
	attempt->findings[CGROUP_GROUP] = (struct cgroup_finding){.works = true};
	return 0;
}

/* Without a group of our own the place still says which controllers it does not have; the remedy is another one then. */
static void lack_all(struct attempt *attempt, const struct error *why)
{
	for (int i = 0; i < _CGROUP_ABILITY_COUNT; i++)
		attempt->findings[i] = lack(why->sys_errno, why->where, why->text);
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		const struct place_lack *missing = &attempt->place.lacks[i];

		if (strcmp(missing->step, "cgroup.controllers") == 0)
			attempt->findings[abilities[i]] = lack(missing->sys_errno, missing->step, missing->detail);
	}
	attempt->findings[CGROUP_SWAP] = attempt->findings[CGROUP_MEMORY];
}

static unsigned lacks_of(const struct attempt *attempt, unsigned wanted)
{
	unsigned set = 0;

	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if (!attempt->findings[abilities[i]].works)
			set |= wanted & CONTROLLER_BIT(i);
	}
	return set;
}

/* How much works: most of all each controller that is wanted, then that there is a group at all. Of two that lack the
 * same, the one counts more that has the controller and cannot switch it on: there is less to mend. */
static int worth(const struct attempt *attempt, unsigned wanted)
{
	unsigned lacking = lacks_of(attempt, wanted);
	int sum = attempt->findings[CGROUP_GROUP].works ? WORTH_GROUP : 0;

	sum += WORTH_CONTROLLER * __builtin_popcount(wanted & ~lacking);
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if ((lacking & CONTROLLER_BIT(i)) != 0 &&
			strcmp(attempt->findings[abilities[i]].step, "cgroup.subtree_control") == 0)
			sum++;
	}
	return sum;
}

/* Takes the attempt where it is better than what there is. */
static void take_better(struct search *search, struct attempt *attempt)
{
	unsigned wanted = search->request->wanted;

	if (search->any && worth(attempt, wanted) <= worth(&search->best, wanted)) {
		place_close(&attempt->place);
		return;
	}
	if (search->any)
		place_close(&search->best.place);
	search->best = *attempt;
	search->any = true;
}

static int fail_attempt(struct search *search, struct attempt *attempt, const struct error *why, struct error *err)
{
	if (is_shortage(why)) {
		place_close(&attempt->place);
		if (err != NULL)
			*err = *why;
		return -1;
	}
	lack_all(attempt, why);
	take_better(search, attempt);
	return 0;
}

/* `trusted`: controllers that nobody is going to switch off. Not inlined: an attempt is some kilobytes of stack. */
static __attribute__((noinline)) int try_trusted(
	struct search *search, const char *path, unsigned wanted, unsigned trusted, struct error *err)
{
	struct attempt attempt = {.place = PLACE_INIT};
	struct error why = {0};

	if (place_open(path, wanted, &attempt.place, &why) < 0)
		return fail_attempt(search, &attempt, &why, err);
	attempt.place.on &= trusted;
	if ((search->request->untried ? expect_group(&attempt, &why) : probe_group(&attempt, &why)) < 0)
		return fail_attempt(search, &attempt, &why, err);
	take_better(search, &attempt);
	return 0;
}

static int try_at(struct search *search, const char *path, unsigned wanted, struct error *err)
{
	return try_trusted(search, path, wanted, ~0u, err);
}

static __attribute__((noinline)) int lack_for(struct search *search, const struct error *why, struct error *err)
{
	struct attempt attempt = {.place = PLACE_INIT};

	return fail_attempt(search, &attempt, why, err);
}

/* What stands in the way of a scope becomes the reason of what is lacking, for it is what can be mended. */
static void explain(struct search *search, unsigned lacks, const struct error *why)
{
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if ((lacks & CONTROLLER_BIT(i)) != 0)
			search->best.findings[abilities[i]] = lack(why->sys_errno, why->where, why->text);
	}
	if ((lacks & CONTROLLER_BIT(CONTROLLER_MEMORY)) != 0)
		search->best.findings[CGROUP_SWAP] = search->best.findings[CGROUP_MEMORY];
}

static int try_scope(struct search *search, const char *own, struct error *err)
{
	unsigned lacks = lacks_of(&search->best, search->request->worth_a_scope);
	char path[PLACE_PATH_MAX];
	struct error why = {0};

	if (lacks == 0 || !manager_runs() || manager_unit_of(own) == UNIT_NONE)
		return 0;
	if (manager_unit_of(own) != UNIT_SCOPE) {
		(void)error_set(&why, ERROR_UNENFORCEABLE, "delegation",
			"this process is in a unit of the service manager whose cgroup is not delegated");
		explain(search, lacks, &why);
		return 0;
	}
	if (manager_enter_scope(&why) == 0 && group_base_own(path, sizeof path, &why) == 0)
		return try_at(search, path, search->request->wanted, err);
	if (is_shortage(&why))
		return lack_for(search, &why, err);
	explain(search, lacks, &why);
	return 0;
}

static int try_top(struct search *search, const char *own, struct error *err)
{
	const unsigned kept = CONTROLLER_BIT(CONTROLLER_MEMORY) | CONTROLLER_BIT(CONTROLLER_PIDS);
	char top[PLACE_PATH_MAX];

	if (lacks_of(&search->best, search->request->wanted) == 0 || !candidate_top(own, top, sizeof top) ||
		strcmp(top, own) == 0)
		return 0;
	if (manager_runs())
		return try_trusted(search, top, 0, kept, err);
	return try_at(search, top, search->request->wanted, err);
}

/* Order: a scope late, for it moves this process. */
static int search_own(struct search *search, const char *own, struct error *err)
{
	unsigned wanted = search->request->wanted;
	char above[PLACE_PATH_MAX];

	if (try_at(search, own, candidate_is_the_managers(own) ? 0 : wanted, err) < 0)
		return -1;
	if (lacks_of(&search->best, wanted) != 0 && candidate_above(own, above, sizeof above) &&
		try_at(search, above, wanted, err) < 0)
		return -1;
	return try_scope(search, own, err) < 0 ? -1 : try_top(search, own, err);
}

static int search_all(struct search *search, struct error *err)
{
	struct error why = {0};
	char path[PLACE_PATH_MAX];
	int named = group_base_named(path, sizeof path, &why);

	if (named > 0)
		return try_at(search, path, search->request->wanted, err);
	if (named < 0 || group_base_find(path, sizeof path, &why) < 0)
		return lack_for(search, &why, err);
	if (*path != '\0')
		return search_own(search, path, err);
	(void)error_set(
		&why, ERROR_NOT_FOUND, "find cgroup", "this process is in no cgroup of version 2 that is mounted here");
	return lack_for(search, &why, err);
}

struct cgroup_hold *cgroup_hold_free(struct cgroup_hold *hold)
{
	if (hold == NULL)
		return NULL;
	place_close(&hold->place);
	free(hold);
	return NULL;
}

static int take_best(struct search *search, struct cgroup_probe *ret_probe, struct error *err)
{
	struct cgroup_probe probe = {0};

	memcpy(probe.findings, search->best.findings, sizeof probe.findings);
	if (probe.findings[CGROUP_GROUP].works) {
		probe.hold = malloc(sizeof *probe.hold);
		if (probe.hold == NULL)
			return error_no_memory(err);
		_Static_assert(sizeof probe.base == sizeof search->best.place.path, "a path fits");
		memcpy(probe.base, search->best.place.path, sizeof probe.base);
		probe.hold->place = search->best.place;
		search->best.place = PLACE_INIT;
	}
	*ret_probe = probe;
	return 0;
}

int cgroup_probe(const struct cgroup_request *request, struct cgroup_probe *ret_probe, struct error *err)
{
	struct search search = {.request = request, .best = {.place = PLACE_INIT}};
	int r = search_all(&search, err);

	if (r == 0)
		r = take_best(&search, ret_probe, err);
	place_close(&search.best.place);
	return r;
}
