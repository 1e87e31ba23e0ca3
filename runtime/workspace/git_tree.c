/*
 * Judging a tree by its list.
 *
 * Threat: a few kilobytes can stand for a tree of any size: one file of gigabytes that packs to nothing, or directories
 * that contain the same one ten times over, ten levels deep. The list tells of each file and its size, and of each
 * directory, for those may be all there is; it is cut off where that is more than the entry may have, before git writes
 * any of it.
 */
#include "runtime/workspace/git_tree.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"

static int refuse_list(struct error *err)
{
	return error_set(err, ERROR_GIT_CLONE, "git ls-tree", "the list of files is none");
}

static int refuse_size(const char *path, const char *what, uint64_t most, struct error *err)
{
	char shown[200];

	return error_set(err, ERROR_LIMIT, "git", "\"%s\": the repository has more than %llu %s",
		str_printable(path, shown, sizeof shown), (unsigned long long)most, what);
}

/* "100644 blob ID    SIZE": of a submodule and of a directory the size is "-". */
static int take_size(const char *head, uint64_t *ret_size, struct error *err)
{
	const char *size = strrchr(head, ' ');
	struct error ignored;

	if (size == NULL)
		return refuse_list(err);
	*ret_size = 0;
	if (strcmp(size + 1, "-") != 0 && str_parse_u64(size + 1, 0, UINT64_MAX, ret_size, &ignored) < 0)
		return refuse_list(err);
	return 0;
}

static int take_record(struct git_tree *tree, struct error *err)
{
	char *tab = memchr(tree->record, '\t', tree->record_size);
	uint64_t size = 0;

	tree->record[tree->record_size] = '\0';
	tree->record_size = 0;
	if (tab == NULL)
		return refuse_list(err);
	*tab = '\0';
	if (take_size(tree->record, &size, err) < 0)
		return -1;
	if (tree->files >= tree->files_max)
		return refuse_size(tab + 1, "files and directories", tree->files_max, err);
	if (size > tree->bytes_max - tree->bytes)
		return refuse_size(tab + 1, "bytes", tree->bytes_max, err);
	if (strlen(tab + 1) >= PATH_MAX)
		return refuse_size(tab + 1, "bytes in a path", PATH_MAX - 1, err);
	tree->files++;
	tree->bytes += size;
	return 0;
}

int git_tree_hear(void *context, const void *data, size_t size, struct error *err)
{
	struct git_tree *tree = context;
	const char *at = data;

	for (; size > 0; at++, size--) {
		if (*at == '\0') {
			if (take_record(tree, err) < 0)
				return -1;
			continue;
		}
		if (tree->record_size == sizeof tree->record - 1)
			return error_set(err, ERROR_LIMIT, "git ls-tree",
				"a path of the repository is longer than a path can be");
		tree->record[tree->record_size++] = *at;
	}
	return 0;
}

int git_tree_end(const struct git_tree *tree, struct error *err)
{
	return tree->record_size == 0 ? 0 : refuse_list(err);
}
