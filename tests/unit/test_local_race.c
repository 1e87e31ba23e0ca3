/* Copying what is exchanged meanwhile: for a symlink, a FIFO, another file. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotime.h"
#include "base/tree.h"
#include "runtime/workspace/local.h"
#include "tests/unit/harness.h"
#include "tests/unit/local_scene.h"

TestSuite(local_race, .init = local_scene_setup, .fini = local_scene_teardown, .timeout = 100);

/* Told of the first piece, another file takes the name, or it goes. */
static void replace(void *context, uint64_t files, uint64_t bytes)
{
	(void)files;
	(void)bytes;
	(void)renameat(tree, "other", source, context);
}

static void take_away(void *context, uint64_t files, uint64_t bytes)
{
	(void)files;
	(void)bytes;
	(void)unlinkat(source, context, 0);
}

Test(local_race, a_file_that_is_replaced_while_it_is_copied)
{
	static void (*const acts[])(void *, uint64_t, uint64_t) = {replace, take_away};
	static char name[] = "file";

	for (size_t i = 0; i < 4; i++) {
		struct work work = WORK_INIT;
		const struct local_options options = {.work = &work};
		struct local_totals totals = {0};
		struct error err = {0}, clear = {0};

		put(source, name, "12345", 0644);
		put(tree, "other", "other", 0644);
		work.tell = acts[i % 2];
		work.context = name;
		if (i < 2)
			expect_error(local_copy_file(source, name, target, "file", &options, &totals, &err), &err,
				ERROR_LOCAL_FILE_READ, "path_changed_during_copy", "\"file\"");
		else
			expect_error(local_copy_dir(source, target, &options, &totals, &err), &err,
				ERROR_LOCAL_DIR_READ, "path_changed_during_copy", "\"file\"");
		harness_ok(tree_remove(target, name, &clear), &clear);
		harness_ok(tree_remove(source, name, &clear), &clear);
		harness_ok(tree_remove(tree, "other", &clear), &clear);
	}
}

struct swapper {
	pthread_t thread;
	const char *turn, *decoy; /* in `tree` */
	bool stop;                /* atomic */
	unsigned swaps;           /* atomic */
};

static void *swap_until_stopped(void *userdata)
{
	struct swapper *swapper = userdata;

	while (!__atomic_load_n(&swapper->stop, __ATOMIC_RELAXED)) {
		if (renameat2(tree, swapper->turn, tree, swapper->decoy, RENAME_EXCHANGE) < 0)
			return swapper;
		(void)__atomic_add_fetch(&swapper->swaps, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Copies until both ends were seen often; what is copied never is the content of the secret. */
static void copy_while_swapping(const char *turn, const char *decoy, int (*copy)(struct error *err), const char *file)
{
	struct swapper swapper = {.turn = turn, .decoy = decoy};
	uint64_t deadline = monotime_after_ns(40 * NS_PER_S);
	unsigned copied = 0, refused = 0;
	void *failed = NULL;

	cr_assert_eq(pthread_create(&swapper.thread, NULL, swap_until_stopped, &swapper), 0);
	while ((copied < 50 || refused < 50 || __atomic_load_n(&swapper.swaps, __ATOMIC_RELAXED) <= 10000) &&
		monotime_ns() < deadline) {
		struct error err = {0}, clear = {0};

		if (copy(&err) == 0) {
			if (exists(target, file)) /* on btrfs a list may lack a name that is just exchanged */
				expect_content(target, file, "inside");
			copied++;
		} else {
			cr_expect(err.code == ERROR_LOCAL_FILE_READ || err.code == ERROR_LOCAL_DIR_READ, "%s", err.text);
			refused++;
		}
		harness_ok(tree_remove(target, "copy", &clear), &clear);
	}
	__atomic_store_n(&swapper.stop, true, __ATOMIC_RELAXED);
	cr_assert_eq(pthread_join(swapper.thread, &failed), 0);
	cr_expect_null(failed, "the swapping did not work");
	cr_expect(copied >= 50 && refused >= 50 && swapper.swaps > 10000, "%u copied, %u refused, %u swaps", copied,
		refused, swapper.swaps);
}

static int copy_swapped_file(struct error *err)
{
	return copy_file_of("copy/file", err);
}

static int copy_swapped_dir(struct error *err)
{
	struct work work = WORK_INIT;

	return copy_dir(&work, err);
}

static void prepare_swap(void)
{
	mkdir_in(source, "copy");
	put(source, "copy/file", "inside", 0644);
	mkdir_in(tree, "outside");
	put(tree, "outside/file", "secret", 0644);
}

Test(local_race, a_file_swapped_with_a_link)
{
	prepare_swap();
	cr_assert_eq(symlinkat("../../outside/file", tree, "decoy"), 0);
	copy_while_swapping("source/copy/file", "decoy", copy_swapped_file, "copy");
}

Test(local_race, its_directory_swapped_with_a_link)
{
	prepare_swap();
	cr_assert_eq(symlinkat("../outside", tree, "decoy"), 0);
	copy_while_swapping("source/copy", "decoy", copy_swapped_file, "copy");
}

Test(local_race, a_file_in_a_tree_swapped_with_a_link)
{
	prepare_swap();
	cr_assert_eq(symlinkat("../../outside/file", tree, "decoy"), 0);
	copy_while_swapping("source/copy/file", "decoy", copy_swapped_dir, "copy/file");
}

Test(local_race, a_directory_in_a_tree_swapped_with_a_link)
{
	prepare_swap();
	cr_assert_eq(symlinkat("../outside", tree, "decoy"), 0);
	copy_while_swapping("source/copy", "decoy", copy_swapped_dir, "copy/file");
}

/* No writer ever comes: a copy that opened the FIFO would stand still until the test's time is over. */
Test(local_race, a_file_swapped_with_a_fifo)
{
	prepare_swap();
	cr_assert_eq(mkfifoat(tree, "decoy", 0600), 0);
	copy_while_swapping("source/copy/file", "decoy", copy_swapped_dir, "copy/file");
}
