/*
 * Rules for the repositories that an index leads to.
 *
 * Threat: host-side git, `git status` at the top, goes into every directory that is a gitlink in the index and has a
 * `.git`, and runs what the configuration there says (core.fsmonitor). The index can be written by the command, it must:
 * so each such `.git` is either protected, because it was there before, or set aside when the run is over
 * (supervise/gitlinks.c). Here are the first: submodules whose git directory git has moved into .git/modules are known
 * from there, and the others are found here, in the order of their depth. The same holds for what they lead to.
 *
 * A gitlink without a `.git`, of a submodule that is not checked out, needs nothing here.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/plan/git_directory.h"
#include "runtime/plan/git_links.h"
#include "runtime/plan/git_text.h"
#include "runtime/plan/rules.h"

#define REPOSITORIES_MAX 256 /* of them, beside submodules */
#define SHOWN_MAX        512

static int open_directory(const char *path)
{
	cleanup_close int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return slash < 0 ? -1 : beneath_open(slash, path, O_PATH | O_DIRECTORY, 0);
}

void rules_add_git_known(struct rules *rules, const char *git_file)
{
	struct plan *plan = rules->planner->plan;
	const char **slot;

	if (git_file == NULL || !path_set_add(&rules->planner->git_known, rules->planner->arena, git_file))
		return;
	slot = arena_push(rules->planner->arena, &plan->git_known, &plan->n_git_known);
	if (slot != NULL)
		*slot = git_file;
}

void rules_add_git_place(struct rules *rules, const char *checkout, const char *directory, const char *common)
{
	struct plan *plan = rules->planner->plan;
	cleanup_close int fd = open_directory(common);
	struct plan_git *place = arena_push(rules->planner->arena, &plan->git, &plan->n_git);

	if (place == NULL)
		return;
	place->checkout = checkout;
	place->directory = directory;
	place->hash_size = git_links_hash_size(fd);
}

/* Where a `.git` file leads to, without a link and in the workspace; NULL. */
static const char *follow(const struct rules *rules, const char *checkout, int checkout_fd)
{
	struct planner *planner = rules->planner;
	cleanup_close int fd = beneath_open(checkout_fd, ".git", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf text = {0};
	struct error ignored = {0};
	const char *said = NULL;

	if (fd >= 0 && fd_read_all(fd, GIT_PATH_FILE_MAX, &text, &ignored) == 0 && text.size > 0)
		said = git_text_git_file(planner->arena, text.data, text.size);
	said = said == NULL ? NULL : git_text_resolve(planner->arena, checkout, said);
	return said != NULL && planner_is_below(said, planner->workspace) ? said : NULL;
}

/* A repository that was there before the run. */
static void protect_repository(
	struct rules *rules, const char *checkout, const char *git_file, int checkout_fd, mode_t mode)
{
	bool exists = false;
	const char *directory = S_ISREG(mode) ? follow(rules, checkout, checkout_fd)
					      : planner_canonical(rules->planner, git_file, &exists);

	if (!S_ISDIR(mode))
		rules_protect(rules, git_file);
	rules_add_git_known(rules, git_file);
	if (directory == NULL)
		return;
	rules_protect_names(rules, S_ISLNK(mode) ? git_file : directory, git_directory_runs_code);
	rules_add_git_place(rules, checkout, directory, directory);
}

static void take_link(struct rules *rules, int place_fd, const char *place, const char *name, size_t *repositories)
{
	struct planner *planner = rules->planner;
	cleanup_close int fd = beneath_open(place_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	const char *checkout, *git_file;
	struct stat st;

	if (fd < 0 || fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	checkout = planner_join(planner, place, name);
	git_file = checkout == NULL ? NULL : planner_join(planner, checkout, ".git");
	if (git_file == NULL || !planner_is_below(checkout, planner->workspace) ||
		path_set_has(&planner->git_known, git_file))
		return;
	if (++*repositories <= REPOSITORIES_MAX) {
		protect_repository(rules, checkout, git_file, fd, st.st_mode);
		return;
	}
	rules_add_git_known(rules, git_file);
	if (*repositories == REPOSITORIES_MAX + 1)
		planner_warn(planner,
			"%s: the index has more than %d repositories that are no submodules: what is in the others is not "
			"protected, and git runs it on the host",
			place, REPOSITORIES_MAX);
}

static void take_place(struct rules *rules, size_t i, size_t *repositories)
{
	struct planner *planner = rules->planner;
	const struct plan_git place = planner->plan->git[i];
	cleanup_close int checkout_fd = open_directory(place.checkout);
	cleanup_close int directory_fd = open_directory(place.directory);
	struct git_links links;

	if (checkout_fd < 0 || directory_fd < 0)
		return;
	links = git_links_read(planner->arena, directory_fd, checkout_fd, place.hash_size);
	planner->plan->git[i].strange = links.wrong != NULL;
	if (links.wrong != NULL)
		planner_warn(planner,
			"%s/index is not looked at: %s. Repositories in the workspace that it leads git to are not protected",
			place.directory, links.wrong);
	for (size_t j = 0; j < links.n; j++) {
		if (links.list[j] != NULL)
			take_link(rules, checkout_fd, place.checkout, links.list[j], repositories);
	}
}

/* The list grows on the way. */
void rules_add_gitlinks(struct rules *rules)
{
	size_t repositories = 0;

	for (size_t i = 0; i < rules->planner->plan->n_git; i++)
		take_place(rules, i, &repositories);
}

void rules_settle_git(struct planner *planner)
{
	for (size_t i = 0; i < planner->plan->n_git; i++)
		planner->plan->git[i].read_only = !planner_is_writable(planner, planner->plan->git[i].directory);
}
