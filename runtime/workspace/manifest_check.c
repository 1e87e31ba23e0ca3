/*
 * What no single entry shows. The entries are looked at in the order of their paths, part by part, so that what lies
 * below an entry comes right behind it: one pass with the chain of those above finds every clash, however many there are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/workspace/manifest_read.h"

/* '/' before every other character: "a/b" comes before "a-b". */
static unsigned rank(char c)
{
	return c == '/' ? 1 : c == '\0' ? 0 : (unsigned)(unsigned char)c + 2;
}

static int by_path(const void *a, const void *b)
{
	const struct manifest_entry *left = *(const struct manifest_entry *const *)a;
	const struct manifest_entry *right = *(const struct manifest_entry *const *)b;
	size_t i = 0;

	while (left->path[i] != '\0' && left->path[i] == right->path[i])
		i++;
	if (rank(left->path[i]) != rank(right->path[i]))
		return rank(left->path[i]) < rank(right->path[i]) ? -1 : 1;
	return left < right ? -1 : left > right; /* in the order of the manifest */
}

static void tell(struct manifest_reader *reader, const struct manifest_entry *entry, const char *says,
	const struct manifest_entry *other)
{
	struct diag *diag = reader->source.diag;

	if (diag->n_errors == 0) {
		reader->code = ERROR_INVALID_MANIFEST_PATH;
		reader->reason = "overlap";
		reader->path = entry->path;
	}
	diag_error(diag, "%s: %s (%s)", entry->place, says, other->place);
}

/* above: the nearest entry that this one lies in. */
static void check_pair(struct manifest_reader *reader, struct manifest_entry *entry, const struct manifest_entry *above)
{
	if (strcmp(entry->path, above->path) == 0)
		tell(reader, entry, "there is another entry for the same path", above);
	else if (!manifest_type_is_directory(above->type))
		tell(reader, entry, "it would lie below an entry that is a file", above);
	else if (above->ephemeral && entry < above)
		tell(reader, entry, "an ephemeral directory that it lies in is made anew behind it: put that first",
			above);
	entry->ephemeral |= above->ephemeral;
}

/* chain: room for as many as there are. */
static void check_sorted(struct manifest_reader *reader, struct manifest_entry **sorted, struct manifest_entry **chain)
{
	size_t n = reader->manifest->n_entries;
	size_t depth = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &reader->manifest->entries[i];
	qsort(sorted, n, sizeof(struct manifest_entry *), by_path);
	for (size_t i = 0; i < n; i++) {
		while (depth > 0 && !manifest_path_is_within(sorted[i]->path, chain[depth - 1]->path))
			depth--;
		if (depth > 0)
			check_pair(reader, sorted[i], chain[depth - 1]);
		chain[depth++] = sorted[i];
	}
}

int manifest_check_places(struct manifest_reader *reader, struct error *err)
{
	struct manifest *manifest = reader->manifest;
	cleanup_free struct manifest_entry **chain = NULL;

	if (arena_check(reader->arena, err) < 0)
		return -1;
	manifest->by_path = arena_alloc(reader->arena, manifest->n_entries * sizeof(struct manifest_entry *));
	chain = calloc(manifest->n_entries + 1, sizeof(struct manifest_entry *));
	if (manifest->by_path == NULL || chain == NULL)
		return error_no_memory(err);
	check_sorted(reader, manifest->by_path, chain);
	return 0;
}
