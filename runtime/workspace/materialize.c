/*
 * All of a manifest or nothing, in three steps:
 *
 *   build    each entry in the private directory, side by side: this takes the time, and touches nothing
 *   put      one after the other in the order of the manifest, by renaming: overlaps come out as they were written
 *   finish   modes of directories, digests of what has children
 *
 * A failure or a cancellation before the end takes back what was put, and the private directory is removed on every path.
 */
#include "runtime/workspace/materialize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runtime/workspace/build.h"
#include "runtime/workspace/crew.h"
#include "runtime/workspace/stage.h"

struct making {
	const struct manifest *manifest;
	const struct materialize_options *options;
	struct stage *stage;
	struct receipt_row *rows;
};

#define SLOT_SIZE 24

static const char *slot_name(size_t index, char slot[SLOT_SIZE])
{
	(void)snprintf(slot, SLOT_SIZE, "%zu", index);
	return slot;
}

static bool is_wanted(const struct making *making, const struct manifest_entry *entry)
{
	return entry->ephemeral || !making->options->ephemeral_only;
}

static struct receipt_row *row_of(const struct making *making, const struct manifest_entry *entry)
{
	return &making->rows[entry - making->manifest->entries];
}

static int blame(const struct manifest_entry *entry, struct error *err)
{
	return err != NULL && err->code == ERROR_CANCELLED ? -1 : error_prefix(err, "%s", entry->place);
}

static int build_one(void *context, size_t index, struct error *err)
{
	const struct making *making = context;
	const struct manifest_entry *entry = &making->manifest->entries[index];
	const struct build build = {
		.options = making->options, .stage_fd = making->stage->fd, .stage_name = making->stage->name};
	char slot[SLOT_SIZE];

	if (!is_wanted(making, entry))
		return 0;
	if (work_check(making->options->work, err) < 0)
		return -1;
	return build_entry(&build, entry, slot_name(index, slot), &making->rows[index], err) < 0 ? blame(entry, err) : 0;
}

/* What the manifest holds itself is made in no time: threads are for what is copied, fetched or unpacked. */
static unsigned count_hands(const struct making *making)
{
	unsigned hands = 0, most = making->options->jobs > 0 ? making->options->jobs : MATERIALIZE_JOBS_MAX;

	for (size_t i = 0; i < making->manifest->n_entries && hands < most; i++) {
		enum manifest_type type = making->manifest->entries[i].type;

		hands += type != MANIFEST_FILE && type != MANIFEST_DIR;
	}
	return hands > 0 ? hands : 1;
}

/* Whether `found` may be there for this entry, and what becomes of it. */
static int judge(
	const struct manifest_entry *entry, enum stage_found found, enum receipt_action *ret_action, struct error *err)
{
	bool directory = manifest_type_is_directory(entry->type);

	if (found == STAGE_ABSENT || found == STAGE_ABOVE)
		*ret_action = RECEIPT_CREATED;
	else if (entry->ephemeral || (found == STAGE_FILE && !directory))
		*ret_action = RECEIPT_REPLACED;
	else if (found == STAGE_DIRECTORY && directory)
		*ret_action = RECEIPT_MERGED;
	else {
		(void)error_set(err, ERROR_INVALID_MANIFEST_PATH, "workspace", "there is a %s where a %s is to be",
			directory ? "file" : "directory", directory ? "directory" : "file");
		error_add_context(err, "reason", directory ? "not_a_directory" : "is_a_directory");
		error_add_context(err, "path", entry->path);
		return -1;
	}
	return 0;
}

static int look(const struct stage *stage, const struct manifest_entry *entry, enum receipt_action *ret_action,
	struct error *err)
{
	enum stage_found found = STAGE_ABSENT;

	if (stage_look(stage, entry->path, &found, err) < 0)
		return -1;
	return judge(entry, found, ret_action, err);
}

static int put_one(const struct making *making, size_t index, struct error *err)
{
	const struct manifest_entry *entry = &making->manifest->entries[index];
	char slot[SLOT_SIZE];

	if (look(making->stage, entry, &making->rows[index].action, err) < 0)
		return -1;
	return stage_put(making->stage, slot_name(index, slot), entry->path, manifest_type_is_directory(entry->type),
		entry->ephemeral, err);
}

static int put_all(const struct making *making, struct error *err)
{
	if (stage_begin(making->stage, err) < 0)
		return -1;
	for (size_t i = 0; i < making->manifest->n_entries; i++) {
		const struct manifest_entry *entry = &making->manifest->entries[i];

		if (!is_wanted(making, entry))
			continue;
		if (work_check(making->options->work, err) < 0)
			return -1;
		if (put_one(making, i, err) < 0)
			return blame(entry, err);
	}
	return 0;
}

/* A directory that was there keeps its mode, unless the manifest says another one. */
static int set_mode(const struct making *making, const struct manifest_entry *entry, struct error *err)
{
	struct receipt_row *row = row_of(making, entry);

	if (row->action != RECEIPT_MERGED || entry->mode_given)
		return stage_set_mode(making->stage, entry->path, entry->mode, err);
	return stage_get_mode(making->stage, entry->path, &row->mode, err);
}

/* Order: those below first, for a directory may lose the right to be gone into. */
static int set_modes(const struct making *making, struct error *err)
{
	for (size_t i = making->manifest->n_entries; i-- > 0;) {
		const struct manifest_entry *entry = making->manifest->by_path[i];

		if (is_wanted(making, entry) && manifest_type_is_directory(entry->type) &&
			set_mode(making, entry, err) < 0)
			return blame(entry, err);
	}
	return 0;
}

static void add_below(const struct making *making, const struct manifest_entry *entry,
	const struct manifest_entry *above, struct sha256 *digest)
{
	const struct receipt_row *row = row_of(making, entry);
	bool plain = entry->type == MANIFEST_DIR;
	char head[SHA256_HEX_SIZE + 16];
	const char *path = entry->path + strlen(above->path) + 1;
	char kind = !manifest_type_is_directory(entry->type) ? 'f' : plain ? 'd' : 't';

	(void)snprintf(head, sizeof head, "%c %04o %s ", kind, row->mode, plain ? "-" : row->fingerprint.sha256);
	sha256_add(digest, head, strlen(head));
	sha256_add(digest, path, strlen(path) + 1);
}

/* A directory of the manifest is what lies below it there. */
static void digest_directories(const struct making *making)
{
	const struct manifest *manifest = making->manifest;

	for (size_t i = 0; i < manifest->n_entries; i++) {
		const struct manifest_entry *entry = manifest->by_path[i];
		struct fingerprint *made = &row_of(making, entry)->fingerprint;
		struct sha256 digest;

		if (entry->type != MANIFEST_DIR || !row_of(making, entry)->built)
			continue;
		sha256_begin(&digest);
		for (size_t k = i + 1;
			k < manifest->n_entries && manifest_path_is_within(manifest->by_path[k]->path, entry->path); k++) {
			const struct receipt_row *row = row_of(making, manifest->by_path[k]);

			if (manifest->by_path[k]->type != MANIFEST_DIR) {
				made->files += row->fingerprint.files;
				made->bytes += row->fingerprint.bytes;
			}
			add_below(making, manifest->by_path[k], entry, &digest);
		}
		sha256_end(&digest, made->sha256);
	}
}

static int make_in_stage(struct making *making, struct error *err)
{
	if (crew_do(making->manifest->n_entries, count_hands(making), build_one, making, making->options->work, err) < 0)
		return -1;
	if (put_all(making, err) < 0 || set_modes(making, err) < 0 || stage_settle(making->stage, err) < 0)
		return -1;
	digest_directories(making);
	return 0;
}

/* Undoes, and says so where that is not possible; err stays what it is. */
static void take_back(struct stage *stage, struct error *err)
{
	struct error failed;

	if (stage_undo(stage, &failed) < 0)
		error_set_fix(err, "the workspace is not as it was before: %s", failed.text);
	if (stage_close(stage, &failed) < 0)
		error_set_fix(err, "something is left in the workspace: %s", failed.text);
}

static int make(struct making *making, int root_fd, struct error *err)
{
	struct stage stage = STAGE_INIT;

	if (stage_open(&stage, root_fd, err) < 0)
		return -1;
	making->stage = &stage;
	if (make_in_stage(making, err) == 0) {
		if (stage_close(&stage, err) == 0)
			return 0;
		return error_prefix(err, "all is in its place, but what was replaced is left");
	}
	take_back(&stage, err);
	return -1;
}

/* A dry run. root_fd: -1 where the workspace is not there. */
static int look_at_all(const struct making *making, int root_fd, struct error *err)
{
	const struct stage stage = {.root_fd = root_fd, .fd = -1};

	for (size_t i = 0; i < making->manifest->n_entries; i++) {
		const struct manifest_entry *entry = &making->manifest->entries[i];
		struct receipt_row *row = &making->rows[i];

		if (!is_wanted(making, entry))
			continue;
		row->mode = entry->mode;
		row->action = RECEIPT_CREATED;
		if (build_try(making->options, entry, err) < 0 ||
			(root_fd >= 0 && look(&stage, entry, &row->action, err) < 0))
			return blame(entry, err);
		row->built = entry->type == MANIFEST_FILE;
		row->fingerprint = (struct fingerprint){.files = row->built, .bytes = entry->content_size};
		sha256_hex(entry->content, entry->content_size, row->fingerprint.sha256);
	}
	return 0;
}

static int fail_root(int sys_errno, const char *what, const char *path, struct error *err)
{
	char shown[200];

	return error_set_errno(err, ERROR_WORKSPACE_ROOT_NOT_FOUND, sys_errno, "workspace",
		"cannot %s the workspace %s", what, str_printable(path, shown, sizeof shown));
}

/* The caller's own words: links in them are followed. makes: where it is not there, it is made. */
static int open_root(const char *path, bool makes, bool *ret_made, struct error *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	*ret_made = false;
	if (fd >= 0)
		return fd;
	if (errno != ENOENT || !makes)
		return fail_root(errno, "open", path, err);
	if (mkdir(path, 0755) < 0)
		return fail_root(errno, "make", path, err);
	*ret_made = true;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : fail_root(errno, "open", path, err);
}

static int look_only(const struct making *making, const char *destination, struct error *err)
{
	struct stat st;
	bool made;
	bool absent = stat(destination, &st) < 0 && errno == ENOENT;
	cleanup_close int root_fd = absent ? -1 : open_root(destination, false, &made, err);

	if (!absent && root_fd < 0)
		return -1;
	return look_at_all(making, root_fd, err);
}

static int make_at(struct making *making, const char *destination, struct error *err)
{
	bool made = false;
	cleanup_close int root_fd = open_root(destination, true, &made, err);

	if (root_fd >= 0 && make(making, root_fd, err) == 0)
		return 0;
	if (made && rmdir(destination) < 0)
		error_set_fix(err, "the directory that was made for it is left: %s", destination);
	return -1;
}

int materialize(const struct manifest *manifest, const char *destination, const struct materialize_options *options,
	struct receipt *ret_receipt, struct error *err)
{
	cleanup_free struct receipt_row *rows = calloc(manifest->n_entries + 1, sizeof *rows);
	struct making making = {.manifest = manifest, .options = options, .rows = rows};
	int r;

	if (rows == NULL)
		return error_no_memory(err);
	r = options->dry_run ? look_only(&making, destination, err) : make_at(&making, destination, err);
	if (r < 0)
		return -1;
	*ret_receipt = (struct receipt){.rows = steal_ptr(&rows), .dry_run = options->dry_run};
	return 0;
}

void receipt_done(struct receipt *receipt)
{
	free(receipt->rows);
	receipt->rows = NULL;
}
