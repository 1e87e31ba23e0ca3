/*
 * Rules for a workspace that is a linked worktree or a submodule, whose git directory lies outside of it, and for the
 * submodules that lie in a workspace. The git directory comes along, as far as the workspace goes: writable where that
 * is writable, but for what makes git run code or leads it elsewhere; else to be read. Whether it is the workspace's at
 * all is found out in git_directory.c.
 *
 * These are rules like the policy's own, so that one of the policy's on the same or a longer path wins: `deny` or
 * `read` of the git directory takes it away, or its writing.
 *
 * Threat: other worktrees of the repository belong to somebody else, another run perhaps. In COMMON/worktrees only the
 * workspace's own directory is writable. `git gc` would lock each HEAD there to shorten its reflog, and fail. So where
 * there are others, environment.c tells git to keep reflogs as they are.
 * Threat: host-side git looks into submodules by itself, `git status` does. So a submodule's `.git` file stays as it
 * is, and its git directory has the same things protected as any other. What else it looks into: rules_gitlinks.c.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "runtime/plan/git_directory.h"
#include "runtime/plan/rules.h"

#define SHOWN_MAX 512 /* of a path in a message */

/* In a worktree's own directory; what else runs code is read from the common one. */
static const char *const own_runs_code[] = {"commondir", "gitdir", "config.worktree", "modules", NULL};

static void add(struct rules *rules, enum rule_kind kind, const char *path)
{
	struct rule *rule = rules_add(rules, kind, path, path);

	if (rule == NULL)
		return;
	rule->given = path;
	rule->optional = true; /* it may go at any time, and then nothing shows */
	rule->own = true;
}

/* What is protected: by the name that leads there, which may be a link on the way. */
void rules_protect(struct rules *rules, const char *path)
{
	bool exists = false;
	struct rule *rule = rules_add(
		rules, RULE_PROTECT, path == NULL ? NULL : planner_canonical(rules->planner, path, &exists), path);

	if (rule == NULL)
		return;
	rule->given = path;
	rule->optional = true;
	rule->own = true;
}

void rules_protect_names(struct rules *rules, const char *directory, const char *const *names)
{
	for (; *names != NULL; names++)
		rules_protect(rules, planner_join(rules->planner, directory, *names));
}

static bool has_rule(const struct rules *rules, enum rule_kind kind, const char *path)
{
	for (size_t i = 0; i < rules->n; i++) {
		if (rules->list[i].kind == kind && planner_is_below(path, rules->list[i].path))
			return true;
	}
	return false;
}

/* Of the shipped secrets, /root say, one may well hold a repository, and only the very path counts. */
static bool is_denied(const struct rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->list[i];

		if (rule->kind == RULE_DENY && planner_is_below(path, rule->path) &&
			(!rule->secret || strcmp(path, rule->path) == 0))
			return true;
	}
	return false;
}

static void tell(struct rules *rules, const struct git_directory *found, const char *reason)
{
	struct planner *planner = rules->planner;
	const char *named = "nothing that git could use";
	char shown[SHOWN_MAX];

	if (found->named != NULL)
		named = str_printable(found->named, shown, sizeof shown);
	planner_warn(planner,
		"%s/.git names %s, and no git directory comes with the workspace: %s. git will not work inside. On the "
		"host, \"git worktree repair\" or \"git submodule update\" may put that right; else name the directory in "
		"filesystem.write, and its hooks and config in filesystem.protect",
		planner->workspace, named, reason);
}

/* Submodules of a checkout whose own git directory is `own`. */
static void add_submodules(struct rules *rules, const char *own)
{
	struct planner *planner = rules->planner;
	struct git_submodule *list;
	size_t n;

	git_directory_submodules(planner->arena, planner->workspace, own, &list, &n);
	for (size_t i = 0; i < n; i++) {
		const char *git_file = planner_join(planner, list[i].checkout, ".git");

		rules_protect(rules, git_file);
		rules_add_git_known(rules, git_file);
		rules_add_git_place(rules, list[i].checkout, list[i].directory, list[i].directory);
		add(rules, RULE_WRITE, list[i].directory);
		rules_protect_names(rules, list[i].directory, git_directory_runs_code);
	}
}

/* git gc shortens the reflogs of all worktrees, and fails where those of others cannot be written. */
static void keep_reflogs(struct rules *rules, const char *common, const char *own)
{
	struct planner *planner = rules->planner;
	const char **list;
	size_t n;

	planner->keep_reflogs |= !git_directory_worktrees(planner->arena, common, &list, &n) || n > (own == NULL ? 0 : 1);
}

/* Threat: the workspace may be a directory of a repository. What that has as gitlinks in it the command can fill. */
static void add_enclosing(struct rules *rules)
{
	struct planner *planner = rules->planner;
	const char *at = planner->workspace;
	const char *slash;

	while (at != NULL && (slash = strrchr(at, '/')) != NULL && slash != at) {
		const char *own;
		struct stat st;

		at = arena_strndup(planner->arena, at, (size_t)(slash - at));
		own = at == NULL ? NULL : planner_join(planner, at, ".git");
		if (own == NULL || lstat(own, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			rules_add_git_place(rules, at, own, own);
		} else {
			struct git_directory found = git_directory_find(planner->arena, at);

			if (found.common != NULL)
				rules_add_git_place(
					rules, at, found.own != NULL ? found.own : found.common, found.common);
		}
		return;
	}
}

/* Of a whole repository; where the policy leaves its modules to the command, they are left to it. */
static void add_own_submodules(struct rules *rules)
{
	struct planner *planner = rules->planner;
	const char *own = planner_join(planner, planner->workspace, ".git");
	const char *modules = own == NULL ? NULL : planner_join(planner, own, "modules");
	const char *config = own == NULL ? NULL : planner_join(planner, own, "config");
	const char *place;
	bool exists = false;

	if (config == NULL || !has_rule(rules, RULE_PROTECT, config))
		return;
	add_enclosing(rules);
	place = planner_canonical(planner, own, &exists);
	if (place != NULL)
		rules_add_git_place(rules, planner->workspace, place, place);
	keep_reflogs(rules, own, NULL);
	if (modules != NULL && has_rule(rules, RULE_PROTECT, modules))
		add_submodules(rules, own);
}

/* Threat: some keep the worktrees in the directory of a bare repository. It is not for that that it comes along. False
 * where they are too many. */
static bool protect_siblings(struct rules *rules, const char *common)
{
	struct planner *planner = rules->planner;
	const char **list;
	size_t n;

	if (!planner_is_below(planner->workspace, common))
		return true;
	if (!git_directory_worktrees(planner->arena, common, &list, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], planner->workspace) != 0 && planner_is_below(list[i], common))
			add(rules, RULE_PROTECT, list[i]);
	}
	return true;
}

/* Threat: some keep the worktrees in the main one, whose index the command may write: it leads git into the workspace. */
static void add_main_worktree(struct rules *rules, const char *common)
{
	struct planner *planner = rules->planner;
	const char *slash = strrchr(common, '/');
	const char *main = arena_strndup(planner->arena, common, slash == common ? 1 : (size_t)(slash - common));

	if (main == NULL || strcmp(slash, "/.git") != 0 || !planner_is_below(planner->workspace, main))
		return;
	rules_add_git_known(rules, planner_join(planner, planner->workspace, ".git"));
	rules_add_git_place(rules, main, common, common);
}

static void add_outside(struct rules *rules, const struct git_directory *found, bool write)
{
	struct planner *planner = rules->planner;

	if (is_denied(rules, found->common)) {
		tell(rules, found, "filesystem.deny names it, or what it lies in");
		return;
	}
	if (write && !protect_siblings(rules, found->common)) {
		tell(rules, found, "the worktrees in that repository are too many to be protected");
		return;
	}
	add(rules, write ? RULE_WRITE : RULE_READ, found->common);
	if (!write)
		return;
	rules_protect(rules, planner_join(planner, planner->workspace, ".git"));
	rules_protect_names(rules, found->common, git_directory_runs_code);
	keep_reflogs(rules, found->common, found->own);
	add_main_worktree(rules, found->common);
	rules_add_git_place(rules, planner->workspace, found->own != NULL ? found->own : found->common, found->common);
	if (found->own != NULL) {
		add(rules, RULE_WRITE, found->own);
		rules_protect_names(rules, found->own, own_runs_code);
	}
	add_submodules(rules, found->own != NULL ? found->own : found->common);
}

void rules_add_git(struct rules *rules)
{
	struct planner *planner = rules->planner;
	struct git_directory found = git_directory_find(planner->arena, planner->workspace);
	bool write = rules_write(rules, planner->workspace);

	switch (found.kind) {
	case GIT_NONE:
		if (write)
			add_own_submodules(rules);
		break;
	case GIT_INSIDE:
		if (!write)
			break;
		rules_protect(rules, planner_join(planner, planner->workspace, ".git"));
		rules_protect_names(rules, found.common, git_directory_runs_code);
		rules_add_git_place(rules, planner->workspace, found.common, found.common);
		break;
	case GIT_UNVERIFIED:
		if ((write || planner->policy->root != ROOT_HOST) &&
			(found.named == NULL || !has_rule(rules, RULE_WRITE, found.named)))
			tell(rules, &found, found.reason);
		break;
	case GIT_LINKED_WORKTREE:
	case GIT_SUBMODULE: add_outside(rules, &found, write); break;
	}
	rules_add_gitlinks(rules);
}
