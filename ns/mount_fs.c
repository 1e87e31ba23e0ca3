/*
 * The new mount API in five verbs. A mount made with fsopen() or cloned with open_tree() is in no namespace until it is
 * attached: it gets its final flags first, so that there is no moment at which a writable or set-uid mount can be seen.
 *
 * Threat: a clone of a shared mount stays in its peer group, and what is mounted below it inside would appear on the
 * host; every clone is therefore made private, recursively, before it is attached.
 */
#include "ns/mount_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "ns/mounts.h"

#define TMPFS_BYTES_PER_INODE 2048
#define TMPFS_INODES_MIN      1024

uint64_t mount_fs_attributes(unsigned flags)
{
	uint64_t attributes = MOUNT_ATTR_NOSUID;

	if ((flags & MOUNT_DEVICE) == 0)
		attributes |= MOUNT_ATTR_NODEV;
	if ((flags & MOUNT_WRITE) == 0)
		attributes |= MOUNT_ATTR_RDONLY;
	if ((flags & MOUNT_NOEXEC) != 0)
		attributes |= MOUNT_ATTR_NOEXEC;
	return attributes;
}

static int create_and_mount(int fs, unsigned attributes)
{
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return sys_fsmount(fs, FSMOUNT_CLOEXEC, attributes);
}

static int set_number(int fs, const char *key, unsigned long long value)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%llu", value);
	return sys_fsconfig(fs, FSCONFIG_SET_STRING, key, text, 0);
}

static int set_mode(int fs, unsigned mode)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%o", mode);
	return sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", text, 0);
}

int mount_fs_tmpfs(uint64_t size_bytes, unsigned mode)
{
	cleanup_close int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	uint64_t inodes = size_bytes / TMPFS_BYTES_PER_INODE;

	if (fs < 0 || set_mode(fs, mode) < 0)
		return -1;
	if (size_bytes != 0 && set_number(fs, "size", size_bytes) < 0)
		return -1;
	if (inodes < TMPFS_INODES_MIN)
		inodes = TMPFS_INODES_MIN;
	/* Inodes are kernel memory too, and would be without bound for an empty file each. */
	if (size_bytes != 0 && set_number(fs, "nr_inodes", inodes) < 0)
		return -1;
	return create_and_mount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

int mount_fs_proc(void)
{
	cleanup_close int fs = sys_fsopen("proc", FSOPEN_CLOEXEC);

	if (fs < 0)
		return -1;
	return create_and_mount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

int mount_fs_devpts(void)
{
	cleanup_close int fs = sys_fsopen("devpts", FSOPEN_CLOEXEC);

	/* Each instance is new since Linux 4.7; ptmx opens to everybody inside, as /dev/ptmx does on a host. */
	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0) < 0 ||
		sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0620", 0) < 0)
		return -1;
	return create_and_mount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

int mount_fs_clone(int path_fd, uint64_t attributes, int idmap_fd)
{
	struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
	cleanup_close int tree = -1;

	tree = sys_open_tree(path_fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return -1;
	if (idmap_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (unsigned)idmap_fd;
	}
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return -1;
	return steal_fd(&tree);
}

int mount_fs_attach(int mount_fd, int path_fd)
{
	return sys_move_mount(mount_fd, "", path_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}
