/*
 * Guarded names lie below the directories that are bound writable: the workspace, mostly.
 *
 * Race: somebody who may rename in a parent of the workspace could have us watch another directory than the one that
 * will be mounted; device and inode are checked here, and the same is checked there.
 */
#include "runtime/supervise/guard_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/name_claim.h"

struct guard_root {
	int fd;       /* O_PATH */
	int claim_fd; /* for reading; -1 where it cannot be read */
	uint64_t device, inode;
	bool seen; /* in this look */
};

static int replaced_too_early(const char *root, struct error *err)
{
	(void)error_set(err, ERROR_UNENFORCEABLE, "guard", "%s was replaced while the run was being prepared", root);
	error_set_fix(err, "start the run again");
	if (err != NULL)
		err->retryable = ERROR_RETRY_YES;
	return -1;
}

static int open_root(int slash, const struct plan_guard *what, struct error *err)
{
	cleanup_close int fd = beneath_open(slash, what->root, O_PATH | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return replaced_too_early(what->root, err);
	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "guard", "cannot open %s", what->root);
	if (fstat(fd, &st) < 0 || st.st_dev != what->device || st.st_ino != what->inode)
		return replaced_too_early(what->root, err);
	return steal_fd(&fd);
}

static size_t find_root(const struct guard_roots *roots, const struct plan_guard *what)
{
	size_t i = 0;

	while (i < roots->n && (roots->list[i].device != what->device || roots->list[i].inode != what->inode))
		i++;
	return i;
}

int guard_roots_open(struct guard_roots *roots, const struct plan *plan, struct error *err)
{
	cleanup_close int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (slash < 0)
		return error_set_errno(err, ERROR_IO, errno, "guard", "cannot open /");
	roots->list = calloc(plan->n_guards, sizeof *roots->list);
	roots->of = calloc(plan->n_guards, sizeof *roots->of);
	if (roots->list == NULL || roots->of == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < plan->n_guards; i++) {
		const struct plan_guard *what = &plan->guards[i];
		int fd;

		roots->of[i] = find_root(roots, what);
		if (roots->of[i] < roots->n)
			continue;
		fd = open_root(slash, what, err);
		if (fd < 0)
			return -1;
		roots->list[roots->n++] = (struct guard_root){.fd = fd,
			.claim_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			.device = what->device,
			.inode = what->inode};
	}
	return 0;
}

int guard_roots_fd(const struct guard_roots *roots, size_t guard)
{
	return roots->list[roots->of[guard]].fd;
}

void guard_roots_begin(struct guard_roots *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		roots->list[i].seen = false;
}

bool guard_roots_is_new(struct guard_roots *roots, size_t guard)
{
	struct guard_root *root = &roots->list[roots->of[guard]];
	bool seen = root->seen;

	root->seen = true;
	return !seen;
}

void guard_roots_claim(const struct guard_roots *roots, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_guards; i++) {
		if (plan->guards[i].link == NULL)
			(void)name_claim(roots->list[roots->of[i]].claim_fd, plan->guards[i].relative);
	}
}

bool guard_roots_is_claimed(const struct guard_roots *roots, const struct plan *plan, size_t guard)
{
	return name_is_claimed(roots->list[roots->of[guard]].claim_fd, plan->guards[guard].relative);
}

void guard_roots_close(struct guard_roots *roots)
{
	while (roots->n > 0) {
		struct guard_root *root = &roots->list[--roots->n];

		cleanup_close_fd(&root->fd);
		cleanup_close_fd(&root->claim_fd);
	}
	free(roots->list);
	free(roots->of);
	*roots = (struct guard_roots){0};
}
