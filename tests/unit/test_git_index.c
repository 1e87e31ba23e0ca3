/*
 * Indexes as git writes them, in each version and form, and then each byte of them changed and each end cut off: the
 * gitlinks that are found are git's own, and nothing reads beyond the file. What git finds in them it says itself.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "runtime/plan/git_index.h"
#include "runtime/plan/git_links.h"
#include "tests/unit/harness.h"

TestSuite(git_index, .fini = harness_leak_check);

static const char prepare[] =
	"export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1; unset GIT_DIR; git init -q $FORMAT . && "
	"for i in 1 2 3; do echo $i >file-$i; mkdir -p deep/er && echo $i >deep/er/file-$i; done && git add . && "
	"H=$(git hash-object file-1) && link() { git update-index --add --cacheinfo 160000,$H,$1; } && ";

static bool have_git(void)
{
	return system("git --version >/dev/null 2>&1") == 0;
}

/* A repository on which `steps` were done; its path is to be freed. */
static char *make(const char *format, const char *steps)
{
	char *root = strdup("/tmp/pinfold-git-index-XXXXXX");
	cleanup_free char *line = NULL;

	cr_assert_not_null(root);
	cr_assert_not_null(mkdtemp(root));
	cr_assert_gt(asprintf(&line, "cd %s && FORMAT='%s'; %s %s", root, format, prepare, steps), 0);
	cr_assert_eq(system(line), 0, "%s", line);
	return root;
}

static void drop(char *root)
{
	cleanup_free char *line = NULL;

	cr_assert_gt(asprintf(&line, "rm -rf %s", root), 0);
	cr_assert_eq(system(line), 0);
	free(root);
}

/* What was found, as one text; "!" and the reason where it is wrong. */
static char *find(const char *root)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	cleanup_close int checkout = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int directory = openat(checkout, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};
	struct git_links links;
	struct buf text = {0};

	harness_ok(arena_new(&arena, &err), &err);
	links = git_links_read(arena, directory, checkout, git_links_hash_size(directory));
	if (links.wrong != NULL)
		buf_printf(&text, "!%s", links.wrong);
	for (size_t i = 0; links.wrong == NULL && i < links.n; i++)
		buf_printf(&text, "%s ", links.list[i]);
	return buf_steal(&text);
}

static void expect(const char *format, const char *steps, const char *expected)
{
	char *root = make(format, steps);
	cleanup_free char *found = find(root);

	cr_expect_str_eq(found, expected, "%s", steps);
	drop(root);
}

Test(git_index, finds_gitlinks_in_every_form)
{
	static const char *const formats[] = {"", "--object-format=sha256"};

	if (!have_git())
		cr_skip_test("git is not installed");
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		const char *format = formats[i];

		expect(format, "true", "");
		expect(format, "link sub && link deep/er/sub", "deep/er/sub sub ");
		expect(format, "link sub && git update-index --index-version 2", "sub ");
		expect(format, "link sub && git update-index --skip-worktree file-1", "sub ");
		expect(format, "link deep/er/sub && link deep/sub && git update-index --index-version 4",
			"deep/er/sub deep/sub ");
		expect(format, "printf \"160000 $H 2\\tsub\\n\" | git update-index --index-info", "sub ");
		expect(format, "link old && git update-index --split-index && link sub", "sub old ");
		expect(format, "git update-index --index-version 4 --split-index && link sub", "sub ");
		expect(format,
			"git config index.threads 4 && for i in $(seq 12000); do echo \"100644 $H 0\tn/$i\"; done | "
			"git update-index --index-info && git update-index --index-version 4 && link sub && "
			"grep -q IEOT .git/index && grep -q EOIE .git/index",
			"sub ");
		expect(format, "rm .git/index", "");
	}
}

/* A file that becomes a gitlink in a split index has no name there: any entry of the shared one may be it. */
Test(git_index, finds_a_gitlink_without_a_name)
{
	cleanup_free char *found = NULL;
	char *root;

	if (!have_git())
		cr_skip_test("git is not installed");
	root = make("", "git update-index --split-index && link file-2");
	found = find(root);
	cr_expect_not_null(strstr(found, "file-2 "), "found: %s", found);
	drop(root);
}

Test(git_index, refuses_what_it_cannot_tell)
{
	if (!have_git())
		cr_skip_test("git is not installed");
	expect("", "ln -s elsewhere .git/i && mv .git/i .git/index", "!it cannot be read, or is no file");
	expect("", "rm .git/index; mkfifo .git/index", "!it cannot be read, or is no file");
	expect("", "truncate -s 300M .git/index", "!it is too large to be looked at");
	expect("", "echo DIRC >.git/index", "!it is no index");
	expect("", "git update-index --split-index && rm .git/sharedindex.*",
		"!the shared index that it names does not exist");
	expect("", "git update-index --split-index && link file-2 && sed -i s/link/LINK/ .git/index",
		"!a gitlink has no name");
	expect("", "link aa/sub && sed -i s,aa/sub,../sub, .git/index", "!a gitlink leads out of the checkout");
	expect("", "link aa/sub && sed -i s,aa/sub,/a/sub, .git/index", "!a gitlink leads out of the checkout");
	expect("", "link aa/sub && sed -i s,aa/sub,aa//ub, .git/index", "!a gitlink leads out of the checkout");
}

Test(git_index, tells_a_sparse_directory_that_is_there)
{
	static const char sparse[] = "git -c user.name=a -c user.email=a@b commit -qm 1 && "
				     "git sparse-checkout set --sparse-index other && grep -q sdir .git/index";
	cleanup_free char *again = NULL;

	if (!have_git())
		cr_skip_test("git is not installed");
	expect("", sparse, "");
	cr_assert_gt(asprintf(&again, "%s && mkdir deep", sparse), 0);
	expect("", again, "!a directory that it has as sparse is there");
}

static void count(void *userdata, const char *name, uint32_t mode)
{
	size_t *n = userdata;

	*n += strlen(name) < PATH_MAX && mode != 1;
}

/* At the end of memory of just its size, so that a sanitizer sees each byte beyond it. */
static const char *parse_copy_counting(const char *data, size_t size, size_t hash_size, size_t *ret_n)
{
	cleanup_free char *copy = malloc(size > 0 ? size : 1);
	char shared[GIT_INDEX_SHARED_SIZE];
	const struct git_index index = {copy, size, hash_size, count, ret_n};

	*ret_n = 0;
	cr_assert_not_null(copy);
	memcpy(copy, data, size);
	return git_index_parse(&index, shared);
}

static const char *parse_copy(const char *data, size_t size, size_t hash_size)
{
	size_t n;

	return parse_copy_counting(data, size, hash_size, &n);
}

/* Behind the entries an end may be cut off and leave an index in order; git does not look at the hash either. */
static void cut(const struct buf *text, size_t hash_size, const char *steps)
{
	size_t all, n;

	cr_assert_null(parse_copy_counting(text->data, text->size, hash_size, &all));
	for (size_t size = 0; size < text->size; size++) {
		if (parse_copy_counting(text->data, size, hash_size, &n) == NULL)
			cr_expect_eq(n, all, "%s: cut to %zu", steps, size);
	}
}

static void mutate(const char *format, size_t hash_size, const char *steps)
{
	char *root = make(format, steps);
	cleanup_close int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf text = {0};
	struct error err = {0};

	harness_ok(fd_read_file(fd, ".git/index", GIT_INDEX_MAX, &text, &err), &err);
	cut(&text, hash_size, steps);
	for (size_t i = 0; i < text.size; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			text.data[i] = (char)(text.data[i] ^ (1 << bit));
			(void)parse_copy(text.data, text.size, hash_size);
			text.data[i] = (char)(text.data[i] ^ (1 << bit));
		}
		text.data[i] = (char)~text.data[i];
		(void)parse_copy(text.data, text.size, hash_size);
		text.data[i] = (char)~text.data[i];
	}
	drop(root);
}

Test(git_index, bears_any_bytes)
{
	static const char tables[] = "git config index.threads 2 && git config index.recordEndOfIndexEntries true && "
				     "git config index.recordOffsetTable true && ";
	cleanup_free char *with_tables = NULL;

	if (!have_git())
		cr_skip_test("git is not installed");
	mutate("", GIT_SHA1_SIZE, "link sub");
	mutate("", GIT_SHA1_SIZE, "link sub && git update-index --index-version 4");
	mutate("", GIT_SHA1_SIZE, "git update-index --split-index && link sub");
	mutate("", GIT_SHA1_SIZE, "git update-index --skip-worktree file-1");
	mutate("--object-format=sha256", GIT_SHA256_SIZE, "link sub && git update-index --index-version 4");
	cr_assert_gt(asprintf(&with_tables,
			     "%slink sub && git update-index --index-version 4 && grep -q EOIE .git/index", tables),
		0);
	mutate("", GIT_SHA1_SIZE, with_tables);
}

/* git with several threads goes by the tables, git with one does not: they must say the same. */
Test(git_index, refuses_tables_that_lie)
{
	static const char steps[] =
		"git config index.threads 4 && for i in $(seq 12000); do echo \"100644 $H 0\tn/$i\"; done | "
		"git update-index --index-info && git update-index --index-version 4 && grep -q IEOT .git/index";
	cleanup_buf struct buf text = {0};
	cleanup_close int fd = -1;
	struct error err = {0};
	char *root, *table;

	if (!have_git())
		cr_skip_test("git is not installed");
	root = make("", steps);
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	harness_ok(fd_read_file(fd, ".git/index", GIT_INDEX_MAX, &text, &err), &err);
	table = memmem(text.data, text.size, "IEOT", 4);
	cr_assert_not_null(table);
	for (size_t i = 12; i < 28; i++) { /* two blocks: where, and how many */
		table[i] ^= 1;
		cr_expect_not_null(parse_copy(text.data, text.size, GIT_SHA1_SIZE), "byte %zu", i);
		table[i] ^= 1;
	}
	table = memmem(text.data, text.size, "EOIE", 4);
	table[11] ^= 1;
	cr_expect_not_null(parse_copy(text.data, text.size, GIT_SHA1_SIZE));
	table[11] ^= 1;
	table[0] = 'X';
	cr_expect_null(parse_copy(text.data, text.size, GIT_SHA1_SIZE), "without it git reads one after the other");
	drop(root);
}
