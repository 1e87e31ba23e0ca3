/*
 * The files of git in a workspace, which whoever wrote there has written: an index, and the texts that say where a
 * checkout's data is. The first byte is the kind of file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/plan/git_index.h"
#include "runtime/plan/git_links.h"
#include "runtime/plan/git_text.h"
#include "tests/fuzz/fuzz.h"

static void check_entry(void *userdata, const char *name, uint32_t mode)
{
	size_t *n = userdata;

	(void)mode;
	cr_assert_lt(strlen(name), PATH_MAX);
	(*n)++;
}

static void read_index(struct arena *arena, struct fuzz_input *input)
{
	bool long_names = fuzz_byte(input) % 2 != 0;
	size_t n = 0, size = input->left;
	char shared[GIT_INDEX_SHARED_SIZE];
	const struct git_index index = {
		(const char *)input->at, size, long_names ? GIT_SHA256_SIZE : GIT_SHA1_SIZE, check_entry, &n};

	(void)arena;
	if (git_index_parse(&index, shared) != NULL)
		return;
	cr_assert_leq(n, size);
	cr_assert(memchr(shared, '\0', sizeof shared) != NULL && strchr(shared, '/') == NULL);
}

/* A git directory that is its own checkout, and empty but for the index. */
static int open_repository(void)
{
	static int fd = -1;
	char path[sizeof fuzz_world()->root + sizeof "/git"];

	if (fd >= 0)
		return fd;
	(void)snprintf(path, sizeof path, "%s/git", fuzz_world()->root);
	cr_assert_eq(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	return fd;
}

/* Only steps down. */
static void check_link(const char *name)
{
	do {
		size_t size = strcspn(name, "/");

		cr_assert(size > 0 && size <= NAME_MAX && strncmp(name, ".", size) != 0 && strncmp(name, "..", size) != 0,
			"a gitlink leads to %s", name);
		name += size;
	} while (*name++ != '\0');
}

static void read_links(struct arena *arena, struct fuzz_input *input)
{
	bool long_names = fuzz_byte(input) % 2 != 0;
	int repository = open_repository();
	cleanup_close int fd = openat(repository, "index", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct git_links links;

	cr_assert(fd >= 0 && fd_write_all(fd, input->at, input->left) == 0);
	links = git_links_read(arena, repository, repository, long_names ? GIT_SHA256_SIZE : GIT_SHA1_SIZE);
	for (size_t i = 0; links.wrong == NULL && i < links.n; i++)
		check_link(links.list[i]);
}

static void check_path(const char *path)
{
	if (path != NULL)
		cr_assert(*path != '\0' && strlen(path) < PATH_MAX && strpbrk(path, "\n\r") == NULL);
}

static void read_git_file(struct arena *arena, struct fuzz_input *input)
{
	check_path(git_text_git_file(arena, (const char *)input->at, input->left));
}

static void read_path(struct arena *arena, struct fuzz_input *input)
{
	check_path(git_text_path(arena, (const char *)input->at, input->left));
}

static void read_worktree(struct arena *arena, struct fuzz_input *input)
{
	check_path(git_text_worktree(arena, (const char *)input->at, input->left));
}

static bool climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")) != NULL; at++)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

/* Whatever is resolved is absolute and goes down only. */
static void resolve(struct arena *arena, struct fuzz_input *input)
{
	static const char *const bases[] = {"/", "/r", "/r/.git/worktrees/w"};
	const char *base = bases[fuzz_byte(input) % 3];
	cleanup_free char *path = fuzz_text(input);
	const char *resolved = git_text_resolve(arena, base, path);

	if (resolved != NULL)
		cr_assert(*resolved == '/' && !climbs(resolved), "%s from %s: %s", path, base, resolved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(struct arena *, struct fuzz_input *) = {
		read_index, read_git_file, read_path, read_worktree, resolve, read_links};
	struct fuzz_input input = {data, size};
	cleanup_with(arena_freep) struct arena *arena = NULL;

	cr_assert_eq(arena_new(&arena, NULL), 0);
	kinds[fuzz_byte(&input) % (sizeof kinds / sizeof *kinds)](arena, &input);
	return 0;
}
