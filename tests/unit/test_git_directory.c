/*
 * Which git directory belongs to a checkout, and that nothing else does: trees as git makes them, and then one thing in
 * them changed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runtime/plan/git_directory.h"
#include "tests/unit/harness.h"

TestSuite(git_directory, .fini = harness_leak_check);

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* In the texts '@' stands for the directory of the tree. An entry that ends in '/' is a directory; one with "->" a link. */
struct entry {
	const char *path, *text;
};

#define GIT_DIRECTORY(at)                            \
	{at "/objects/", NULL}, {at "/refs/", NULL}, \
	{                                            \
		at "/HEAD", "ref: refs/heads/m\n"    \
	}

static const struct entry worktree[] = {
	GIT_DIRECTORY("repo/.git"),
	{"repo/.git/worktrees/w/HEAD", "ref: refs/heads/w\n"},
	{"repo/.git/worktrees/w/commondir", "../..\n"},
	{"repo/.git/worktrees/w/gitdir", "@/tree/.git\n"},
	{"tree/.git", "gitdir: @/repo/.git/worktrees/w\n"},
	{NULL, NULL},
};

static const struct entry submodule[] = {
	GIT_DIRECTORY("tree/.git"),
	GIT_DIRECTORY("tree/.git/modules/a/b"),
	{"tree/.git/modules/a/b/config", "[core]\n\tworktree = ../../../../sub\n"},
	{"tree/sub/.git", "gitdir: ../.git/modules/a/b\n"},
	{NULL, NULL},
};

struct tree {
	char root[256];
	struct arena *arena;
};

/* In the directory. */
static void run(const char *directory, const char *command)
{
	cleanup_free char *line = NULL;

	cr_assert_gt(asprintf(&line, "cd '%s' && %s", directory, command), 0);
	cr_assert_eq(system(line), 0, "%s", line);
}

static void make_directories(const char *path)
{
	cleanup_free char *line = NULL;

	cr_assert_gt(asprintf(&line, "mkdir -p '%s'", path), 0);
	run("/", line);
}

static void put(const struct tree *tree, const struct entry *entry)
{
	cleanup_free char *path = NULL;
	size_t size = strlen(entry->path);
	char *slash;
	FILE *file;

	cr_assert_gt(asprintf(&path, "%s/%s", tree->root, entry->path), 0);
	slash = strrchr(path, '/');
	*slash = '\0';
	make_directories(path);
	*slash = '/';
	if (entry->path[size - 1] == '/')
		return;
	(void)unlink(path);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	for (const char *c = entry->text; *c != '\0'; c++)
		(void)fputs(*c == '@' ? tree->root : (char[]){*c, '\0'}, file);
	cr_assert_eq(fclose(file), 0);
}

static void tree_init(struct tree *tree, const struct entry *entries)
{
	struct error err = {0};

	(void)close(harness_tmpdir(tree->root, sizeof tree->root));
	harness_ok(arena_new(&tree->arena, &err), &err);
	for (; entries->path != NULL; entries++)
		put(tree, entries);
}

static void tree_done(struct tree *tree)
{
	harness_rm_tree(tree->root);
	(void)arena_free(tree->arena);
}

static struct git_directory find(const struct tree *tree, const char *checkout)
{
	return git_directory_find(tree->arena, arena_printf(tree->arena, "%s/%s", tree->root, checkout));
}

static void expect_path(const struct tree *tree, const char *path, const char *expected)
{
	cr_expect(path != NULL && strcmp(path + strlen(tree->root) + 1, expected) == 0, "%s is not %s", path, expected);
}

Test(git_directory, a_worktree_has_the_repository_that_names_it)
{
	struct tree tree;
	struct git_directory found;

	tree_init(&tree, worktree);
	found = find(&tree, "tree");
	cr_expect_eq(found.kind, GIT_LINKED_WORKTREE, "%s", found.reason);
	expect_path(&tree, found.common, "repo/.git");
	expect_path(&tree, found.own, "repo/.git/worktrees/w");
	cr_expect_eq(find(&tree, "repo").kind, GIT_NONE);
	cr_expect_eq(find(&tree, "nothing").kind, GIT_NONE);
	tree_done(&tree);
}

Test(git_directory, a_submodule_has_the_module_that_names_it)
{
	struct tree tree;
	struct git_directory found;
	struct git_submodule *list;
	size_t n;

	tree_init(&tree, submodule);
	found = find(&tree, "tree/sub");
	cr_expect_eq(found.kind, GIT_SUBMODULE, "%s", found.reason);
	expect_path(&tree, found.common, "tree/.git/modules/a/b");
	git_directory_submodules(tree.arena, arena_printf(tree.arena, "%s/tree", tree.root),
		arena_printf(tree.arena, "%s/tree/.git", tree.root), &list, &n);
	cr_assert_eq(n, 1);
	expect_path(&tree, list[0].checkout, "tree/sub");
	expect_path(&tree, list[0].directory, "tree/.git/modules/a/b");
	tree_done(&tree);
}

/* command: of the shell, in the tree; afterwards the checkout must have no verified git directory. */
struct change {
	const char *why;
	struct entry entry;
	const char *command;
};

static void check_changes(const struct entry *entries, const char *checkout, const struct change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tree tree;
		struct git_directory found;

		tree_init(&tree, entries);
		if (changes[i].entry.path != NULL)
			put(&tree, &changes[i].entry);
		if (changes[i].command != NULL)
			run(tree.root, changes[i].command);
		found = find(&tree, checkout);
		cr_expect_eq(found.kind, GIT_UNVERIFIED, "%s: taken for %d", changes[i].why, (int)found.kind);
		cr_expect_not_null(found.reason);
		cr_expect_null(found.common);
		tree_done(&tree);
	}
}

Test(git_directory, a_worktree_that_is_not_named_in_return_has_none)
{
	static const struct change changes[] = {
		{"another's repository", {"tree/.git", "gitdir: @/repo/.git\n"}, NULL},
		{"another's worktree", {"repo/.git/worktrees/w/gitdir", "@/other/.git\n"}, NULL},
		{"a longer name", {"repo/.git/worktrees/w/gitdir", "@/tree/.git/x\n"}, NULL},
		{"the name without .git", {"repo/.git/worktrees/w/gitdir", "@/tree\n"}, NULL},
		{"another way to the name", {"repo/.git/worktrees/w/gitdir", "@/x/../tree/.git\n"}, NULL},
		{"no way back", {NULL, NULL}, "rm repo/.git/worktrees/w/gitdir"},
		{"a way back by a link", {NULL, NULL},
			"mv repo/.git/worktrees/w/gitdir x && ln -s \"$PWD/x\" repo/.git/worktrees/w/gitdir"},
		{"a FIFO", {NULL, NULL}, "rm repo/.git/worktrees/w/gitdir && mkfifo repo/.git/worktrees/w/gitdir"},
		{"the common directory is another", {"repo/.git/worktrees/w/commondir", "../../../../victim\n"},
			"cp -r repo/.git victim"},
		{"the common directory is its own", {"repo/.git/worktrees/w/commondir", ".\n"}, NULL},
		{"deeper in worktrees", {"tree/.git", "gitdir: @/repo/.git/worktrees/x/w\n"},
			"mkdir repo/.git/worktrees/x && mv repo/.git/worktrees/w repo/.git/worktrees/x/"},
		{"no repository", {NULL, NULL}, "rmdir repo/.git/objects"},
		{"a link on the way", {"tree/.git", "gitdir: @/link/worktrees/w\n"}, "ln -s repo/.git link"},
		{"the repository is a link", {NULL, NULL}, "mv repo/.git real && ln -s ../real repo/.git"},
		{"nothing there", {"tree/.git", "gitdir: @/nothing\n"}, NULL},
		{"no path", {"tree/.git", "gitdir: \n"}, NULL},
		{"not the format", {"tree/.git", "@/repo/.git/worktrees/w\n"}, NULL},
		{"empty", {"tree/.git", ""}, NULL},
	};

	check_changes(worktree, "tree", changes, COUNT(changes));
}

Test(git_directory, a_submodule_that_is_not_named_in_return_has_none)
{
	static const struct change changes[] = {
		{"another's module", {"tree/.git/modules/a/b/config", "[core]\n\tworktree = ../../../../other\n"}, NULL},
		{"no core.worktree", {"tree/.git/modules/a/b/config", "[core]\n\tbare = false\n"}, NULL},
		{"an absolute one", {"tree/.git/modules/a/b/config", "[core]\n\tworktree = /\n"}, NULL},
		{"two",
			{"tree/.git/modules/a/b/config",
				"[core]\n\tworktree = ../../../../sub\n\tworktree = ../../../../sub\n"},
			NULL},
		{"a link for a configuration", {NULL, NULL},
			"mv tree/.git/modules/a/b/config x && ln -s \"$PWD/x\" tree/.git/modules/a/b/config"},
		{"the repository itself", {"tree/sub/.git", "gitdir: ../.git\n"}, NULL},
		{"not in modules", {"tree/sub/.git", "gitdir: @/elsewhere\n"},
			"mv tree/.git/modules/a/b elsewhere && printf '[core]\\nworktree = %s/tree/sub\\n' \"$PWD\" >elsewhere/config"},
		{"in the modules of something else", {"tree/sub/.git", "gitdir: @/other/modules/b\n"},
			"mkdir -p other/modules && mv tree/.git/modules/a/b other/modules/ && "
			"printf '[core]\\nworktree = %s/tree/sub\\n' \"$PWD\" >other/modules/b/config"},
		{"in the modules of another repository", {"tree/sub/.git", "gitdir: @/other/.git/modules/b\n"},
			"mkdir -p other/.git/modules && cp -r tree/.git/HEAD tree/.git/objects tree/.git/refs other/.git/ && "
			"mv tree/.git/modules/a/b other/.git/modules/ && "
			"printf '[core]\\nworktree = %s/tree/sub\\n' \"$PWD\" >other/.git/modules/b/config"},
	};

	check_changes(submodule, "tree/sub", changes, COUNT(changes));
}

Test(git_directory, what_is_anothers_is_not_the_checkouts)
{
	static const struct change changes[] = {
		{"the workspace", {NULL, NULL}, "chown 1234 tree"},
		{"the .git file", {NULL, NULL}, "chown 1234 tree/.git"},
		{"the own directory", {NULL, NULL}, "chown 1234 repo/.git/worktrees/w"},
		{"the way back", {NULL, NULL}, "chown 1234 repo/.git/worktrees/w/gitdir"},
		{"the repository", {NULL, NULL}, "chown 1234 repo/.git"},
		{"workspace and .git file", {NULL, NULL}, "chown -R 1234 tree"},
	};

	if (geteuid() != 0)
		cr_skip_test("only root can give files away");
	check_changes(worktree, "tree", changes, COUNT(changes));
}

Test(git_directory, a_git_directory_in_the_checkout_is_told)
{
	static const struct entry entries[] = {
		GIT_DIRECTORY("tree/.bare"), {"tree/.git", "gitdir: ./.bare\n"}, {NULL, NULL}};
	struct tree tree;
	struct git_directory found;

	tree_init(&tree, entries);
	found = find(&tree, "tree");
	cr_expect_eq(found.kind, GIT_INSIDE, "%s", found.reason);
	expect_path(&tree, found.common, "tree/.bare");
	tree_done(&tree);
}

Test(git_directory, worktrees_in_a_repository_are_listed)
{
	struct tree tree;
	const char **list;
	size_t n;

	tree_init(&tree, worktree);
	cr_assert(git_directory_worktrees(tree.arena, arena_printf(tree.arena, "%s/repo/.git", tree.root), &list, &n));
	cr_assert_eq(n, 1);
	expect_path(&tree, list[0], "tree");
	cr_expect(git_directory_worktrees(tree.arena, arena_printf(tree.arena, "%s/tree", tree.root), &list, &n));
	cr_expect_eq(n, 0);
	tree_done(&tree);
}
