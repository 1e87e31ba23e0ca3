/*
 * A linked worktree (git worktree add) and a submodule have a file `.git`, which names a directory elsewhere. git needs
 * to write there, so a checkout that may be written brings that directory along: outside of what the policy names.
 *
 * Threat: the `.git` file is content of the checkout: an archive, a repository or an earlier command may have written
 * it, and "gitdir: /home/victim/other/.git" must give nobody a way into that repository. What it names is only believed
 * where it names this checkout in return: worktree    its own directory D lies at COMMON/worktrees/NAME, D/commondir
 * leads to COMMON, and D/gitdir holds the path of this very `.git` file submodule   its directory D lies at
 * SUPER/modules/NAME, core.worktree of D's configuration leads to this very checkout, and SUPER is the git directory of
 * a checkout that this one lies in D/gitdir and D/config can be written by whoever owns the repository, on the host,
 * and by nobody inside: they are on the list of what stays protected in every directory that is granted here. Whoever
 * forges a way back has had the right to write to that repository already. Threat: a worktree that is deleted without a
 * word to git leaves its D behind, and somebody else may make a directory of the same name, in /tmp say. So all that is
 * looked at must belong to the owner of the checkout. Threat: a link on the way could be turned round later. Nothing is
 * opened through one, and paths are compared as texts: what git has written is absolute and without links, or goes up
 * and then down. Race: what is granted is bound by device and inode of what was found here (struct mount_op).
 */
#include "runtime/plan/git_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/plan/git_text.h"

#define MODULES_DEPTH_MAX   8
#define MODULES_ENTRIES_MAX 4096

const char *const git_directory_runs_code[] = {"hooks", "config", "config.worktree", "commondir", "gitdir", "modules",
	"worktrees", "info/attributes", "objects/info/alternates", "objects/info/http-alternates", "remotes",
	"branches", NULL};

/* One search. Files are read and directories taken only where they are the owner's. */
struct finder {
	struct arena *arena;
	const char *checkout;
	int slash;
	uid_t owner;
};

static const char *join(const struct finder *finder, const char *directory, const char *name)
{
	return arena_printf(finder->arena, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name);
}

static const char *parent_of(const struct finder *finder, const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_strndup(finder->arena, path, slash == path ? 1 : (size_t)(slash - path));
}

static bool is_below(const char *path, const char *ancestor)
{
	size_t size = strcmp(ancestor, "/") == 0 ? 0 : strlen(ancestor);

	return strncmp(path, ancestor, size) == 0 && path[size] == '/';
}

static bool is_owners(const struct finder *finder, const char *directory, const char *name, mode_t type)
{
	const char *path = name == NULL ? directory : join(finder, directory, name);
	cleanup_close int fd = path == NULL ? -1 : beneath_open(finder->slash, path, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == finder->owner;
}

static bool exists(const struct finder *finder, const char *path)
{
	cleanup_close int fd = beneath_open(finder->slash, path, O_PATH | O_NOFOLLOW, 0);

	return fd >= 0;
}

/* A file of the owner's, whole, as `take` reads it; NULL. */
static const char *read_text(const struct finder *finder, const char *directory, const char *name, size_t max,
	const char *(*take)(struct arena *, const char *, size_t))
{
	const char *path = join(finder, directory, name);
	cleanup_close int fd = -1;
	cleanup_buf struct buf text = {0};
	struct error ignored = {0};
	struct stat st;

	if (path == NULL || !is_owners(finder, path, NULL, S_IFREG))
		return NULL;
	fd = beneath_open(finder->slash, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != finder->owner)
		return NULL;
	if (fd_read_all(fd, max, &text, &ignored) < 0 || text.size == 0)
		return NULL;
	return take(finder->arena, text.data, text.size);
}

/* What a file with one path in it leads to; NULL. */
static const char *follow(const struct finder *finder, const char *directory, const char *name)
{
	const char *said = read_text(finder, directory, name, GIT_PATH_FILE_MAX, git_text_path);

	return said == NULL ? NULL : git_text_resolve(finder->arena, directory, said);
}

/* The working tree that a git directory's configuration names. git moves it to config.worktree where that is in use. */
static const char *configured_worktree(const struct finder *finder, const char *directory)
{
	const char *said = read_text(finder, directory, "config", GIT_CONFIG_MAX, git_text_worktree);

	if (said == NULL)
		said = read_text(finder, directory, "config.worktree", GIT_CONFIG_MAX, git_text_worktree);
	return said == NULL ? NULL : git_text_resolve(finder->arena, directory, said);
}

static bool is_git_directory(const struct finder *finder, const char *path)
{
	return is_owners(finder, path, NULL, S_IFDIR) && is_owners(finder, path, "HEAD", S_IFREG) &&
		is_owners(finder, path, "objects", S_IFDIR) && is_owners(finder, path, "refs", S_IFDIR);
}

static bool is_git_file_of(const char *path, const char *checkout)
{
	size_t size = strlen(checkout);

	return strncmp(path, checkout, size) == 0 && strcmp(path + size, "/.git") == 0;
}

static struct git_directory unverified(const char *named, const char *reason)
{
	return (struct git_directory){.kind = GIT_UNVERIFIED, .named = named, .reason = reason};
}

static struct git_directory find_worktree(const struct finder *finder, const char *own)
{
	const char *common = follow(finder, own, "commondir");
	const char *back = follow(finder, own, "gitdir");
	const char *worktrees = parent_of(finder, own);

	if (common == NULL || worktrees == NULL || strcmp(worktrees, join(finder, common, "worktrees")) != 0)
		return unverified(own, "its commondir does not lead to the repository that it lies in");
	if (back == NULL || !is_git_file_of(back, finder->checkout))
		return unverified(own, "its gitdir does not name this worktree in return");
	if (!is_git_directory(finder, common))
		return unverified(own, "the repository that it lies in is none of the worktree's owner");
	return (struct git_directory){.kind = GIT_LINKED_WORKTREE, .named = own, .common = common, .own = own};
}

/* The working tree of the git directory `directory`; NULL. */
static const char *worktree_of(const struct finder *finder, const char *directory)
{
	const char *back = follow(finder, directory, "gitdir");
	const char *slash = strrchr(back != NULL ? back : directory, '/');

	if (back != NULL)
		return strcmp(slash, "/.git") == 0 ? parent_of(finder, back) : NULL;
	if (strcmp(slash, "/.git") == 0)
		return parent_of(finder, directory);
	return configured_worktree(finder, directory);
}

/* Whether `directory` is SUPER/modules/NAME, where a name may have more than one part. */
static bool is_module_of_super(const struct finder *finder, const char *directory)
{
	static const char modules[] = "/modules/";

	for (const char *at = strstr(directory, modules); at != NULL; at = strstr(at + 1, modules)) {
		const char *super = arena_strndup(finder->arena, directory, (size_t)(at - directory));
		const char *tree;

		if (super == NULL || !is_owners(finder, super, NULL, S_IFDIR) ||
			!is_owners(finder, super, "HEAD", S_IFREG))
			continue;
		tree = worktree_of(finder, super);
		if (tree != NULL && is_below(finder->checkout, tree))
			return true;
	}
	return false;
}

static struct git_directory find_submodule(const struct finder *finder, const char *directory)
{
	const char *back = configured_worktree(finder, directory);

	if (back == NULL || strcmp(back, finder->checkout) != 0)
		return unverified(directory, "its configuration does not name this checkout in return (core.worktree)");
	if (!is_module_of_super(finder, directory))
		return unverified(directory, "it is not in the modules of a repository that this checkout lies in");
	return (struct git_directory){.kind = GIT_SUBMODULE, .named = directory, .common = directory};
}

static struct git_directory find_from(const struct finder *finder)
{
	const char *said = read_text(finder, finder->checkout, ".git", GIT_PATH_FILE_MAX, git_text_git_file);
	const char *named = said == NULL ? NULL : git_text_resolve(finder->arena, finder->checkout, said);

	if (named == NULL)
		return unverified(NULL, "it names no git directory, or belongs to another user than the workspace");
	if (!exists(finder, named))
		return unverified(named, "there is no such directory, or a symbolic link leads to it");
	if (!is_owners(finder, named, NULL, S_IFDIR))
		return unverified(named, "it is no directory of the workspace's owner");
	if (is_owners(finder, named, "commondir", S_IFREG))
		return find_worktree(finder, named);
	if (!is_git_directory(finder, named))
		return unverified(named, "it is no git directory");
	if (is_below(named, finder->checkout))
		return (struct git_directory){.kind = GIT_INSIDE, .named = named, .common = named};
	return find_submodule(finder, named);
}

static int open_finder(struct finder *finder)
{
	struct stat st;

	finder->slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (finder->slash < 0)
		return -1;
	if (lstat(finder->checkout, &st) < 0) {
		(void)close(finder->slash);
		return -1;
	}
	finder->owner = st.st_uid;
	return 0;
}

struct git_directory git_directory_find(struct arena *arena, const char *checkout)
{
	struct finder finder = {.arena = arena, .checkout = checkout};
	struct git_directory found = {.kind = GIT_NONE};
	const char *path = join(&finder, checkout, ".git");
	struct stat st;

	if (path == NULL || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || open_finder(&finder) < 0)
		return found;
	found = find_from(&finder);
	(void)close(finder.slash);
	return found;
}

/* The way through SUPER/modules. */
struct walk {
	struct finder finder;
	struct git_submodule *list;
	size_t n;
	size_t entries_left;
};

static void add_submodule(struct walk *walk, const char *directory)
{
	const char *tree = configured_worktree(&walk->finder, directory);
	struct git_submodule *entry;
	const char *said;

	if (tree == NULL || !is_below(tree, walk->finder.checkout) || walk->n == GIT_SUBMODULES_MAX)
		return;
	said = read_text(&walk->finder, tree, ".git", GIT_PATH_FILE_MAX, git_text_git_file);
	said = said == NULL ? NULL : git_text_resolve(walk->finder.arena, tree, said);
	if (said == NULL || strcmp(said, directory) != 0)
		return;
	entry = arena_push(walk->finder.arena, &walk->list, &walk->n);
	if (entry != NULL)
		*entry = (struct git_submodule){.checkout = tree, .directory = directory};
}

/* Below a submodule's git directory only its own modules are of interest. */
static void look_for_modules(struct walk *walk, const char *directory, unsigned depth)
{
	DIR *dir = depth < MODULES_DEPTH_MAX ? opendir(directory) : NULL;
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL && walk->entries_left > 0) {
		const char *path;

		walk->entries_left--;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			(entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		path = join(&walk->finder, directory, entry->d_name);
		if (path == NULL || !is_owners(&walk->finder, path, NULL, S_IFDIR))
			continue;
		if (!is_git_directory(&walk->finder, path)) {
			look_for_modules(walk, path, depth + 1);
			continue;
		}
		add_submodule(walk, path);
		path = join(&walk->finder, path, "modules");
		if (path != NULL && is_owners(&walk->finder, path, NULL, S_IFDIR))
			look_for_modules(walk, path, depth + 1);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

void git_directory_submodules(
	struct arena *arena, const char *checkout, const char *own, struct git_submodule **ret_list, size_t *ret_n)
{
	struct walk walk = {.finder = {.arena = arena, .checkout = checkout}, .entries_left = MODULES_ENTRIES_MAX};
	const char *modules = join(&walk.finder, own, "modules");

	*ret_list = NULL;
	*ret_n = 0;
	if (modules == NULL || open_finder(&walk.finder) < 0)
		return;
	if (is_owners(&walk.finder, modules, NULL, S_IFDIR))
		look_for_modules(&walk, modules, 0);
	(void)close(walk.finder.slash);
	*ret_list = walk.list;
	*ret_n = walk.n;
}

static void add_worktree(const struct finder *finder, const char *own, const char ***list, size_t *n)
{
	const char *back = follow(finder, own, "gitdir");
	const char *slash = back == NULL ? NULL : strrchr(back, '/');
	const char **entry;

	if (slash == NULL || strcmp(slash, "/.git") != 0)
		return;
	entry = arena_push(finder->arena, list, n);
	if (entry != NULL)
		*entry = parent_of(finder, back);
}

bool git_directory_worktrees(struct arena *arena, const char *common, const char ***ret_list, size_t *ret_n)
{
	struct finder finder = {.arena = arena, .checkout = common};
	const char *worktrees = join(&finder, common, "worktrees");
	DIR *dir = worktrees == NULL ? NULL : opendir(worktrees);
	const struct dirent *entry;
	size_t seen = 0;

	*ret_list = NULL;
	*ret_n = 0;
	if (dir == NULL || open_finder(&finder) < 0) {
		if (dir != NULL)
			(void)closedir(dir);
		return dir == NULL && errno == ENOENT;
	}
	while ((entry = readdir(dir)) != NULL && seen++ <= GIT_WORKTREES_MAX + 2)
		add_worktree(&finder, join(&finder, worktrees, entry->d_name), ret_list, ret_n);
	(void)closedir(dir);
	(void)close(finder.slash);
	return seen <= GIT_WORKTREES_MAX + 2;
}
