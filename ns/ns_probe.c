/*
 * The questions to a host, each a trial of its own: a child in a new user namespace and the one other that is asked
 * for, so that a host which refuses network namespaces is not said to refuse all. What the children do is what launches
 * do, by the same functions: a step that would fail in a launch fails here, with the same name and errno.
 *
 * Order: the user namespace comes first, and where it cannot be made, nothing else can: all others get its answer. Next
 * is the identity, because the rest is tried under the one that a launch would have; a launch by root that cannot map
 * other ids has only its own left.
 */
#include "ns/ns_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "ns/idmap.h"
#include "ns/loopback.h"
#include "ns/mount_fs.h"
#include "ns/mounts.h"

#define PROBE_TMPFS_BYTES (1u << 20)

static int step_nothing(void *userdata, struct error *err)
{
	(void)userdata;
	(void)err;
	return 0;
}

static pid_t clone_that_exits(void)
{
	struct clone_args args = {0};
	pid_t pid = sys_clone3(&args);

	if (pid == 0)
		_exit(0);
	return pid;
}

/* With room for two processes, one being this, the first child is made and the second is not: a dead child that was not
 * waited for counts still. Where the limit counts all of a user's processes the first is refused already. */
static int step_nproc(void *userdata, struct error *err)
{
	struct rlimit two = {2, 2};
	pid_t first;
	pid_t second;

	(void)userdata;
	if (setrlimit(RLIMIT_NPROC, &two) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "setrlimit RLIMIT_NPROC", "to 2");
	first = clone_that_exits();
	if (first < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "count processes", "all of the user's count");
	second = clone_that_exits();
	(void)waitpid(first, NULL, __WALL);
	if (second < 0)
		return 0;
	(void)waitpid(second, NULL, __WALL);
	return error_set(err, ERROR_UNENFORCEABLE, "count processes", "the limit does not hold");
}

static int become(void *userdata, struct error *err)
{
	return trial_become(userdata, err);
}

static int apply_mounts(bool host_root, struct mount_op *ops, size_t n_ops, void *identity, struct error *err)
{
	struct mount_plan plan = {.host_root = host_root, .ops = ops, .n_ops = n_ops, .scratch_at = n_ops};
	int fds[2] = {-1, -1};
	int scratch = -1;
	int r;

	if (mounts_take(&plan, NULL, fds, err) < 0)
		return -1;
	r = mounts_apply(&plan, fds, become, identity, &scratch, err);
	for (size_t i = 0; i < n_ops; i++)
		(void)fd_close(fds[i]);
	(void)fd_close(scratch);
	return r;
}

/* The whole tree read-only, then a tmpfs over the root. */
static int step_mount(void *userdata, struct error *err)
{
	struct mount_op over_root[] = {{.kind = MOUNT_BIND, .source = "/", .target = "/"},
		{.kind = MOUNT_TMPFS, .target = "/", .size_bytes = PROBE_TMPFS_BYTES, .mode = 0755}};

	return apply_mounts(true, over_root, 2, userdata, err);
}

static int step_devpts(void *userdata, struct error *err)
{
	cleanup_close int devpts = mount_fs_devpts();

	(void)userdata;
	if (devpts < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "mount devpts", "a new devpts");
	return 0;
}

static int step_new_root(void *userdata, struct error *err)
{
	return apply_mounts(false, NULL, 0, userdata, err);
}

static int step_first_pid(void *userdata, struct error *err)
{
	(void)userdata;
	if (getpid() == 1)
		return 0;
	return error_set(err, ERROR_UNENFORCEABLE, "getpid", "the first process is not number 1");
}

static int step_proc(void *userdata, struct error *err)
{
	struct mount_op proc = {.kind = MOUNT_PROC, .target = "/proc"};

	return apply_mounts(true, &proc, 1, userdata, err);
}

static int step_hostname(void *userdata, struct error *err)
{
	static const char name[] = "pinfold";

	(void)userdata;
	if (sethostname(name, sizeof name - 1) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "sethostname", "%s", name);
	return 0;
}

static int step_loopback(void *userdata, struct error *err)
{
	(void)userdata;
	return loopback_up(err);
}

/* A question about namespaces beside the user namespace, and the abilities that its steps answer, in order. */
struct question {
	uint64_t namespaces;
	const char *clone_step;
	bool become_later;
	size_t n;
	trial_step steps[TRIAL_STEPS_MAX];
	enum ns_ability abilities[TRIAL_STEPS_MAX];
};

/* Order: proc needs the tree as it is, and is asked before another one lies over it. */
static const struct question together = {
	CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET,
	"clone3 with all namespaces",
	true,
	10,
	{step_first_pid, step_proc, step_mount, step_devpts, step_nothing, step_hostname, step_nothing, step_nothing,
		step_loopback, step_new_root},
	{NS_PID, NS_PROC, NS_MOUNT, NS_DEVPTS, NS_IPC, NS_UTS, NS_CGROUP, NS_NET, NS_LOOPBACK, NS_NEW_ROOT},
};

static const struct question each[] = {
	{CLONE_NEWNS, "clone3 with CLONE_NEWNS", true, 3, {step_mount, step_devpts, step_new_root},
		{NS_MOUNT, NS_DEVPTS, NS_NEW_ROOT}},
	{CLONE_NEWPID | CLONE_NEWNS, "clone3 with CLONE_NEWPID", true, 2, {step_first_pid, step_proc}, {NS_PID, NS_PROC}},
	{CLONE_NEWIPC, "clone3 with CLONE_NEWIPC", false, 1, {step_nothing}, {NS_IPC}},
	{CLONE_NEWUTS, "clone3 with CLONE_NEWUTS", false, 1, {step_hostname}, {NS_UTS}},
	{CLONE_NEWCGROUP, "clone3 with CLONE_NEWCGROUP", false, 1, {step_nothing}, {NS_CGROUP}},
	{CLONE_NEWNET, "clone3 with CLONE_NEWNET", false, 2, {step_nothing, step_loopback}, {NS_NET, NS_LOOPBACK}},
};

/* 1 where every step works, 0 where not. */
static int ask(struct ns_probe *probe, const struct question *question, struct trial_identity *identity, struct error *err)
{
	struct trial_finding findings[TRIAL_STEPS_MAX] = {0};
	struct trial trial = {.namespaces = CLONE_NEWUSER | question->namespaces,
		.clone_step = question->clone_step,
		.identity = identity,
		.become_later = question->become_later,
		.steps = question->steps,
		.n_steps = question->n,
		.userdata = identity,
		.timeout_ns = probe->timeout_ns};
	int all = 1;

	if (trial_run(&trial, findings, err) < 0)
		return -1;
	for (size_t i = 0; i < question->n; i++) {
		probe->findings[question->abilities[i]] = findings[i];
		all = all && findings[i].works;
	}
	return all;
}

/* All at once, as a launch does it; one by one where something does not work, to tell what. */
static int ask_namespaces(struct ns_probe *probe, struct trial_identity *identity, struct error *err)
{
	struct ns_probe answer;
	int all = ask(probe, &together, identity, err);
	int works = 1;

	if (all != 0)
		return all < 0 ? -1 : 0;
	answer = *probe;
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		int r = ask(&answer, &each[i], identity, err);

		if (r < 0)
			return -1;
		works = works && r > 0;
	}
	/* Each alone works, but a launch needs them together: what was said first stands. */
	if (!works)
		*probe = answer;
	return 0;
}

static int ask_identity(struct ns_probe *probe, struct trial_identity *own, struct trial_identity *mapped,
	struct trial_identity **ret_identity, struct error *err)
{
	static const struct question user = {
		0, "clone3 with CLONE_NEWUSER", false, 2, {step_nothing, step_nproc}, {NS_OWN_ID, NS_NPROC}};
	static const struct question other = {
		0, "clone3 with CLONE_NEWUSER", false, 2, {step_nothing, step_nproc}, {NS_ID_MAP, NS_NPROC}};
	struct trial_finding nproc;

	if (ask(probe, &user, own, err) < 0)
		return -1;
	nproc = probe->findings[NS_NPROC];
	if (ask(probe, &other, mapped, err) < 0)
		return -1;
	/* Root without CAP_SETFCAP may map others, but not itself (user_namespaces(7)). */
	probe->findings[NS_USER] = probe->findings[NS_OWN_ID];
	if (probe->privileged && probe->findings[NS_ID_MAP].works)
		probe->findings[NS_USER] = probe->findings[NS_ID_MAP];
	*ret_identity = probe->privileged && probe->findings[NS_ID_MAP].works ? mapped : own;
	if (*ret_identity == own)
		probe->findings[NS_NPROC] = nproc;
	return 0;
}

int ns_probe(struct ns_probe *probe, struct error *err)
{
	struct trial_identity own = {.uid = geteuid(), .gid = getegid(), .privileged = probe->privileged};
	struct trial_identity mapped = {.uid = probe->inner_uid,
		.gid = probe->inner_uid,
		.mapped = true,
		.privileged = probe->privileged,
		.uid_base = probe->uid_base};
	struct trial_identity *identity = NULL;

	if (ask_identity(probe, &own, &mapped, &identity, err) < 0)
		return -1;
	if (!probe->findings[NS_USER].works) {
		for (int i = 0; i < _NS_ABILITY_COUNT; i++)
			probe->findings[i] = probe->findings[NS_USER];
		return 0;
	}
	return ask_namespaces(probe, identity, err);
}

struct idmap_question {
	const char *directory;
	bool alone;
	int idmap_fd;
};

static int step_idmapped_mount(void *userdata, struct error *err)
{
	const struct idmap_question *question = userdata;
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)question->idmap_fd};
	unsigned below = question->alone ? 0 : AT_RECURSIVE;
	cleanup_close int tree = -1;

	tree = sys_open_tree(AT_FDCWD, question->directory, below | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "open_tree", "a detached clone");
	attr.propagation = MS_PRIVATE;
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | below, &attr) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "id-mapped mount", "of the file system");
	return 0;
}

int ns_probe_idmapped_mount(const struct ns_probe *probe, const char *directory, bool alone,
	struct trial_finding *ret_finding, struct error *err)
{
	static const trial_step step = step_idmapped_mount;
	struct idmap map = {.outer_uid = geteuid(), .outer_gid = getegid(), .deny_setgroups = !probe->privileged};
	struct trial_finding finding = {.step = "user namespace for id-mapped mounts"};
	struct error local = {0};
	cleanup_close int idmap_fd = -1;

	if (probe->privileged) {
		map.outer_uid = probe->uid_base + (uid_t)getpid();
		map.outer_gid = map.outer_uid;
	}
	idmap_fd = idmap_namespace(&map, &local);
	if (idmap_fd >= 0) {
		struct idmap_question question = {directory, alone, idmap_fd};
		struct trial trial = {.clone_step = "clone3",
			.steps = &step,
			.n_steps = 1,
			.userdata = &question,
			.timeout_ns = probe->timeout_ns};

		if (trial_run(&trial, &finding, err) < 0)
			return -1;
	} else {
		finding.sys_errno = local.sys_errno;
	}
	*ret_finding = finding;
	return 0;
}
