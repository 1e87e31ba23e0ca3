/*
 * The child's side of the mounts. It has a mount namespace that is a copy of the host's, owned by its own user namespace.
 *
 * Order: (1) the whole copy becomes private and, where it stays the root, read-only in one recursive call; (2) the child
 * becomes its mapped uid, for a file system made by an unmapped one cannot be written to by anybody; (3) the scratch
 * tmpfs; (4) the operations, parents before children; (5) where a new root was built, it replaces the old one, which is
 * detached. proc is mounted in (4), while the old root's proc is still there: the kernel demands a visible one.
 *
 * Threat: targets below a writable or foreign tree may hold symlinks that lead elsewhere. Every target is opened without
 * following any, and mounts go onto the descriptor, never onto a path.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "ns/mount_fs.h"
#include "ns/mounts.h"

struct applier {
	const struct mount_plan *plan;
	int *fds;
	int base;    /* root of the tree under construction */
	int scratch; /* root of the scratch tmpfs, -1 before it is made */
	/* The directory in which something was made last: devices come in a row. */
	int parent; /* -1: none */
	const char *parent_of;
	size_t parent_size;
};

static int fail(struct error *err, const struct mount_op *op, const char *where)
{
	return error_set_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_UNENFORCEABLE, errno, where, "%s %s",
		mount_kind_name(op->kind), op->target);
}

static void forget_parent(struct applier *applier)
{
	(void)fd_close(applier->parent);
	applier->parent = -1;
}

/* 1: the target is gone and may be. */
static int open_target(struct applier *applier, const struct mount_op *op, int *ret_fd, struct error *err)
{
	int fd;

	if (strlen(op->target) <= applier->parent_size)
		forget_parent(applier);
	fd = beneath_open(applier->base, op->target, O_PATH, 0);
	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	if (errno == ENOENT && (op->flags & MOUNT_OPTIONAL) != 0)
		return 1;
	return fail(err, op, "open target");
}

static int attach(struct applier *applier, const struct mount_op *op, int mount_fd, struct error *err)
{
	cleanup_close int target = -1;
	int r = open_target(applier, op, &target, err);

	if (r != 0)
		return r < 0 ? -1 : 0;
	if (mount_fs_attach(mount_fd, target) < 0)
		return fail(err, op, "move_mount");
	if (strcmp(op->target, "/") != 0)
		return 0;
	/* What is mounted on the new root becomes the root that later operations build on. */
	r = fcntl(mount_fd, F_DUPFD_CLOEXEC, 0);
	if (r < 0)
		return fail(err, op, "dup root");
	(void)fd_close(applier->base);
	applier->base = r;
	return 0;
}

static int apply_bind(struct applier *applier, const struct mount_op *op, struct error *err)
{
	size_t i = (size_t)(op - applier->plan->ops);
	cleanup_close int tree = steal_fd(&applier->fds[i]);

	if (tree < 0)
		return 0; /* optional, and gone since the plan */
	return attach(applier, op, tree, err);
}

static int attach_new(
	struct applier *applier, const struct mount_op *op, int mount_fd, const char *where, struct error *err)
{
	cleanup_close int fd = mount_fd;

	if (fd < 0)
		return fail(err, op, where);
	return attach(applier, op, fd, err);
}

static int apply_tmpfs(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return attach_new(applier, op, mount_fs_tmpfs(op->size_bytes, op->mode), "mount tmpfs", err);
}

static int apply_proc(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return attach_new(applier, op, mount_fs_proc(), "mount proc", err);
}

static int apply_devpts(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return attach_new(applier, op, mount_fs_devpts(), "mount devpts", err);
}

static int clone_scratch(const struct applier *applier, const char *name, unsigned flags)
{
	cleanup_close int path = openat(applier->scratch, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return path < 0 ? -1 : mount_fs_clone(path, mount_fs_attributes(flags), -1);
}

static int apply_scratch(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return attach_new(applier, op, clone_scratch(applier, op->source, op->flags), "bind scratch", err);
}

static int apply_mask(struct applier *applier, const struct mount_op *op, struct error *err)
{
	cleanup_close int target = -1;
	cleanup_close int tree = -1;
	struct stat st;
	int r = open_target(applier, op, &target, err);

	if (r != 0)
		return r < 0 ? -1 : 0;
	if (fstat(target, &st) < 0)
		return fail(err, op, "stat target");
	tree = clone_scratch(applier, S_ISDIR(st.st_mode) ? MOUNT_MASK_DIRECTORY : MOUNT_MASK_FILE, 0);
	if (tree < 0 || mount_fs_attach(tree, target) < 0)
		return fail(err, op, "mask");
	return 0;
}

static int apply_pin(struct applier *applier, const struct mount_op *op, struct error *err)
{
	cleanup_close int target = -1;
	cleanup_close int tree = -1;
	int r = open_target(applier, op, &target, err);

	if (r != 0)
		return r < 0 ? -1 : 0;
	tree = mount_fs_clone(target, mount_fs_attributes(op->flags), -1);
	if (tree < 0 || mount_fs_attach(tree, target) < 0)
		return fail(err, op, "pin");
	return 0;
}

/* Order: parents come before children, so that nothing is mounted on a directory in which something was made already;
 * should it be, it is opened again. */
static int open_parent(struct applier *applier, const char *target, const char **ret_name)
{
	size_t size = (size_t)(strrchr(target, '/') - target);

	if (applier->parent >= 0 && size == applier->parent_size && memcmp(target, applier->parent_of, size) == 0) {
		*ret_name = target + size + 1;
		return applier->parent;
	}
	forget_parent(applier);
	applier->parent = beneath_open_parent(applier->base, target, ret_name);
	applier->parent_of = target;
	applier->parent_size = size;
	return applier->parent;
}

/* Creates op->target by `create`; something of that name being there is fine, what it is shows when it is mounted on. */
static int create_at(struct applier *applier, const struct mount_op *op,
	int (*create)(int parent, const char *name, const struct mount_op *op), struct error *err)
{
	const char *name = NULL;
	int parent = open_parent(applier, op->target, &name);

	if (parent < 0)
		return fail(err, op, "open parent");
	if (create(parent, name, op) < 0 && errno != EEXIST)
		return fail(err, op, "create");
	return 0;
}

static int create_directory(int parent, const char *name, const struct mount_op *op)
{
	return mkdirat(parent, name, op->mode);
}

static int create_file(int parent, const char *name, const struct mount_op *op)
{
	return mknodat(parent, name, S_IFREG | (op->mode != 0 ? op->mode : 0444), 0);
}

static int create_symlink(int parent, const char *name, const struct mount_op *op)
{
	return symlinkat(op->source, parent, name);
}

static int apply_directory(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return create_at(applier, op, create_directory, err);
}

static int apply_file(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return create_at(applier, op, create_file, err);
}

static int apply_symlink(struct applier *applier, const struct mount_op *op, struct error *err)
{
	return create_at(applier, op, create_symlink, err);
}

static int apply_readonly(struct applier *applier, const struct mount_op *op, struct error *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	cleanup_close int target = -1;
	int r = open_target(applier, op, &target, err);

	if (r != 0)
		return r < 0 ? -1 : 0;
	if (sys_mount_setattr(target, "", AT_EMPTY_PATH, &attr) < 0)
		return fail(err, op, "mount_setattr");
	return 0;
}

static const struct {
	const char *name;
	int (*apply)(struct applier *, const struct mount_op *, struct error *);
} kinds[_MOUNT_KIND_COUNT] = {
	[MOUNT_BIND] = {"bind", apply_bind},
	[MOUNT_SCRATCH] = {"scratch", apply_scratch},
	[MOUNT_TMPFS] = {"tmpfs", apply_tmpfs},
	[MOUNT_PROC] = {"proc", apply_proc},
	[MOUNT_DEVPTS] = {"devpts", apply_devpts},
	[MOUNT_PIN] = {"pin", apply_pin},
	[MOUNT_MASK] = {"mask", apply_mask},
	[MOUNT_DIRECTORY] = {"directory", apply_directory},
	[MOUNT_FILE] = {"file", apply_file},
	[MOUNT_SYMLINK] = {"symlink", apply_symlink},
	[MOUNT_READONLY] = {"readonly", apply_readonly},
};

const char *mount_kind_name(enum mount_kind kind)
{
	return kind < _MOUNT_KIND_COUNT ? kinds[kind].name : "unknown";
}

static int settle_namespace(bool host_root, struct error *err)
{
	struct mount_attr attr = {.propagation = MS_PRIVATE};

	if (host_root)
		attr.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if (sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr) == 0)
		return 0;
	(void)error_set_errno(
		err, ERROR_UNENFORCEABLE, errno, "mount_setattr", "the root cannot be made private and read-only");
	if (errno == EINVAL)
		error_set_fix(err, "the root directory must be a mount point: do not start pinfold in a plain chroot");
	else if (errno == ENOSYS)
		error_set_fix(err,
			"Linux 5.12 or later is needed, and an outer seccomp filter must let mount_setattr through");
	return -1;
}

static int make_root(struct applier *applier, struct error *err)
{
	cleanup_close int old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int root = -1;

	if (old_root < 0)
		return error_set_errno(err, ERROR_IO, errno, "open root", "/");
	if (applier->plan->host_root) {
		applier->base = steal_fd(&old_root);
		return 0;
	}
	root = mount_fs_tmpfs(1 << 20, 0755);
	if (root < 0 || mount_fs_attach(root, old_root) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "mount root", "a new root cannot be made");
	applier->base = steal_fd(&root);
	return 0;
}

static int fill_scratch(const struct applier *applier, const struct mount_scratch *entry, struct error *err)
{
	cleanup_close int fd = -1;

	if (entry->directory) {
		if (mkdirat(applier->scratch, entry->name, entry->mode) < 0)
			return error_set_errno(err, ERROR_IO, errno, "scratch", "%s", entry->name);
		return 0;
	}
	fd = openat(applier->scratch, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, entry->mode);
	if (fd < 0 || (entry->content != NULL && fd_write_all(fd, entry->content, strlen(entry->content)) < 0))
		return error_set_errno(err, ERROR_IO, errno, "scratch", "%s", entry->name);
	return 0;
}

static int make_scratch(struct applier *applier, struct error *err)
{
	const struct mount_plan *plan = applier->plan;
	cleanup_close int target = -1;

	if (plan->n_scratch == 0)
		return 0;
	applier->scratch = mount_fs_tmpfs(plan->scratch_size_bytes, 0755);
	if (applier->scratch < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "mount tmpfs", "the scratch file system");
	/* Attached, because only an attached mount can be cloned; a later operation covers it. */
	target = beneath_open(applier->base, plan->scratch_target, O_PATH | O_DIRECTORY, 0);
	if (target < 0 || mount_fs_attach(applier->scratch, target) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "mount tmpfs", "on %s", plan->scratch_target);
	for (size_t i = 0; i < plan->n_scratch; i++) {
		if (fill_scratch(applier, &plan->scratch[i], err) < 0)
			return -1;
	}
	return 0;
}

static int enter_root(struct applier *applier, struct error *err)
{
	if (applier->plan->host_root) {
		if (chdir("/") < 0)
			return error_set_errno(err, ERROR_IO, errno, "chdir", "/");
		return 0;
	}
	if (fchdir(applier->base) < 0 || sys_pivot_root(".", ".") < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "pivot_root", "the new root cannot be entered");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "umount", "the old root cannot be detached");
	return 0;
}

static int apply_all(
	struct applier *applier, int (*before_targets)(void *, struct error *), void *userdata, struct error *err)
{
	const struct mount_plan *plan = applier->plan;

	if (settle_namespace(plan->host_root, err) < 0 || before_targets(userdata, err) < 0)
		return -1;
	if (make_root(applier, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (i == plan->scratch_at && make_scratch(applier, err) < 0)
			return -1;
		if (kinds[plan->ops[i].kind].apply(applier, &plan->ops[i], err) < 0)
			return -1;
	}
	return enter_root(applier, err);
}

int mounts_apply(const struct mount_plan *plan, int *fds, int (*before_targets)(void *, struct error *), void *userdata,
	int *ret_scratch_fd, struct error *err)
{
	struct applier applier = {.plan = plan, .fds = fds, .base = -1, .scratch = -1, .parent = -1};
	mode_t mask = umask(0); /* modes are the plan's, whatever the caller's umask */
	int r = apply_all(&applier, before_targets, userdata, err);

	(void)umask(mask);
	forget_parent(&applier);
	(void)fd_close(applier.base);
	if (r < 0) {
		(void)fd_close(applier.scratch);
		return -1;
	}
	*ret_scratch_fd = applier.scratch;
	return 0;
}

int mounts_repair(const struct mount_op *op, int scratch_fd, struct error *err)
{
	struct applier applier = {
		.base = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .scratch = scratch_fd, .parent = -1};
	struct mount_op required = *op;
	int r;

	if (applier.base < 0)
		return error_set_errno(err, ERROR_IO, errno, "open root", "/");
	/* A name that has gone may come back unmasked: that cannot be repaired. */
	required.flags &= ~(unsigned)MOUNT_OPTIONAL;
	r = kinds[op->kind].apply(&applier, &required, err);
	forget_parent(&applier);
	(void)fd_close(applier.base);
	return r;
}
