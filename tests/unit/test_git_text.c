/*
 * The texts that say where a checkout's data is, as git writes them and as somebody might who wants to be led elsewhere.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/plan/git_text.h"
#include "tests/unit/harness.h"

TestSuite(git_text, .fini = harness_leak_check);

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define TEXT(s)      s, sizeof(s) - 1

struct text_case {
	const char *text;
	size_t size;
	const char *expected; /* NULL: names nothing */
};

static void check_texts(const char *(*read)(struct arena *, const char *, size_t), const struct text_case *cases, size_t n)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct error err = {0};

	harness_ok(arena_new(&arena, &err), &err);
	for (size_t i = 0; i < n; i++) {
		const char *found = read(arena, cases[i].text, cases[i].size);

		if (cases[i].expected == NULL)
			cr_expect_null(found, "%s: says %s", cases[i].text, found);
		else
			cr_expect(found != NULL && strcmp(found, cases[i].expected) == 0, "%s: says %s, not %s",
				cases[i].text, found == NULL ? "nothing" : found, cases[i].expected);
	}
}

Test(git_text, reads_a_git_file)
{
	static const struct text_case cases[] = {
		{TEXT("gitdir: /a/.git/worktrees/w\n"), "/a/.git/worktrees/w"},
		{TEXT("gitdir: ../.git/modules/x"), "../.git/modules/x"},
		{TEXT("gitdir: /a/b\r\n"), "/a/b"},
		{TEXT("gitdir: /a/b\n\n"), "/a/b"},
		{TEXT("gitdir: /a/b \n"), "/a/b "},
		{TEXT("gitdir:  /a\n"), " /a"},
		{TEXT("gitdir: \n"), NULL},
		{TEXT("gitdir: "), NULL},
		{TEXT("gitdir:/a\n"), NULL},
		{TEXT("Gitdir: /a\n"), NULL},
		{TEXT(" gitdir: /a\n"), NULL},
		{TEXT("gitdir: /a\n/b\n"), NULL},
		{TEXT("gitdir: /a\ngitdir: /b\n"), NULL},
		{TEXT("gitdir: /a\rb\n"), NULL},
		{TEXT("gitdir: /a\0b\n"), NULL},
		{TEXT("gitdir: /a\0"), NULL},
		{TEXT("\0gitdir: /a"), NULL},
		{TEXT("gitdir"), NULL},
		{TEXT("\n"), NULL},
	};

	check_texts(git_text_git_file, cases, COUNT(cases));
}

Test(git_text, takes_no_path_that_is_too_long)
{
	char text[GIT_PATH_FILE_MAX];
	struct text_case one = {text, sizeof text, NULL};

	memset(text, 'a', sizeof text);
	memcpy(text, "gitdir: /", 9);
	check_texts(git_text_git_file, &one, 1);
	one.size = 4096 + 8; /* without room for a NUL in PATH_MAX */
	check_texts(git_text_git_file, &one, 1);
}

Test(git_text, reads_a_path)
{
	static const struct text_case cases[] = {
		{TEXT("../..\n"), "../.."},
		{TEXT("/w/.git\n"), "/w/.git"},
		{TEXT("/w/.git"), "/w/.git"},
		{TEXT("\n"), NULL},
		{TEXT("/w\n/.git\n"), NULL},
		{TEXT("/w\0/.git\n"), NULL},
	};

	check_texts(git_text_path, cases, COUNT(cases));
}

Test(git_text, reads_the_worktree_of_a_configuration)
{
	static const struct text_case cases[] = {
		{TEXT("[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote \"o\"]\n\turl = x\n"), "../../../sub"},
		{TEXT("[core]\r\n\tworktree = ../s\r\n"), "../s"},
		{TEXT("[CORE] WorkTree=/a\n"), "/a"},
		{TEXT("[core]\nworktree = \"/a b ;c\" # d\n"), "/a b ;c"},
		{TEXT("[core]\nworktree = /a b ; c\n"), "/a b"},
		{TEXT("[core]\nworktree = /a\\\\b\\\"\n"), "/a\\b\""},
		{TEXT("[core]\nworktree = /a\\\nb\n"), "/ab"},
		{TEXT("[core]\nbare\nworktree = /a"), "/a"},
		{TEXT("# [x\n[core]\n; y\nworktree = /a\n"), "/a"},
		{TEXT("[core \"x\"]\nworktree = /a\n"), NULL},
		{TEXT("[cores]\nworktree = /a\n"), NULL},
		{TEXT("[coreworktree]\nworktree = /a\n"), NULL},
		{TEXT("[x]\nworktree = /a\n"), NULL},
		{TEXT("[core]\nworktrees = /a\nwork = /b\n"), NULL},
		{TEXT("[core]\nworktree\n"), NULL},
		{TEXT("[core]\nworktree =\n"), NULL},
		{TEXT("[core]\nworktree = /a\nworktree = /b\n"), NULL},
		{TEXT("[core]\nworktree = /a\n[core]\nworktree = /a\n"), NULL},
		{TEXT("[core]\nworktree = \"/a\n"), NULL},
		{TEXT("[core]\nworktree = /a\\n/b\n"), NULL},
		{TEXT("[core]\nworktree = /a\\x\n"), NULL},
		{TEXT("[core]\nworktree = /a\0b\n"), NULL},
		{TEXT("[core\nworktree = /a\n"), NULL},
		{TEXT("[core]\nworktree = /a\n=x\n"), NULL},
		/* what other values seem to say */
		{TEXT("[x]\nv = \"a\\\n[core]\\\nworktree = /a\"\n"), NULL},
		{TEXT("[branch \"a\\\"]\n[core]\nworktree = /a\n"), NULL},
		{TEXT("[branch \"]\"]\nworktree = /a\n"), NULL},
		{TEXT("[x]\nv = [core]\nworktree = /a\n"), NULL},
	};

	check_texts(git_text_worktree, cases, COUNT(cases));
}

Test(git_text, resolves_without_the_file_tree)
{
	static const struct {
		const char *base, *path, *expected;
	} cases[] = {
		{"/r/.git/worktrees/w", "../..", "/r/.git"},
		{"/r/sub", "../.git/modules/sub", "/r/.git/modules/sub"},
		{"/r/.git/modules/a/b", "../../../../a/b", "/r/a/b"},
		{"/r", "/a//b/./c/", "/a/b/c"},
		{"/r", "./.bare", "/r/.bare"},
		{"/", "a", "/a"},
		{"/a", "..", "/"},
		{"/a", "../b", "/b"},
		{"/a", "../../b", NULL},
		{"/r", "a/../b", NULL}, /* a may be a link */
		{"/r", "../a/..", NULL},
		{"/r", "/a/../b", NULL},
		{"/r", "/..", NULL},
		{"/r", "..a/...", "/r/..a/..."},
	};
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct error err = {0};

	harness_ok(arena_new(&arena, &err), &err);
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *found = git_text_resolve(arena, cases[i].base, cases[i].path);

		cr_expect(found == NULL ? cases[i].expected == NULL
					: cases[i].expected != NULL && strcmp(found, cases[i].expected) == 0,
			"%s from %s: %s", cases[i].path, cases[i].base, found == NULL ? "nothing" : found);
	}
}
