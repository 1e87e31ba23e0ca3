/*
 * The mounts of a sandbox as a list of blind operations, applied in order by the child. Targets are absolute paths
 * inside, already free of symlinks: a symlink found on the way at apply time is an error (somebody moved it there).
 */
#ifndef NS_MOUNTS_H
#define NS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum mount_kind {
	MOUNT_BIND,      /* source (host path) on target; recursive */
	MOUNT_SCRATCH,   /* source (a name in the scratch tmpfs) on target */
	MOUNT_TMPFS,     /* a new tmpfs of size_bytes and mode on target */
	MOUNT_PROC,      /* a new proc on target */
	MOUNT_DEVPTS,    /* a new devpts on target */
	MOUNT_PIN,       /* target bound onto itself: a rename of it gets EBUSY; read-only unless MOUNT_WRITE */
	MOUNT_MASK,      /* target replaced by an empty, unreadable file or directory, whichever it is */
	MOUNT_DIRECTORY, /* mkdir target (in a tmpfs made before); exists: fine */
	MOUNT_FILE,      /* an empty file at target, to be mounted on */
	MOUNT_SYMLINK,   /* target -> source */
	MOUNT_READONLY,  /* the mount at target becomes read-only */
	_MOUNT_KIND_COUNT
};

enum mount_flag {
	MOUNT_WRITE = 1 << 0,
	MOUNT_DEVICE = 1 << 1, /* device nodes work there (our /dev entries only) */
	MOUNT_NOEXEC = 1 << 2,
	MOUNT_IDMAP = 1 << 3,     /* id-mapped so that files of the source's owner belong to the sandbox's uid */
	MOUNT_OPTIONAL = 1 << 4,  /* the target (PIN, MASK) or source (BIND) may have gone since the plan: skipped */
	MOUNT_TRY_IDMAP = 1 << 6, /* with MOUNT_IDMAP: shown as it is where the file system cannot be id-mapped */
	/* Its disappearance is a violation. A MASK that is OPTIONAL, too, may be absent for now, as may be source, the
	 * host's name for its target: it is mounted when that appears. */
	MOUNT_MONITOR = 1 << 5,
};

struct mount_op {
	enum mount_kind kind;
	unsigned flags;
	const char *source;
	const char *target;
	uint64_t device, inode; /* BIND: what source was when it was decided on; inode 0: not checked */
	uint64_t size_bytes;    /* TMPFS */
	unsigned mode;          /* TMPFS, DIRECTORY */
	size_t owner;           /* IDMAP: which of the user namespaces that are handed to mounts_take() */
};

/* Entries of the scratch tmpfs that MOUNT_MASK uses: mode 0, made by every plan that masks. */
#define MOUNT_MASK_FILE      "mask-file"
#define MOUNT_MASK_DIRECTORY "mask-directory"

/* A file or directory of the scratch tmpfs, which holds /tmp, /dev/shm, HOME, masks and small generated files. */
struct mount_scratch {
	const char *name;
	bool directory;
	unsigned mode;
	const char *content; /* files; may be NULL */
};

struct mount_plan {
	bool host_root; /* the namespace's own tree, all read-only; else an empty tmpfs that becomes the root */
	struct mount_op *ops;
	size_t n_ops;
	struct mount_scratch *scratch;
	size_t n_scratch;
	uint64_t scratch_size_bytes;
	const char *scratch_target; /* a directory that exists by then and that a later op covers */
	size_t scratch_at;          /* the scratch tmpfs is made before this op */
};

const char *mount_kind_name(enum mount_kind kind);

/* Opens every source of a BIND as a detached, private clone with its final flags; ret_fds[i] is -1 for other kinds and
 * for optional sources that are gone. idmap_fds: the user namespaces of MOUNT_IDMAP, by owner; NULL where it has no
 * effect. Runs in the parent where it is privileged (its rights find paths that the mapped uid cannot walk), else in
 * the child. Async-signal-safe. */
must_check int mounts_take(const struct mount_plan *plan, const int *idmap_fds, int *ret_fds, struct error *err);
/* In the child, in its own user and mount namespace. `fds` as taken, consumed. ret_scratch_fd: a directory of the
 * scratch tmpfs, for statfs; the caller's. Async-signal-safe. before_targets is called after the sources' namespace has
 * been made read-only and before anything is created: there the child becomes its mapped uid. */
must_check int mounts_apply(const struct mount_plan *plan, int *fds, int (*before_targets)(void *, struct error *),
	void *userdata, int *ret_scratch_fd, struct error *err);
/* Applies one MASK or PIN again in a mount namespace that lost it, in a helper that has joined it. A target that is
 * gone is an error. scratch_fd: the scratch tmpfs as mounts_apply gave it. Async-signal-safe. */
must_check int mounts_repair(const struct mount_op *op, int scratch_fd, struct error *err);

#endif
