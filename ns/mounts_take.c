/*
 * The sources of the binds, opened before anything changes. A clone taken after its parent became read-only would inherit
 * that; a source opened by the mapped uid might not be found at all, for root's private directories are closed to it.
 *
 * Race: the plan resolved every symlink and decided on what it saw. Here no symlink is followed any more, so what is
 * opened is what was decided on, or the launch fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "ns/mount_fs.h"
#include "ns/mounts.h"

static int check_device(int fd, const struct mount_op *op, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, ERROR_IO, errno, "stat device", "%s", op->source);
	if (!S_ISCHR(st.st_mode))
		return error_set(err, ERROR_UNENFORCEABLE, "check device", "%s is not a character device", op->source);
	return 0;
}

/* Race: another writer of a shared directory may have put a different one in its place since the plan looked at it. */
static int check_same(int fd, const struct mount_op *op, struct error *err)
{
	struct stat st;

	if (op->inode == 0 || (fstat(fd, &st) == 0 && st.st_dev == op->device && st.st_ino == op->inode))
		return 0;
	(void)error_set(err, ERROR_UNENFORCEABLE, "open source", "%s was replaced while the run was being prepared",
		op->source);
	error_set_fix(err, "start the run again");
	if (err != NULL)
		err->retryable = ERROR_RETRY_YES;
	return -1;
}

static int take_one(int root_fd, const struct mount_op *op, const int *idmap_fds, int *ret_fd, struct error *err)
{
	bool idmap = (op->flags & MOUNT_IDMAP) != 0 && idmap_fds != NULL;
	cleanup_close int path = -1;
	int tree;

	path = beneath_open(root_fd, op->source, O_PATH, 0);
	if (path < 0) {
		if (errno == ENOENT && (op->flags & MOUNT_OPTIONAL) != 0)
			return 0;
		return error_set_errno(err, ERROR_NOT_FOUND, errno, "open source", "%s", op->source);
	}
	if (check_same(path, op, err) < 0)
		return -1;
	if ((op->flags & MOUNT_DEVICE) != 0 && check_device(path, op, err) < 0)
		return -1;
	tree = mount_fs_clone(path, mount_fs_attributes(op->flags), idmap ? idmap_fds[op->owner] : -1);
	if (tree < 0 && (op->flags & MOUNT_TRY_IDMAP) != 0) {
		idmap = false;
		tree = mount_fs_clone(path, mount_fs_attributes(op->flags), -1);
	}
	if (tree < 0 && idmap) {
		(void)error_set_errno(err, ERROR_UNENFORCEABLE, errno, "id-mapped mount",
			"%s cannot be shown to the command under an id of its own", op->source);
		error_set_fix(err,
			"use a file system that can be id-mapped (ext4, xfs, btrfs; tmpfs from Linux 6.3 on) "
			"or set process.identity to \"caller\"");
		return -1;
	}
	if (tree < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "clone mount", "%s", op->source);
	*ret_fd = tree;
	return 0;
}

int mounts_take(const struct mount_plan *plan, const int *idmap_fds, int *ret_fds, struct error *err)
{
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < plan->n_ops; i++)
		ret_fds[i] = -1;
	if (root < 0)
		return error_set_errno(err, ERROR_IO, errno, "open root", "/");
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (plan->ops[i].kind != MOUNT_BIND)
			continue;
		if (take_one(root, &plan->ops[i], idmap_fds, &ret_fds[i], err) == 0)
			continue;
		for (size_t j = 0; j < i; j++)
			cleanup_close_fd(&ret_fds[j]);
		return -1;
	}
	return 0;
}
