/*
 * A pass is a loop over headers. What it decides it decides from the archive alone, so that two passes over the same
 * bytes decide alike; both are made in full, and their digests (of each name, kind, mode, length and target) are
 * compared by whoever runs them.
 *
 * Threat: numbers in headers. None is believed: members are counted as they come, bytes as they come out. A hole counts
 * like bytes, since it is as long; so a sparse member of many gigabytes is refused by its first block behind the hole.
 *
 * Threat: a reader that mends. Whatever libarchive says about data, a warning included, ends the pass. A warning about
 * a header concerns what is not restored (owners, attributes, times), as long as there is a name.
 */
#include "runtime/workspace/archive/pass.h"

#include <archive_entry.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "runtime/workspace/archive/input.h"
#include "runtime/workspace/archive/names.h"
#include "runtime/workspace/link_inside.h"

#define TELL_BYTES ((uint64_t)4 << 20)

struct pass {
	const struct pass_limits *limits;
	const struct pass_sink *sink;
	struct input *input;
	struct names *names;
	struct archive_entry *entry;
	const char *raw; /* the name of the member, as it was read */
	struct member_name name;
	int implied;
	uint64_t data_bytes; /* of totals.bytes: without the holes, which cost no reading */
	uint64_t told_bytes;
	struct sha256_ctx digest;
	struct pass_totals totals;
};

static void note(struct pass *pass, char kind, uint64_t mode, uint64_t size, const char *target)
{
	char numbers[64];
	int n = snprintf(
		numbers, sizeof numbers, "%c %llo %llu ", kind, (unsigned long long)mode, (unsigned long long)size);

	sha256_update(&pass->digest, (size_t)n, (const uint8_t *)numbers);
	sha256_update(&pass->digest, strlen(pass->name.path) + 1, (const uint8_t *)pass->name.path);
	sha256_update(&pass->digest, strlen(target) + 1, (const uint8_t *)target);
}

static int count_member(struct pass *pass, struct error *err)
{
	uint64_t made = names_count(pass->names);
	uint64_t all = pass->totals.members > made ? pass->totals.members : made;

	if (all > pass->limits->members_max)
		return rules_refuse_limit(err, "max-members", pass->limits->members_max, all, pass->raw,
			"members, with the directories that they imply");
	return 0;
}

static int check_ratio(const struct pass *pass, struct error *err)
{
	uint64_t most = pass->limits->ratio_max, in = input_bytes(pass->input), out = pass->data_bytes;

	if (most == PASS_NO_LIMIT || out <= PASS_RATIO_GRACE || out / most < in + 1)
		return 0;
	return rules_refuse_limit(
		err, "max-ratio", most, in > 0 ? out / in : out, pass->raw, "times as many bytes extracted as read");
}

/* `end` is how far this member reaches by now, `*at` how far it did before. */
static int count_bytes(struct pass *pass, uint64_t *at, uint64_t end, struct error *err)
{
	uint64_t most = pass->limits->extracted_max, all;

	if (end <= *at)
		return 0;
	if (__builtin_add_overflow(pass->totals.bytes, end - *at, &all))
		all = UINT64_MAX;
	if (most != PASS_NO_LIMIT && all > most)
		return rules_refuse_limit(err, "max-extracted", most, all, pass->raw, "bytes extracted");
	if (all > INT64_MAX)
		return rules_refuse(err, pass->raw, "it is longer than any file can be");
	pass->totals.bytes = all;
	*at = end;
	return check_ratio(pass, err);
}

static void tell(struct pass *pass, bool between)
{
	const struct pass_sink *sink = pass->sink;

	if (sink == NULL || (!between && pass->totals.bytes - pass->told_bytes < TELL_BYTES))
		return;
	pass->told_bytes = pass->totals.bytes;
	sink->progress(sink->context, pass->totals.members, pass->totals.bytes);
}

/* The content up to its end; how long it is in *ret_size. */
static int take_data(struct pass *pass, uint64_t *ret_size, struct error *err)
{
	struct archive *archive = input_archive(pass->input);
	const void *data;
	size_t size;
	la_int64_t offset;
	uint64_t at = 0;
	int r;

	while ((r = archive_read_data_block(archive, &data, &size, &offset)) == ARCHIVE_OK) {
		if (offset < 0 || (uint64_t)offset < at)
			return rules_refuse(err, pass->raw, "damaged: its parts overlap");
		pass->data_bytes += size;
		if (count_bytes(pass, &at, (uint64_t)offset + size, err) < 0)
			return -1;
		if (pass->sink != NULL && size > 0 &&
			pass->sink->data(pass->sink->context, data, size, (uint64_t)offset, err) < 0)
			return -1;
		tell(pass, false);
	}
	if (r != ARCHIVE_EOF)
		return input_error(pass->input, pass->raw, err);
	/* A hole at the end has no block behind it. */
	if (archive_entry_sparse_count(pass->entry) > 0 && archive_entry_size(pass->entry) > 0 &&
		count_bytes(pass, &at, (uint64_t)archive_entry_size(pass->entry), err) < 0)
		return -1;
	*ret_size = at;
	return 0;
}

static int add_name(struct pass *pass, enum name_kind kind, struct error *err)
{
	pass->implied = names_add(pass->names, pass->name.path, kind, err);
	return pass->implied < 0 ? -1 : count_member(pass, err);
}

static int take_file(struct pass *pass, struct error *err)
{
	const struct pass_sink *sink = pass->sink;
	mode_t mode = rules_file_mode(archive_entry_mode(pass->entry));
	int64_t mtime = archive_entry_mtime_is_set(pass->entry) ? archive_entry_mtime(pass->entry) : -1;
	uint64_t size = 0;

	if (pass->name.path[0] == '\0' || pass->name.slash)
		return rules_refuse(err, pass->raw, "a file with the name of a directory");
	if (add_name(pass, NAME_FILE, err) < 0)
		return -1;
	if (sink != NULL && sink->file(sink->context, &pass->name, pass->implied, err) < 0)
		return -1;
	if (take_data(pass, &size, err) < 0)
		return -1;
	if (sink != NULL && sink->file_end(sink->context, size, mode, mtime, err) < 0)
		return -1;
	pass->totals.files++;
	note(pass, 'f', mode, size, "");
	return 0;
}

static int take_directory(struct pass *pass, struct error *err)
{
	const struct pass_sink *sink = pass->sink;
	mode_t mode = rules_directory_mode(archive_entry_mode(pass->entry));

	note(pass, 'd', mode, 0, "");
	if (pass->name.path[0] == '\0')
		return 0; /* the root is the destination, whose mode is not the archive's to say */
	if (add_name(pass, NAME_DIRECTORY, err) < 0)
		return -1;
	if (sink != NULL && sink->directory(sink->context, &pass->name, pass->implied, mode, err) < 0)
		return -1;
	return 0;
}

static int take_link(struct pass *pass, struct error *err)
{
	const struct pass_sink *sink = pass->sink;
	const char *target = archive_entry_symlink(pass->entry);

	if (!pass->limits->links)
		return rules_refuse(err, pass->raw, "a symbolic link; --links inside admits those that stay inside");
	if (target == NULL || pass->name.path[0] == '\0' || pass->name.slash)
		return rules_refuse(err, pass->raw, "a symbolic link that cannot be read");
	if (strlen(target) >= MEMBER_NAME_MAX || !link_stays_inside(pass->name.path, target))
		return rules_refuse(err, pass->raw,
			"a symbolic link that is absolute, leads outside, or has \"..\" "
			"behind a name");
	if (add_name(pass, NAME_LINK, err) < 0)
		return -1;
	if (sink != NULL && sink->link(sink->context, &pass->name, pass->implied, target, err) < 0)
		return -1;
	pass->totals.links++;
	note(pass, 'l', 0, 0, target);
	return 0;
}

static int take_kind(struct pass *pass, struct error *err)
{
	static const struct {
		mode_t type;
		const char *text;
	} refused[] = {{AE_IFCHR, "a device"}, {AE_IFBLK, "a device"}, {AE_IFIFO, "a FIFO"}, {AE_IFSOCK, "a socket"}};
	mode_t type = archive_entry_filetype(pass->entry);

	if (archive_entry_is_encrypted(pass->entry))
		return error_set(err, ERROR_UNSUPPORTED, "archive", "it is encrypted");
	if (archive_entry_hardlink(pass->entry) != NULL)
		return rules_refuse(err, pass->raw, "a hard link");
	if (type == AE_IFREG)
		return take_file(pass, err);
	if (type == AE_IFDIR)
		return take_directory(pass, err);
	if (type == AE_IFLNK)
		return take_link(pass, err);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (type == refused[i].type)
			return rules_refuse(err, pass->raw, "%s", refused[i].text);
	return rules_refuse(err, pass->raw, "a member of an unknown kind");
}

static int take_member(struct pass *pass, struct error *err)
{
	pass->raw = archive_entry_pathname(pass->entry);
	if (pass->raw == NULL) /* not to be had in the locale's character set */
		pass->raw = archive_entry_pathname_utf8(pass->entry);
	if (pass->raw == NULL)
		return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive",
			"member %llu has a name that cannot be read", (unsigned long long)pass->totals.members);
	if (count_member(pass, err) < 0 || rules_judge_name(pass->raw, pass->limits->strip, &pass->name, err) < 0)
		return -1;
	if (pass->name.stripped) {
		pass->totals.skipped++;
		return 0;
	}
	if (take_kind(pass, err) < 0)
		return -1;
	tell(pass, true);
	return 0;
}

static int take_members(struct pass *pass, struct error *err)
{
	struct archive *archive = input_archive(pass->input);
	int r;

	while ((r = archive_read_next_header(archive, &pass->entry)) == ARCHIVE_OK || r == ARCHIVE_WARN) {
		if (pass->totals.members++ == 0 && input_check(pass->input, err) < 0)
			return -1;
		if (take_member(pass, err) < 0)
			return -1;
	}
	if (r != ARCHIVE_EOF)
		return input_error(pass->input, NULL, err);
	pass->totals.directories = names_count(pass->names) - pass->totals.files - pass->totals.links;
	(void)snprintf(pass->totals.format, sizeof pass->totals.format, "%s", input_format(pass->input));
	(void)snprintf(pass->totals.compression, sizeof pass->totals.compression, "%s", input_compression(pass->input));
	return 0;
}

int pass_run(int fd, const struct pass_limits *limits, const struct pass_sink *sink, struct pass_totals *ret_totals,
	struct error *err)
{
	cleanup_with(input_freep) struct input *input = NULL;
	cleanup_with(names_freep) struct names *names = NULL;
	struct pass pass = {.limits = limits, .sink = sink};

	if (input_open(fd, &input, err) < 0 || names_new(limits->portable, &names, err) < 0)
		return -1;
	pass.input = input;
	pass.names = names;
	sha256_init(&pass.digest);
	if (take_members(&pass, err) < 0)
		return -1;
	sha256_digest(&pass.digest, sizeof pass.totals.digest, pass.totals.digest);
	*ret_totals = pass.totals;
	return 0;
}
