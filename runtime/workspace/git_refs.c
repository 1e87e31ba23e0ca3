/*
 * Finding a ref among those of a repository.
 *
 * Asking first which refs there are decides at once whether a text is a branch, a tag or a commit, where trying one after
 * the other would have to tell "no such branch" from "no such server" by git's words. The order is that of `git clone
 * --branch`: branches, then tags. A whole commit id is taken as that before anything else; a part of one after all else.
 *
 * Threat: the answer is the repository's. A name is used only where it equals what was asked for, which was checked; an
 * id only where it is one; lines and the whole have their limits.
 */
#include "runtime/workspace/git_refs.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define TOTAL_MAX   (64UL << 20)
#define PART_MIN    7
#define RANK_FULL   5
#define RANK_BRANCH 4
#define RANK_TAG    3
#define RANK_OTHER  2
#define RANK_ID     1

static size_t hex_length(const char *s)
{
	return strspn(s, "0123456789abcdef");
}

static bool is_id(const char *s, size_t size)
{
	return (size == 40 || size == GIT_ID_MAX) && hex_length(s) >= size;
}

static bool is_whole_id(const char *asked)
{
	return asked != NULL && is_id(asked, strlen(asked));
}

static bool is_part_of_id(const char *asked)
{
	return asked != NULL && strlen(asked) >= PART_MIN && strlen(asked) < GIT_ID_MAX &&
		asked[hex_length(asked)] == '\0';
}

void git_refs_begin(struct git_refs *refs, const char *asked)
{
	*refs = (struct git_refs){.asked = asked, .want = GIT_WANT_NOTHING};
}

static bool is_called(const char *name, const char *prefix, const char *asked)
{
	return str_starts_with(name, prefix) && strcmp(name + strlen(prefix), asked) == 0;
}

static int rank_of_name(const struct git_refs *refs, const char *name)
{
	if (refs->asked == NULL)
		return strcmp(name, "HEAD") == 0 ? RANK_FULL : 0;
	if (str_starts_with(refs->asked, "refs/") && strcmp(name, refs->asked) == 0)
		return RANK_FULL;
	if (is_called(name, "refs/heads/", refs->asked))
		return RANK_BRANCH;
	if (is_called(name, "refs/tags/", refs->asked))
		return RANK_TAG;
	return is_called(name, "refs/", refs->asked) ? RANK_OTHER : 0;
}

static void take_name(struct git_refs *refs, const char *name)
{
	int rank = rank_of_name(refs, name);

	if (rank <= refs->rank || strlen(name) >= sizeof refs->name)
		return;
	refs->rank = rank;
	refs->want = GIT_WANT_REF;
	(void)snprintf(refs->name, sizeof refs->name, "%s", name);
}

static void take_id(struct git_refs *refs, const char *id)
{
	if (!is_part_of_id(refs->asked) || !str_starts_with(id, refs->asked) || refs->rank > RANK_ID)
		return;
	refs->ambiguous = refs->ambiguous || (refs->rank == RANK_ID && strcmp(refs->id, id) != 0);
	refs->rank = RANK_ID;
	refs->want = GIT_WANT_ID_OF_A_REF;
	memcpy(refs->id, id, refs->id_length + 1);
}

static int take_line(struct git_refs *refs, struct error *err)
{
	char *tab = memchr(refs->line, '\t', refs->line_size);

	refs->line[refs->line_size] = '\0';
	refs->line_size = 0;
	if (tab == NULL)
		return error_set(err, ERROR_GIT_CLONE, "git ls-remote", "the list of refs is none");
	*tab = '\0';
	if (!is_id(refs->line, (size_t)(tab - refs->line)))
		return error_set(err, ERROR_GIT_CLONE, "git ls-remote", "the list of refs has what is no id");
	refs->id_length = (size_t)(tab - refs->line);
	take_name(refs, tab + 1);
	take_id(refs, refs->line);
	return 0;
}

int git_refs_hear(void *context, const void *data, size_t size, struct error *err)
{
	struct git_refs *refs = context;
	const char *at = data;

	refs->total += size;
	if (refs->total > TOTAL_MAX)
		return error_set(
			err, ERROR_LIMIT, "git ls-remote", "the list of refs is longer than %lu bytes", TOTAL_MAX);
	for (; size > 0; at++, size--) {
		if (*at == '\n') {
			if (take_line(refs, err) < 0)
				return -1;
			continue;
		}
		if (refs->line_size == sizeof refs->line - 1)
			return error_set(err, ERROR_LIMIT, "git ls-remote", "a ref has a name of more than %zu bytes",
				sizeof refs->line);
		refs->line[refs->line_size++] = *at;
	}
	return 0;
}

static int refuse(const struct git_refs *refs, const char *what, struct error *err)
{
	char shown[200];

	if (refs->asked == NULL)
		return error_set(
			err, ERROR_GIT_CLONE, "git", "the repository's HEAD names no commit; say which ref is meant");
	error_set(err, ERROR_GIT_CLONE, "git", "ref \"%s\": %s", str_printable(refs->asked, shown, sizeof shown), what);
	error_add_context(err, "reason", "ref_not_found");
	return -1;
}

int git_refs_end(struct git_refs *refs, struct error *err)
{
	if (is_whole_id(refs->asked)) {
		refs->want = GIT_WANT_ID_IN_FULL;
		(void)snprintf(refs->id, sizeof refs->id, "%s", refs->asked);
		refs->id_length = strlen(refs->asked);
		return 0;
	}
	if (refs->rank == RANK_ID && refs->ambiguous)
		return refuse(refs, "more than one commit begins so", err);
	if (refs->rank == 0 && refs->id_length > 0 && is_part_of_id(refs->asked))
		refs->want = GIT_WANT_ID_IN_PART;
	return refs->want == GIT_WANT_NOTHING ? refuse(refs, "no branch, tag or commit is called that", err) : 0;
}
