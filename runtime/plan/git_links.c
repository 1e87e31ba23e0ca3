/*
 * Host-side git goes by itself into each directory that its index has as a gitlink (mode 160000), `git status`, `diff`,
 * `add` and `commit -a` do, wherever there is a `.git` in it, and runs what that repository's configuration says. What
 * is only in a commit it leaves alone; so the index is all there is to look at.
 *
 * A split index has most entries in a second file, and may say for one of those that it is a gitlink now, without its
 * name. Then any of them may be.
 * Threat: an index that cannot be read as git does, or leads out of the checkout, is told as wrong: never passed over.
 * Sparse directories (mode 040000) stand for entries that are in a tree object. git lets them be, unless the directory
 * is there: then the index is wrong, too.
 */
#include "runtime/plan/git_links.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/plan/git_index.h"
#include "runtime/plan/git_text.h"

struct search {
	struct arena *arena;
	int directory_fd, checkout_fd;
	size_t hash_size;
	struct git_links found;
	size_t names_size;
	bool any; /* every entry may be a gitlink */
};

/* 0; 1 where there is none; -1 with search->found.wrong. */
static int read_file(struct search *search, const char *name, struct buf *text)
{
	cleanup_close int fd = beneath_open(search->directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	struct error ignored = {0};
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		search->found.wrong = "it cannot be read, or is no file";
	else if (st.st_size > (off_t)GIT_INDEX_MAX || fd_read_all(fd, GIT_INDEX_MAX, text, &ignored) < 0)
		search->found.wrong = "it is too large to be looked at";
	return search->found.wrong == NULL ? 0 : -1;
}

static bool is_plain(const char *name)
{
	for (const char *at = name;; at++) {
		size_t size = strcspn(at, "/");

		if (size == 0 || size > NAME_MAX || (size == 1 && at[0] == '.') ||
			(size == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += size;
		if (*at == '\0')
			return true;
	}
}

static bool is_there(const struct search *search, const char *directory)
{
	cleanup_close int fd = beneath_open(search->checkout_fd, directory, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0);

	return fd >= 0;
}

static void add(struct search *search, const char *name)
{
	const char **slot;

	if (!is_plain(name)) {
		search->found.wrong = "a gitlink leads out of the checkout";
		return;
	}
	search->names_size += strlen(name);
	if (search->found.n == GIT_LINKS_MAX || search->names_size > GIT_LINKS_NAMES_MAX) {
		search->found.wrong = "it has too many gitlinks";
		return;
	}
	slot = arena_push(search->arena, &search->found.list, &search->found.n);
	if (slot != NULL)
		*slot = arena_strdup(search->arena, name);
}

static void take_sparse(struct search *search, const char *name)
{
	char *directory = arena_strdup(search->arena, name);
	size_t size = directory == NULL ? 0 : strlen(directory);

	if (size > 0 && directory[size - 1] == '/')
		directory[size - 1] = '\0';
	if (directory != NULL && (!is_plain(directory) || is_there(search, directory)))
		search->found.wrong = "a directory that it has as sparse is there";
}

static void take_entry(void *userdata, const char *name, uint32_t mode)
{
	struct search *search = userdata;

	if (git_mode_is_directory(mode))
		take_sparse(search, name);
	else if (git_mode_is_gitlink(mode) && name[0] == '\0')
		search->any = true;
	else if (git_mode_is_gitlink(mode) || (search->any && name[0] != '\0'))
		add(search, name);
}

static void parse(struct search *search, const struct buf *text, char ret_shared[GIT_INDEX_SHARED_SIZE])
{
	const struct git_index index = {text->data, text->size, search->hash_size, take_entry, search};
	const char *wrong = git_index_parse(&index, ret_shared);

	if (wrong != NULL)
		search->found.wrong = wrong;
}

static void read_shared(struct search *search, const char *name)
{
	cleanup_buf struct buf text = {0};
	char none[GIT_INDEX_SHARED_SIZE];
	int r = read_file(search, name, &text);

	if (r == 0)
		parse(search, &text, none);
	else if (r > 0)
		search->found.wrong = "the shared index that it names does not exist";
}

struct git_links git_links_read(struct arena *arena, int directory_fd, int checkout_fd, size_t hash_size)
{
	struct search search = {
		.arena = arena, .directory_fd = directory_fd, .checkout_fd = checkout_fd, .hash_size = hash_size};
	cleanup_buf struct buf text = {0};
	char shared[GIT_INDEX_SHARED_SIZE] = "";

	if (read_file(&search, "index", &text) != 0)
		return search.found;
	parse(&search, &text, shared);
	if (search.found.wrong == NULL && shared[0] != '\0')
		read_shared(&search, shared);
	else if (search.found.wrong == NULL && search.any)
		search.found.wrong = "a gitlink has no name";
	return search.found;
}

/* git takes it from this file alone, and the file is protected: to find the words is enough. */
size_t git_links_hash_size(int common_fd)
{
	cleanup_close int fd = beneath_open(common_fd, "config", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf text = {0};
	struct error ignored = {0};

	if (fd < 0 || fd_read_all(fd, GIT_CONFIG_MAX, &text, &ignored) < 0 || text.size == 0)
		return GIT_SHA1_SIZE;
	return strcasestr(text.data, "objectformat") != NULL && strcasestr(text.data, "sha256") != NULL ? GIT_SHA256_SIZE
													: GIT_SHA1_SIZE;
}
