/*
 * A second fence behind the mounts and namespaces, by another part of the kernel: what a mistake in the first one would
 * open stays shut. Nothing depends on it, and it can only take away, so that each ABI's share is taken where it is there.
 *
 * The rights on files are only those to change them: reading is the mounts' affair. A rule hangs on the inode that is
 * found at its path, and gives the right for all that is reached through it, whatever is mounted further down. So the
 * rules are made when the mounts stand, and cannot except a part of a tree: protected paths below a writable one are not
 * fenced twice.
 *
 * Fallback, the ladder: ABI 1 has no right to move files between directories, and denies every such move: git and mv
 * would break, so it is not used. ABI 2 has it. 3 adds truncate(2), without which a file can still be cut by its path. 4
 * adds TCP, 5 ioctl on devices, 6 the scopes.
 */
#include "ns/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"

/* As the kernel names them; its headers here may be older than it. */
#define FS_TRUNCATE           (1ull << 14)
#define FS_IOCTL_DEV          (1ull << 15)
#define NET_BIND_TCP          (1ull << 0)
#define NET_CONNECT_TCP       (1ull << 1)
#define SCOPE_ABSTRACT_SOCKET (1ull << 0)
#define SCOPE_SIGNAL          (1ull << 1)

#define DEVICE_NODES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define CHANGES                                                                                            \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |  \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | DEVICE_NODES)
#define OF_FILES (LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV) /* the others are a directory's */

struct ruleset {
	uint64_t files, tcp, scopes;
};

static const struct {
	unsigned abi;
	struct ruleset adds;
} ladder[] = {
	{2, {.files = CHANGES}},
	{3, {.files = FS_TRUNCATE}},
	{4, {.tcp = NET_BIND_TCP | NET_CONNECT_TCP}},
	{5, {.files = FS_IOCTL_DEV}},
	{6, {.scopes = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL}},
};

struct landlock_abilities landlock_abilities(unsigned abi)
{
	struct landlock_abilities abilities = {0};

	for (size_t i = 0; i < sizeof ladder / sizeof *ladder && ladder[i].abi <= abi; i++) {
		abilities.files |= ladder[i].adds.files;
		abilities.tcp |= ladder[i].adds.tcp;
		abilities.scopes |= ladder[i].adds.scopes;
	}
	abilities.tree = abilities.files & ~(DEVICE_NODES | FS_IOCTL_DEV);
	abilities.content = abilities.files & OF_FILES;
	abilities.truncate = abilities.files & FS_TRUNCATE;
	return abilities;
}

/* 0, or -1 with errno. */
static int give_back(int ruleset, int place, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = place};
	struct stat st;

	if (fstat(place, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	if (rule.allowed_access == 0)
		return 0;
	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int give_paths(int ruleset, const struct landlock_plan *plan, struct error *err)
{
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return error_set_errno(err, ERROR_IO, errno, "open root", "/");
	for (size_t i = 0; i < plan->n_rules; i++) {
		const struct landlock_rule *rule = &plan->rules[i];
		cleanup_close int place = beneath_open(root, rule->path, O_PATH, 0);

		if (place < 0 && errno == ENOENT && rule->optional)
			continue;
		if (place < 0 || give_back(ruleset, place, rule->access) < 0)
			return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "landlock_add_rule", "%s", rule->path);
	}
	return 0;
}

/* A stream that is a file or a terminal may be opened anew: that is what /dev/stdout does. Pipes, sockets and memory
 * files belong to no tree, and take no rule and need none: EBADFD. */
static int give_streams(
	int ruleset, const struct landlock_plan *plan, const int *streams, size_t n_streams, struct error *err)
{
	for (size_t i = 0; i < n_streams; i++) {
		int flags = streams[i] < 0 ? O_RDONLY : fcntl(streams[i], F_GETFL);

		if (flags < 0)
			return error_set_errno(err, ERROR_IO, errno, "fcntl", "stream %zu", i);
		if ((flags & O_ACCMODE) == O_RDONLY)
			continue;
		if (give_back(ruleset, streams[i], plan->stream_access) < 0 && errno != EBADFD)
			return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "landlock_add_rule", "stream %zu", i);
	}
	return 0;
}

int landlock_make(const struct landlock_plan *plan, const int *streams, size_t n_streams, int *ret_fd, struct error *err)
{
	/* An older kernel takes the longer structure as long as what it does not know is zero. */
	struct ruleset held = {plan->files, plan->tcp, plan->scopes};
	cleanup_close int ruleset = -1;

	if (landlock_is_asked(plan)) {
		ruleset = (int)syscall(SYS_landlock_create_ruleset, &held, sizeof held, 0);
		if (ruleset < 0)
			return error_set_errno(
				err, ERROR_UNENFORCEABLE, errno, "landlock_create_ruleset", "the fence cannot be made");
		if (held.files != 0 &&
			(give_paths(ruleset, plan, err) < 0 || give_streams(ruleset, plan, streams, n_streams, err) < 0))
			return -1;
	}
	*ret_fd = steal_fd(&ruleset);
	return 0;
}
