/*
 * One entry becomes a file or a directory of the private directory: one function for each type.
 *
 * Order: what was built is digested before it gets its mode, which may take away the right to read it. A file has mode
 * 0600 until then.
 */
#include "runtime/workspace/build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "runtime/workspace/extract.h"
#include "runtime/workspace/git.h"
#include "runtime/workspace/local.h"

#define EXCLUDES_MAX (MANIFEST_EXCLUDES_MAX + 1)

typedef int (*build_fn)(
	const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err);

static int fail(const char *what, struct error *err)
{
	return error_set_errno(err, ERROR_IO, errno, "build", "cannot %s", what);
}

static int build_file(const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err)
{
	cleanup_close int fd = openat(build->stage_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fail("make the file", err);
	if (fd_write_all(fd, entry->content, entry->content_size) < 0)
		return fail("write the content", err);
	return work_count(build->options->work, 1, entry->content_size, entry->path, err);
}

static int build_dir(const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err)
{
	if (mkdirat(build->stage_fd, name, 0700) < 0)
		return fail("make the directory", err);
	return work_count(build->options->work, 1, 0, entry->path, err);
}

static int build_local_file(
	const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err)
{
	const struct local_options options = {.file_mode = entry->mode_given ? 0600 : 0, .work = build->options->work};
	struct local_totals totals = {};
	struct source_place place;

	if (sources_find(build->options->sources, entry->source, ERROR_LOCAL_FILE_READ, &place, err) < 0)
		return -1;
	return local_copy_file(place.dirfd, place.path, build->stage_fd, name, &options, &totals, err);
}

static int build_local_dir(
	const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err)
{
	const char *exclude[EXCLUDES_MAX];
	const struct local_options options = {
		.exclude = exclude, .n_exclude = entry->n_exclude + 1, .work = build->options->work};
	cleanup_close int source_fd =
		sources_open_directory(build->options->sources, entry->source, ERROR_LOCAL_DIR_READ, err);
	cleanup_close int target_fd = -1;
	struct local_totals totals = {};

	if (source_fd < 0 || build_dir(build, entry, name, err) < 0)
		return -1;
	if (entry->n_exclude > 0)
		memcpy(exclude, entry->exclude, entry->n_exclude * sizeof *exclude);
	exclude[entry->n_exclude] = build->stage_name;
	target_fd = beneath_open(build->stage_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (target_fd < 0)
		return fail("open the directory", err);
	return local_copy_dir(source_fd, target_fd, &options, &totals, err);
}

static int build_git_repo(
	const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err)
{
	struct git_source source = {.repo = entry->repo, .repo_fd = -1, .ref = entry->ref, .subpath = entry->subpath};
	cleanup_close int repo_fd = -1;
	struct local_totals totals = {};
	bool as_caller = false;

	if (build->options->runner == NULL)
		return error_set(err, ERROR_UNSUPPORTED, "build", "git_repo entries need a confined git");
	if (!git_is_address(entry->repo)) {
		repo_fd = sources_open_directory(build->options->sources, entry->repo, ERROR_GIT_CLONE, err);
		if (repo_fd < 0)
			return -1;
		source.repo_fd = repo_fd;
	}
	if (git_fetch_entry(build->options->runner, &source, build->stage_fd, name, build->options->work, &totals,
		    &as_caller, err) < 0)
		return -1;
	*build->reader = as_caller ? RECEIPT_CALLER : RECEIPT_UNPRIVILEGED;
	return 0;
}

/* What may still come out: no more than the whole manifest may have. */
static uint64_t left(uint64_t most, uint64_t used, uint64_t usual)
{
	uint64_t rest = used < most ? most - used : 1;

	return rest < usual ? rest : usual;
}

static int build_archive(
	const struct build *build, const struct manifest_entry *entry, const char *name, struct error *err)
{
	cleanup_close int fd =
		sources_open_file(build->options->sources, entry->source, ERROR_WORKSPACE_ARCHIVE_READ, err);
	struct extract_options options = EXTRACT_OPTIONS_DEFAULT;
	struct work *work = build->options->work;
	struct extract_totals totals;

	if (fd < 0)
		return -1;
	if (build->options->runner == NULL)
		return error_set(err, ERROR_UNSUPPORTED, "build", "archive entries need a confined reader");
	options.strip_components = entry->strip_components;
	options.extracted_max = left(work->bytes_max, atomic_load(&work->bytes), options.extracted_max);
	options.members_max = left(work->files_max, atomic_load(&work->files), options.members_max);
	options.work = work;
	if (extract_into(build->options->runner, fd, build->stage_fd, name, &options, &totals, err) < 0)
		return -1;
	*build->reader = totals.as_caller ? RECEIPT_CALLER : RECEIPT_UNPRIVILEGED;
	return 0;
}

static const build_fn builders[_MANIFEST_TYPE_COUNT] = {
	[MANIFEST_FILE] = build_file,
	[MANIFEST_DIR] = build_dir,
	[MANIFEST_LOCAL_FILE] = build_local_file,
	[MANIFEST_LOCAL_DIR] = build_local_dir,
	[MANIFEST_GIT_REPO] = build_git_repo,
	[MANIFEST_ARCHIVE] = build_archive,
};

static int digest(const struct build *build, const struct manifest_entry *entry, const char *name,
	struct fingerprint *ret_fingerprint, struct error *err)
{
	if (manifest_type_is_directory(entry->type))
		return fingerprint_tree(build->stage_fd, name, build->options->work, ret_fingerprint, err);
	return fingerprint_file(build->stage_fd, name, build->options->work, ret_fingerprint, err);
}

/* What no mode was asked for keeps the one it was made with, if it is a copy: whether it may be executed. */
static int set_file_mode(const struct build *build, const struct manifest_entry *entry, const char *name,
	mode_t *ret_mode, struct error *err)
{
	struct stat st;

	if ((entry->mode_given || entry->type == MANIFEST_FILE) && fchmodat(build->stage_fd, name, entry->mode, 0) < 0)
		return fail("set the mode", err);
	if (fstatat(build->stage_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail("look at the file", err);
	*ret_mode = st.st_mode & 07777;
	return 0;
}

int build_entry(const struct build *build, const struct manifest_entry *entry, const char *name,
	struct receipt_row *row, struct error *err)
{
	struct receipt_row made = {.built = true, .mode = entry->mode};
	struct build own = *build;

	own.reader = &made.reader;
	if (builders[entry->type](&own, entry, name, err) < 0 || digest(build, entry, name, &made.fingerprint, err) < 0)
		return -1;
	if (!manifest_type_is_directory(entry->type) && set_file_mode(build, entry, name, &made.mode, err) < 0)
		return -1;
	*row = made;
	return 0;
}

static int try_git_repo(const struct materialize_options *options, const struct manifest_entry *entry, struct error *err)
{
	struct git_source source = {.repo = entry->repo, .repo_fd = -1, .ref = entry->ref, .subpath = entry->subpath};
	cleanup_close int fd = -1;

	if (!git_is_address(entry->repo)) {
		fd = sources_open_directory(options->sources, entry->repo, ERROR_GIT_CLONE, err);
		if (fd < 0)
			return -1;
		source.repo_fd = fd;
	}
	return git_check_source(&source, err);
}

int build_try(const struct materialize_options *options, const struct manifest_entry *entry, struct error *err)
{
	cleanup_close int fd = -1;

	switch (entry->type) {
	case MANIFEST_LOCAL_FILE:
		fd = sources_open_file(options->sources, entry->source, ERROR_LOCAL_FILE_READ, err);
		return fd < 0 ? -1 : 0;
	case MANIFEST_ARCHIVE:
		fd = sources_open_file(options->sources, entry->source, ERROR_WORKSPACE_ARCHIVE_READ, err);
		return fd < 0 ? -1 : 0;
	case MANIFEST_LOCAL_DIR:
		fd = sources_open_directory(options->sources, entry->source, ERROR_LOCAL_DIR_READ, err);
		return fd < 0 ? -1 : 0;
	case MANIFEST_GIT_REPO: return try_git_repo(options, entry, err);
	case MANIFEST_FILE:
	case MANIFEST_DIR:
	case _MANIFEST_TYPE_COUNT: break;
	}
	return 0;
}
