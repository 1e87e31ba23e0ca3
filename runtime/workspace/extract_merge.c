/*
 * From the new tree into a directory that has something in it already.
 *
 * First everything is compared, and nothing is touched: a directory meets a directory, a file may take the place of a
 * regular file, and whatever else is in the way (a link above all, a directory where a file is to be) is a refusal.
 * That makes a list of moves: what is not there goes over by one rename, a subtree as a whole; a file that is there is
 * exchanged, so that the old one lies in our tree then, in its place.
 *
 * Then the list is carried out. When a move fails, those before it are undone backwards, by the same two steps.
 *
 * Threat: somebody works in the destination meanwhile. Each step opens its two directories anew from the top, below the
 * descriptor and following no link, and names that appear are met by RENAME_NOREPLACE. What an exchange has brought out
 * is looked at again: anything but a file is put back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/beneath.h"
#include "base/str.h"
#include "base/tree.h"
#include "runtime/workspace/archive/rules.h"
#include "runtime/workspace/extract_parts.h"

struct move {
	const char *path; /* the same in both trees */
	bool exchange;
};

struct merge {
	int tree_fd, target_fd;
	struct arena *arena;
	struct move *moves;
	size_t n_moves;
	struct work *work;
};

static int refuse(struct error *err, const char *path, const char *what)
{
	return rules_refuse(err, path, "in the destination there is %s in its place", what);
}

static int add_move(struct merge *merge, const char *path, bool exchange, struct error *err)
{
	struct move *move = arena_push(merge->arena, &merge->moves, &merge->n_moves);

	if (move == NULL)
		return error_no_memory(err);
	move->path = arena_strdup(merge->arena, path);
	move->exchange = exchange;
	return arena_check(merge->arena, err);
}

/* A path of what was extracted, as it is in the destination: whether and what is there. */
static int look(const struct merge *merge, const char *path, struct stat *ret_status)
{
	const char *name;
	cleanup_close int fd = beneath_open_parent(merge->target_fd, path, &name);

	return fd < 0 ? -1 : fstatat(fd, name, ret_status, AT_SYMLINK_NOFOLLOW);
}

static int compare(void *context, const struct tree_entry *entry, struct error *err)
{
	struct merge *merge = context;
	bool directory = S_ISDIR(entry->status->st_mode);
	struct stat there;

	if (merge->work != NULL && work_check(merge->work, err) < 0)
		return -1;
	if (look(merge, entry->path, &there) < 0) {
		if (errno != ENOENT)
			return error_set_errno(err, ERROR_WORKSPACE_ARCHIVE_WRITE, errno, "destination",
				"cannot look at %.200s in it", entry->path);
		return add_move(merge, entry->path, false, err) < 0 ? -1 : TREE_PASS_OVER;
	}
	if (S_ISLNK(there.st_mode))
		return refuse(err, entry->path, "a symbolic link");
	if (directory && S_ISDIR(there.st_mode))
		return TREE_GO_ON;
	if (directory)
		return refuse(err, entry->path, "something that is no directory");
	if (!S_ISREG(there.st_mode))
		return refuse(err, entry->path, S_ISDIR(there.st_mode) ? "a directory" : "a special file");
	return add_move(merge, entry->path, true, err) < 0 ? -1 : TREE_PASS_OVER;
}

/* From one directory to the other, or both ways at once. */
static int rename_in(int from_fd, int to_fd, const struct move *move, bool exchange)
{
	const char *from_name, *to_name;
	cleanup_close int from = beneath_open_parent(from_fd, move->path, &from_name);
	cleanup_close int to = from < 0 ? -1 : beneath_open_parent(to_fd, move->path, &to_name);

	if (to < 0)
		return -1;
	return renameat2(from, from_name, to, to_name, exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE);
}

static bool brought_out_a_file(const struct merge *merge, const struct move *move)
{
	const char *name;
	cleanup_close int fd = beneath_open_parent(merge->tree_fd, move->path, &name);
	struct stat st;

	return fd >= 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int carry_out(const struct merge *merge, const struct move *move, struct error *err)
{
	if (merge->work != NULL && work_check(merge->work, err) < 0)
		return -1;
	if (rename_in(merge->tree_fd, merge->target_fd, move, move->exchange) < 0) {
		enum error_code code = errno == EEXIST || errno == ELOOP || errno == ENOTDIR || errno == ENOENT
			? ERROR_WORKSPACE_ARCHIVE_WRITE /* it has changed since it was compared */
			: ERROR_IO;

		return error_set_errno(err, code, errno, "destination", "cannot move %.200s into it", move->path);
	}
	if (!move->exchange || brought_out_a_file(merge, move))
		return 0;
	if (rename_in(merge->tree_fd, merge->target_fd, move, true) < 0)
		return error_set_errno(err, ERROR_IO, errno, "destination",
			"%.200s was exchanged by somebody meanwhile, and cannot be put back", move->path);
	return refuse(err, move->path, "something that is no file any more");
}

/* Somebody who works against it in the destination can keep a move from being undone; then this says so. */
static int undo(const struct merge *merge, size_t n_done, struct error *err)
{
	size_t n_left = 0;

	while (n_done-- > 0) {
		const struct move *move = &merge->moves[n_done];

		n_left += rename_in(merge->target_fd, merge->tree_fd, move, move->exchange) < 0;
	}
	if (n_left > 0)
		return error_prefix(err, "%zu of what was extracted could not be taken out again, after", n_left);
	return -1;
}

static int compare_all(struct merge *merge, struct error *err)
{
	struct tree_budget budget = {.entries_max = UINT64_MAX}; /* it was counted before */
	const struct tree_visitor visitor = {.visit = compare, .ctx = merge};

	return tree_walk(merge->tree_fd, &budget, &visitor, err);
}

int extract_merge(int tree_fd, int target_fd, struct work *work, uint64_t *ret_replaced, struct error *err)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct merge merge = {.tree_fd = tree_fd, .target_fd = target_fd, .work = work};
	uint64_t replaced = 0;

	if (arena_new(&arena, err) < 0)
		return -1;
	merge.arena = arena;
	if (compare_all(&merge, err) < 0)
		return -1;
	for (size_t i = 0; i < merge.n_moves; i++) {
		if (carry_out(&merge, &merge.moves[i], err) < 0)
			return undo(&merge, i, err);
		replaced += merge.moves[i].exchange;
	}
	*ret_replaced = replaced;
	return 0;
}
