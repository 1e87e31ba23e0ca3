/*
 * An archive, with tiny limits, taken apart as pinfold-archive does it: judged, and where that lets it through,
 * written. What was judged is what is written; nothing lies outside; the limits hold; and what the client looks for
 * afterwards is as it has to be. The first byte is what is asked: links, portable, how much to strip.
 */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree.h"
#include "runtime/workspace/archive/pass.h"
#include "runtime/workspace/archive/writing.h"
#include "runtime/workspace/extract_parts.h"
#include "tests/fuzz/fuzz.h"

#define EXTRACTED_MAX 65536
#define MEMBERS_MAX   40

static void hear(uint64_t members, uint64_t bytes)
{
	cr_assert(members <= MEMBERS_MAX && bytes <= EXTRACTED_MAX);
}

/* The place for what is extracted, in a directory of its own, which has nothing else in it. */
static int open_place(void)
{
	static int fd = -1;
	char path[sizeof fuzz_world()->root + sizeof "/archive"];

	if (fd >= 0)
		return fd;
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	(void)snprintf(path, sizeof path, "%s/archive", fuzz_world()->root);
	cr_assert_eq(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	return fd;
}

static void check_left(int place, int tree, const struct pass_limits *limits, const struct pass_totals *totals)
{
	const struct extract_options options = {
		.extracted_max = EXTRACTED_MAX, .members_max = MEMBERS_MAX, .links_inside = limits->links};
	const struct extract_totals said = {.files = totals->files,
		.directories = totals->directories,
		.links = totals->links,
		.bytes = totals->bytes};
	struct tree_budget budget = {.entries_max = UINT64_MAX};
	struct tree_totals all;
	struct error err = {0};

	cr_assert_eq(extract_check(tree, &options, &said, &err), 0, "%s", err.text);
	cr_assert_eq(tree_count(place, &budget, &all, &err), 0, "%s", err.text);
	cr_assert_eq(all.files + all.directories + all.others, said.files + said.directories + said.links + 1,
		"something lies outside");
}

static void write_out(int archive, const struct pass_limits *limits, const struct pass_totals *judged)
{
	int place = open_place();
	cleanup_close int tree = -1;
	cleanup_writing struct writing writing = {.file_fd = -1};
	struct pass_totals totals;
	struct pass_sink sink;
	struct error err = {0};

	cr_assert_eq(mkdirat(place, "tree", 0755), 0);
	tree = openat(place, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(tree >= 0 && writing_init(&writing, tree, hear, &err) == 0);
	sink = writing_sink(&writing);
	cr_assert_eq(pass_run(archive, limits, &sink, &totals, &err), 0, "judged, and then refused: %s", err.text);
	cr_assert_eq(writing_finish(&writing, &err), 0, "%s", err.text);
	cr_assert_eq(memcmp(&totals, judged, sizeof totals), 0, "the second pass is not like the first");
	check_left(place, tree, limits, &totals);
	cr_assert_eq(tree_remove(place, "tree", &err), 0, "%s", err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	uint8_t asked = fuzz_byte(&input);
	const struct pass_limits limits = {.extracted_max = EXTRACTED_MAX,
		.members_max = MEMBERS_MAX,
		.ratio_max = PASS_NO_LIMIT,
		.strip = asked >> 2 & 3,
		.links = asked & 1,
		.portable = asked & 2};
	cleanup_close int archive = memfd_create("archive", MFD_CLOEXEC);
	struct pass_totals totals;
	struct error err = {0};

	(void)open_place(); /* the locale, too */
	cr_assert(archive >= 0 && fd_write_all(archive, input.at, input.left) == 0);
	memset(&totals, 0, sizeof totals);
	if (pass_run(archive, &limits, NULL, &totals, &err) == 0)
		write_out(archive, &limits, &totals);
	else
		cr_assert(err.code != ERROR_NONE && err.text[0] != '\0');
	return 0;
}
