/*
 * A manifest from its text to what is made of it, in a workspace of which everything is removed again.
 *
 * An input is a byte whose bits say what is asked (a dry run, the ephemeral entries alone, side by side), and the text.
 * The base directory is a made-up tree with links that lead out of it. Whatever is asked, what has a secret in it is
 * never copied, and where it fails nothing is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree.h"
#include "runtime/workspace/materialize.h"
#include "runtime/workspace/receipt.h"
#include "runtime/workspace/stage.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "the secret"

/* world/mf/base is the base directory, world/mf/made the workspace, world/mf/secret lies outside. */
struct ground {
	int fd;
	char base[300], made[300];
};

static void put_file(int dirfd, const char *path, const char *text)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(fd);
}

static const struct ground *get_ground(void)
{
	static struct ground ground = {.fd = -1};
	char path[300];

	if (ground.fd >= 0)
		return &ground;
	(void)snprintf(path, sizeof path, "%s/mf", fuzz_world()->root);
	cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST, "%s: %s", path, strerror(errno));
	ground.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(ground.fd, 0);
	(void)snprintf(ground.base, sizeof ground.base, "%s/mf/base", fuzz_world()->root);
	(void)snprintf(ground.made, sizeof ground.made, "%s/mf/made", fuzz_world()->root);
	cr_assert_eq(mkdirat(ground.fd, "base", 0755), 0);
	cr_assert_eq(mkdirat(ground.fd, "base/d", 0755), 0);
	put_file(ground.fd, "base/f", "f");
	put_file(ground.fd, "base/d/g", "g");
	put_file(ground.fd, "secret", SECRET);
	cr_assert_eq(symlinkat("../secret", ground.fd, "base/link"), 0);
	cr_assert_eq(symlinkat("..", ground.fd, "base/up"), 0);
	return &ground;
}

/* The manifest may say itself what is looked for. */
static bool says_it(const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->n_entries; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];

		if (strstr(entry->path, STAGE_PREFIX) != NULL)
			return true;
		if (entry->type == MANIFEST_FILE &&
			memmem(entry->content, entry->content_size, SECRET, strlen(SECRET)) != NULL)
			return true;
	}
	return false;
}

static int expect_harmless(void *ctx, const struct tree_entry *entry, struct error *err)
{
	cleanup_buf struct buf text = {0};

	if (says_it(ctx))
		return TREE_GO_ON;
	cr_assert(S_ISREG(entry->status->st_mode) || S_ISDIR(entry->status->st_mode), "%s", entry->path);
	cr_assert_eq(entry->status->st_mode & 07000, 0, "%s", entry->path);
	cr_assert(strncmp(entry->path, STAGE_PREFIX, strlen(STAGE_PREFIX)) != 0, "%s", entry->path);
	if (S_ISREG(entry->status->st_mode) && fd_read_file(entry->dirfd, entry->name, 1 << 20, &text, err) == 0)
		cr_assert_null(memmem(buf_str(&text), text.size, SECRET, strlen(SECRET)), "%s", entry->path);
	return TREE_GO_ON;
}

static void look_at_made(const struct ground *ground, const struct manifest *manifest)
{
	struct tree_budget budget = {.entries_max = 100000};
	const struct tree_visitor visitor = {.visit = expect_harmless, .ctx = (void *)(uintptr_t)manifest};
	cleanup_close int fd = openat(ground->fd, "made", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};

	if (fd >= 0 && tree_walk(fd, &budget, &visitor, &err) < 0)
		cr_assert_eq(err.code, ERROR_LOCAL_DIR_READ, "%s", err.text); /* a mode that lets nobody in */
}

static void make(const struct ground *ground, const struct manifest *manifest, uint8_t how)
{
	struct work work = WORK_INIT;
	struct sources *sources = NULL;
	struct materialize_options options = {
		.jobs = how & 4 ? 4 : 1, .ephemeral_only = how & 2, .dry_run = how & 1, .work = &work};
	struct receipt receipt = {0};
	struct error err = {0};
	struct stat st;
	char *json = NULL;

	work.files_max = 1000;
	work.bytes_max = 1 << 20;
	cr_assert_eq(sources_new(&sources, &err), 0);
	cr_assert_eq(sources_set_base(sources, ground->base, &err), 0, "%s", err.text);
	options.sources = sources;
	if (materialize(manifest, ground->made, &options, &receipt, &err) == 0) {
		cr_assert_eq(receipt_json(manifest, &receipt, ground->made, &json, &err), 0, "%s", err.text);
		fuzz_expect_json_take(json);
		receipt_done(&receipt);
		look_at_made(ground, manifest);
		cr_assert(!options.dry_run || fstatat(ground->fd, "made", &st, 0) < 0);
	} else {
		cr_assert(err.code != ERROR_NONE && err.text[0] != '\0');
		cr_assert_lt(fstatat(ground->fd, "made", &st, AT_SYMLINK_NOFOLLOW), 0, "left after: %s", err.text);
	}
	cr_assert_eq(tree_remove(ground->fd, "made", &err), 0, "%s", err.text);
	(void)sources_free(sources);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	const struct ground *ground = get_ground();
	uint8_t how = fuzz_byte(&input);
	cleanup_with(manifest_freep) struct manifest *manifest = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	if (manifest_parse((const char *)input.at, input.left, "m", &manifest, &diag, &err) < 0) {
		cr_assert(err.code != ERROR_NONE && err.text[0] != '\0');
		return 0;
	}
	make(ground, manifest, how);
	return 0;
}
