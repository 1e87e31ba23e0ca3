/*
 * The entry git_repo.
 *
 * Git is never asked to clone: a clone decides by itself what it fetches and checks out. It is asked for one thing at a
 * time, each in a boundary of its own (git_run): which refs there are; the one commit, without history where the other
 * side can do that; the list of its files, which is judged before any of them is written; then the files, into an empty
 * directory. From there they are copied like any other source of this machine, so that modes, links and names are under
 * the same rules, and what git leaves behind besides is removed with the temporary directory.
 *
 * Order: everything that a manifest's words can get wrong is refused before the first run. A repository of this machine
 * is asked by git's own protocol too (file://), so that its files are never linked, shared or taken as they are, and
 * neither its configuration nor its alternates come with it.
 */
#include "runtime/workspace/git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"
#include "runtime/workspace/git_refs.h"
#include "runtime/workspace/git_run.h"
#include "runtime/workspace/git_tree.h"
#include "runtime/workspace/manifest_path.h"

#define FILES_MAX      1000000 /* where the work has no limit of its own */
#define BYTES_MAX      (8ULL << 30)
#define PACK_BYTES_MIN (64ULL << 20) /* what is fetched may be larger than what is taken */
#define WANTED         "refs/pinfold/wanted"

struct fetch {
	const struct git_source *source;
	struct git_run run;
	struct git_refs refs;
	char directory[48];  /* of all that is temporary, in the staging directory */
	const char *subpath; /* "" is the root */
	char commit[sizeof WANTED + GIT_ID_MAX];
};

static const char *address(const struct fetch *fetch)
{
	return fetch->source->repo_fd < 0 ? fetch->source->repo : "file://" GIT_SOURCE_INSIDE;
}

/* It was checked, and has one spelling. */
static const char *subpath_of(const struct git_source *source)
{
	return source->subpath == NULL || manifest_subpath_is_root(source->subpath) ? "" : source->subpath;
}

static uint64_t left(uint64_t most, uint64_t used, uint64_t ours)
{
	if (most == WORK_NO_LIMIT)
		return ours;
	return most > used ? most - used : 0;
}

static int fail_place(struct error *err)
{
	return error_set_errno(err, ERROR_IO, errno, "git", "cannot make a temporary directory for git");
}

/* The temporary directory has git's configuration, and "place" beside it, which git may write. */
static int make_place(struct fetch *fetch, int staging_dirfd, struct error *err)
{
	cleanup_close int directory = -1;
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return fail_place(err);
	(void)snprintf(fetch->directory, sizeof fetch->directory, ".pinfold-git-%016llx", (unsigned long long)number);
	if (mkdirat(staging_dirfd, fetch->directory, 0700) < 0)
		return fail_place(err);
	directory = openat(staging_dirfd, fetch->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0 || mkdirat(directory, "place", 0700) < 0 || mkdirat(directory, "place/tree", 0700) < 0)
		return fail_place(err);
	fetch->run.place_fd = openat(directory, "place", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fetch->run.place_fd < 0)
		return fail_place(err);
	fetch->run.config_fd = git_write_config(directory, "config", err);
	return fetch->run.config_fd < 0 ? -1 : 0;
}

/* A refusal of git's becomes the end of the entry. */
static int must(int answer)
{
	return answer == GIT_DONE ? 0 : -1;
}

static int ask_refs(struct fetch *fetch, struct error *err)
{
	const char *const arguments[] = {"ls-remote", "-q", "--", address(fetch), NULL};
	const struct git_hearer hearer = {git_refs_hear, &fetch->refs};

	git_refs_begin(&fetch->refs, fetch->source->ref);
	if (must(git_run(&fetch->run, arguments, &hearer, err)) < 0)
		return -1;
	return git_refs_end(&fetch->refs, err);
}

static int make_repository(struct fetch *fetch, struct error *err)
{
	const char *const arguments[] = {"init", "-q", "--bare", "--template=", "--initial-branch=none",
		fetch->refs.id_length == GIT_ID_MAX ? "--object-format=sha256" : "--object-format=sha1", "repo", NULL};

	return must(git_run(&fetch->run, arguments, NULL, err));
}

static int fetch_spec(struct fetch *fetch, const char *depth, const char *spec, struct error *err)
{
	const char *const arguments[] = {"--git-dir=repo", "fetch", "-q", "--no-tags", "--no-recurse-submodules",
		"--no-auto-maintenance", "--no-write-fetch-head", "--update-shallow", depth, "--", address(fetch), spec,
		NULL};

	return git_run(&fetch->run, arguments, NULL, err);
}

static bool remember_id(struct fetch *fetch, const char *text, size_t size)
{
	size_t used = strlen(fetch->commit);

	for (; size > 0 && *text != '\n'; text++, size--) {
		if (used == GIT_ID_MAX || strchr("0123456789abcdef", *text) == NULL)
			return false;
		fetch->commit[used++] = *text;
		fetch->commit[used] = '\0';
	}
	return true;
}

static int hear_id(void *context, const void *data, size_t size, struct error *err)
{
	if (remember_id(context, data, size))
		return 0;
	return error_set(err, ERROR_GIT_CLONE, "git rev-parse", "the id of a commit is none");
}

/* The whole history, and in it the commit by its id, or the beginning of it. */
static int fetch_history(struct fetch *fetch, struct error *err)
{
	char name[GIT_ID_MAX + 16];
	const char *const arguments[] = {"--git-dir=repo", "rev-parse", "--verify", "-q", "--end-of-options", name, NULL};
	const struct git_hearer hearer = {hear_id, fetch};
	int answer;

	if (must(fetch_spec(fetch, "--no-prune", "+refs/*:refs/pinfold/all/*", err)) < 0)
		return -1;
	(void)snprintf(name, sizeof name, "%s^{commit}", fetch->source->ref);
	fetch->commit[0] = '\0';
	answer = git_run(&fetch->run, arguments, &hearer, err);
	if (answer != GIT_REFUSED)
		return answer;
	error_set(err, ERROR_GIT_CLONE, "git", "ref \"%s\": the repository has no such commit", fetch->source->ref);
	error_add_context(err, "reason", "ref_not_found");
	return -1;
}

/* Fallback: a server that serves files only ("dumb" HTTP) knows no depth; an older one gives no commit by its id. */
static int fetch_commit(struct fetch *fetch, struct error *err)
{
	const bool by_name = fetch->refs.want == GIT_WANT_REF;
	char spec[sizeof fetch->refs.name + sizeof WANTED + 2];
	int answer;

	(void)snprintf(fetch->commit, sizeof fetch->commit, "%s", WANTED);
	if (fetch->refs.want == GIT_WANT_ID_IN_PART)
		return fetch_history(fetch, err);
	(void)snprintf(spec, sizeof spec, "+%s:%s", by_name ? fetch->refs.name : fetch->refs.id, WANTED);
	answer = fetch_spec(fetch, "--depth=1", spec, err);
	if (answer == GIT_REFUSED)
		answer = fetch_spec(fetch, "--no-prune", spec, err);
	if (answer == GIT_REFUSED && !by_name)
		return fetch_history(fetch, err);
	return must(answer);
}

static int list_files(struct fetch *fetch, struct git_tree *tree, struct error *err)
{
	cleanup_buf struct buf name = {0};
	const struct git_hearer hearer = {git_tree_hear, tree};

	buf_printf(&name, "%s%s%s", fetch->commit, fetch->subpath[0] != '\0' ? ":" : "^{tree}", fetch->subpath);
	if (buf_check(&name, err) < 0)
		return -1;
	const char *const arguments[] = {
		"--git-dir=repo", "ls-tree", "-r", "-t", "-l", "-z", "--full-tree", buf_str(&name), NULL};

	return git_run(&fetch->run, arguments, &hearer, err);
}

static int judge_files(struct fetch *fetch, const struct work *work, struct error *err)
{
	struct git_tree tree = {.files_max = left(work->files_max, atomic_load(&work->files), FILES_MAX),
		.bytes_max = left(work->bytes_max, atomic_load(&work->bytes), BYTES_MAX)};
	char shown[200];
	int answer = list_files(fetch, &tree, err);

	if (answer == GIT_DONE)
		return git_tree_end(&tree, err);
	if (answer < 0 || fetch->subpath[0] == '\0')
		return -1;
	error_prefix(err, "subpath \"%s\" is no directory there", str_printable(fetch->subpath, shown, sizeof shown));
	error_add_context(err, "reason", "subpath_not_found");
	return -1;
}

/* By way of the index, so that the attributes of the directories above a subpath count. */
static int write_files(struct fetch *fetch, struct error *err)
{
	char tree[sizeof fetch->commit + 8];
	const char *const read[] = {"--git-dir=repo", "--work-tree=tree", "read-tree", tree, NULL};
	const char *const all[] = {"--git-dir=repo", "--work-tree=tree", "checkout-index", "-q", "-a", NULL};
	const char *const some[] = {"--git-dir=repo", "--work-tree=tree", "checkout", "-q", "--", fetch->subpath, NULL};

	(void)snprintf(tree, sizeof tree, "%s^{tree}", fetch->commit);
	if (must(git_run(&fetch->run, read, NULL, err)) < 0)
		return -1;
	return must(git_run(&fetch->run, fetch->subpath[0] != '\0' ? some : all, NULL, err));
}

static int copy_files(const struct fetch *fetch, int staging_dirfd, const char *name, struct work *work,
	struct local_totals *totals, struct error *err)
{
	const struct local_options options = {.links_inside = true, .work = work};
	cleanup_buf struct buf path = {0};
	cleanup_close int from = -1;
	cleanup_close int to = -1;

	buf_printf(&path, "tree/%s", fetch->subpath);
	if (buf_check(&path, err) < 0)
		return -1;
	from = local_open_dir(fetch->run.place_fd, buf_str(&path), err);
	if (from < 0)
		return -1;
	if (mkdirat(staging_dirfd, name, 0755) < 0)
		return error_set_errno(err, ERROR_IO, errno, "git", "cannot make the directory of the entry");
	to = openat(staging_dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0 || fchmod(to, 0755) < 0)
		return error_set_errno(err, ERROR_IO, errno, "git", "cannot open the directory of the entry");
	return local_copy_dir(from, to, &options, totals, err);
}

static int fetch_files(struct fetch *fetch, int staging_dirfd, const char *name, struct work *work,
	struct local_totals *totals, struct error *err)
{
	if (make_place(fetch, staging_dirfd, err) < 0 || ask_refs(fetch, err) < 0 || make_repository(fetch, err) < 0 ||
		fetch_commit(fetch, err) < 0 || judge_files(fetch, work, err) < 0 || write_files(fetch, err) < 0)
		return -1;
	if (copy_files(fetch, staging_dirfd, name, work, totals, err) == 0)
		return 0;
	if (err != NULL && err->code == ERROR_LOCAL_DIR_READ)
		err->code = ERROR_GIT_CLONE;
	return -1;
}

/* What cannot be removed does not hide why the entry failed. */
static int remove_rest(struct fetch *fetch, int staging_dirfd, const char *name, int r, struct error *err)
{
	struct error second;
	struct error *told = r < 0 ? &second : err;

	(void)fd_close(fetch->run.place_fd);
	(void)fd_close(fetch->run.config_fd);
	if (fetch->directory[0] != '\0' && tree_remove(staging_dirfd, fetch->directory, told) < 0)
		r = -1;
	if (r < 0 && tree_remove(staging_dirfd, name, &second) < 0)
		return -1;
	return r;
}

int git_fetch_entry(const struct runner *runner, const struct git_source *source, int staging_dirfd, const char *name,
	struct work *work, struct local_totals *totals, bool *ret_as_caller, struct error *err)
{
	struct fetch fetch = {.source = source,
		.subpath = subpath_of(source),
		.run = {.runner = runner, .place_fd = -1, .config_fd = -1, .repo_fd = source->repo_fd, .work = work}};
	char shown[200];
	int r;

	if (git_check_source(source, err) < 0 || git_find_program(&fetch.run.program, err) < 0)
		return -1;
	fetch.run.bytes_max = left(work->bytes_max, atomic_load(&work->bytes), BYTES_MAX);
	if (fetch.run.bytes_max < PACK_BYTES_MIN)
		fetch.run.bytes_max = PACK_BYTES_MIN;
	r = fetch_files(&fetch, staging_dirfd, name, work, totals, err);
	r = remove_rest(&fetch, staging_dirfd, name, r, err);
	*ret_as_caller = fetch.run.as_caller;
	return r < 0 ? error_prefix(err, "repository \"%s\"", str_printable(source->repo, shown, sizeof shown)) : 0;
}
