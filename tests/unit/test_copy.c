/*
 * One table of files, copied by each way and by all of them: content, length and holes must agree. The sources that
 * change, have no end or no length are told apart from those that are only odd.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/copy.h"
#include "base/fd.h"
#include "tests/unit/harness.h"

#define MIB  ((off_t)1 << 20)
#define FULL UINT64_MAX

static char tree_path[256];
static int tree = -1;

static void setup(void)
{
	tree = harness_tmpdir(tree_path, sizeof tree_path);
}

static void teardown(void)
{
	(void)fd_close(tree);
	harness_rm_tree(tree_path);
	harness_leak_check();
}

TestSuite(copy, .init = setup, .fini = teardown, .timeout = 60);

static const unsigned ways[] = {COPY_ALL_WAYS, COPY_RANGE | COPY_PLAIN | COPY_SEEK, COPY_PLAIN | COPY_SEEK,
	COPY_RANGE | COPY_PLAIN, COPY_PLAIN};
#define WAYS (sizeof ways / sizeof *ways)

static int make(const char *name)
{
	int fd = openat(tree, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0, "%s: %s", name, strerror(errno));
	return fd;
}

static void put(int fd, off_t at, size_t size, unsigned seed)
{
	cleanup_free char *data = malloc(size + 1);

	cr_assert_not_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)((i * 31 + seed + (i >> 9)) | 1);
	cr_assert_eq(pwrite(fd, data, size, at), (ssize_t)size);
}

static off_t length_of(int fd)
{
	struct stat status;

	cr_assert_eq(fstat(fd, &status), 0);
	return status.st_size;
}

static uint64_t disk_bytes(int fd)
{
	struct stat status;

	cr_assert_eq(fstat(fd, &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

static void expect_same(int a, int b, off_t from, off_t to)
{
	static char left[1 << 16], right[1 << 16];

	for (off_t at = from; at < to; at += (off_t)sizeof left) {
		ssize_t got = pread(a, left, sizeof left, at);

		cr_assert_eq(pread(b, right, sizeof right, at), got);
		cr_assert(got >= 0 && memcmp(left, right, (size_t)got) == 0, "they differ behind %lld", (long long)at);
	}
}

/* Where data lies in a file of this length; size 0 ends the list. */
struct shape {
	off_t length;
	struct {
		off_t at;
		size_t size;
	} data[4];
};

static const struct shape shapes[] = {
	{0, {{0, 0}}}, {1, {{0, 1}}}, {65536, {{0, 65536}}}, {65537, {{0, 65537}}},
	{40 * MIB + 17, {{0, 40 * MIB + 17}}}, {MIB, {{0, 0}}},     /* a hole alone */
	{8 * MIB, {{0, 4096}}},                                     /* a hole at the end */
	{8 * MIB, {{8 * MIB - 5, 5}}},                              /* at the beginning */
	{64 * MIB + 1, {{MIB, 70000}, {9 * MIB, 3}, {64 * MIB, 1}}} /* and everywhere */
};

static void make_shape(int fd, const struct shape *shape, unsigned seed)
{
	cr_assert_eq(ftruncate(fd, shape->length), 0);
	for (size_t i = 0; i < 4 && shape->data[i].size > 0; i++)
		put(fd, shape->data[i].at, shape->data[i].size, seed);
}

static bool is_sparse(const struct shape *shape)
{
	return shape->data[0].at > 0 || (off_t)shape->data[0].size < shape->length;
}

static void check_shape(const struct shape *shape, unsigned way)
{
	cleanup_close int source = make("source");
	cleanup_close int target = make("target");
	struct copy_budget budget = {.bytes_max = FULL, .ways = way};
	struct error err = {0};

	make_shape(source, shape, way);
	harness_ok(copy_file(source, target, &budget, &err), &err);
	cr_expect_eq(length_of(target), shape->length);
	expect_same(source, target, 0, shape->length);
	if (is_sparse(shape)) /* of a dense one a file system may have reserved more than it needs */
		cr_expect_leq(disk_bytes(target), disk_bytes(source) + 65536 * 4, "%lld bytes by %u: holes were filled",
			(long long)shape->length, way);
	cr_expect_leq(FULL - budget.bytes_max, disk_bytes(source) + 65536 * 4);
	if (shape->data[0].size > 0)
		cr_expect_gt(FULL - budget.bytes_max, 0);
}

Test(copy, every_shape_by_every_way)
{
	int fds = harness_count_fds();

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		for (size_t way = 0; way < WAYS; way++)
			check_shape(&shapes[i], ways[way]);
	}
	cr_expect_eq(harness_count_fds(), fds);
}

Test(copy, a_hole_of_a_tebibyte_costs_nothing)
{
	for (size_t way = 0; way < 2; way++) {
		cleanup_close int source = make("source");
		cleanup_close int target = make("target");
		struct copy_budget budget = {.bytes_max = 10 * MIB, .ways = ways[way]};
		struct error err = {0};

		if (ftruncate(source, (off_t)1 << 40) < 0)
			cr_skip("the file system holds no file of that length");
		put(source, (off_t)1 << 39, 100, 3);
		harness_ok(copy_file(source, target, &budget, &err), &err);
		cr_expect_eq(length_of(target), (off_t)1 << 40);
		cr_expect_leq(disk_bytes(target), MIB);
		expect_same(source, target, (off_t)1 << 39, ((off_t)1 << 39) + 4096);
		cr_expect_gt(budget.bytes_max, 9 * MIB);
	}
}

Test(copy, the_copy_is_no_link)
{
	cleanup_close int source = make("source");
	cleanup_close int target = make("target");
	struct copy_budget budget = {.bytes_max = FULL, .ways = COPY_ALL_WAYS};
	struct error err = {0};
	char byte = 0;

	put(source, 0, 5000, 1);
	harness_ok(copy_file(source, target, &budget, &err), &err);
	cr_assert_eq(pwrite(target, "\0", 1, 100), 1);
	cr_assert_eq(pread(source, &byte, 1, 100), 1);
	cr_expect_neq(byte, 0);
}

static void expect_refused(int source, struct copy_budget budget, enum error_code code, const char *reason)
{
	cleanup_close int target = make("target");
	struct error err = {0};

	cr_expect_eq(copy_file(source, target, &budget, &err), -1);
	cr_expect_eq(err.code, code, "%s instead of %s: %s", error_code_name(err.code), error_code_name(code), err.text);
	if (reason != NULL)
		cr_expect(err.n_context == 1 && strcmp(err.context[0].value, reason) == 0, "%s", err.text);
}

Test(copy, more_data_than_the_budget)
{
	for (size_t way = 0; way < WAYS; way++) {
		cleanup_close int source = make("source");
		cleanup_close int target = make("target");
		struct copy_budget budget = {.bytes_max = 99999, .ways = ways[way]};
		struct error err = {0};

		put(source, 0, 100000, 1);
		expect_refused(source, budget, ERROR_LIMIT, NULL);
		budget.bytes_max = 100000;
		harness_ok(copy_file(source, target, &budget, &err), &err);
		cr_expect_eq(budget.bytes_max, 0);
	}
}

static int count_and_stop(void *ctx, uint64_t bytes, struct error *err)
{
	unsigned *calls = ctx;

	cr_expect_gt(bytes, 0);
	return ++*calls < 3 ? 0 : error_set(err, ERROR_USAGE, "test", "enough");
}

Test(copy, is_cancelled_between_pieces)
{
	cleanup_close int source = make("source");
	unsigned calls = 0;

	put(source, 0, 500000, 1);
	expect_refused(source,
		(struct copy_budget){.bytes_max = FULL, .ways = COPY_PLAIN, .tell = count_and_stop, .ctx = &calls},
		ERROR_USAGE, NULL);
	cr_expect_eq(calls, 3);
}

/* After each piece the source grows by more than the piece had. */
static int append(void *ctx, uint64_t bytes, struct error *err)
{
	const int *fd = ctx;

	(void)err;
	put(*fd, length_of(*fd), (size_t)bytes + 1000, 7);
	return 0;
}

Test(copy, a_growing_file_ends)
{
	for (size_t way = 0; way < WAYS; way++) {
		cleanup_close int source = make("source");
		cleanup_close int target = make("target");
		struct copy_budget budget = {.bytes_max = FULL, .ways = ways[way], .tell = append, .ctx = &source};
		struct error err = {0};

		put(source, 0, (size_t)(20 * MIB), 5);
		harness_ok(copy_file(source, target, &budget, &err), &err);
		cr_expect_gt(length_of(source), 40 * MIB);
		cr_expect_eq(length_of(target), 20 * MIB);
		cr_expect_eq((off_t)(FULL - budget.bytes_max), 20 * MIB);
		expect_same(source, target, 0, 20 * MIB);
	}
}

struct shrinking {
	int fd;
	off_t after; /* so much was copied */
};

static int shrink(void *ctx, uint64_t bytes, struct error *err)
{
	struct shrinking *shrinking = ctx;

	shrinking->after -= (off_t)bytes;
	if (shrinking->after > 0 || ftruncate(shrinking->fd, 10) == 0)
		return 0;
	return error_set(err, ERROR_INTERNAL, "test", "truncate");
}

/* Cut off while it is read, and after the last byte was read. */
Test(copy, a_shrinking_file_is_refused)
{
	for (size_t way = 1; way < WAYS; way++) {
		for (off_t after = 1; after <= 40 * MIB; after += 40 * MIB - 1) {
			cleanup_close int source = make("source");
			struct shrinking shrinking = {.fd = source, .after = after};

			put(source, 0, (size_t)(40 * MIB), 5);
			expect_refused(source,
				(struct copy_budget){
					.bytes_max = FULL, .ways = ways[way], .tell = shrink, .ctx = &shrinking},
				ERROR_LOCAL_FILE_READ, "path_changed_during_copy");
		}
	}
}

Test(copy, files_without_a_length)
{
	static const char *const names[] = {"/proc/version", "/proc/self/status", "/sys/kernel/uevent_seqnum"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		cleanup_close int source = open(names[i], O_RDONLY | O_CLOEXEC);

		if (source < 0 && i == 2)
			cr_skip("no sysfs here");
		cr_assert_geq(source, 0);
		for (size_t way = 0; way < WAYS; way++)
			expect_refused(source, (struct copy_budget){.bytes_max = FULL, .ways = ways[way]},
				ERROR_LOCAL_FILE_READ, NULL);
	}
}

Test(copy, what_is_no_file)
{
	static const char *const names[] = {"/dev/zero", "/", "/proc/self/ns/mnt"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		cleanup_close int source = open(names[i], O_RDONLY | O_CLOEXEC);

		cr_assert_geq(source, 0);
		expect_refused(source, (struct copy_budget){.bytes_max = FULL, .ways = COPY_ALL_WAYS},
			ERROR_LOCAL_FILE_READ, NULL);
	}
}

Test(copy, a_full_target_is_told)
{
	cleanup_close int source = make("source");
	cleanup_close int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct copy_budget budget = {.bytes_max = FULL, .ways = COPY_ALL_WAYS};
	struct error err = {0};

	cr_assert_geq(full, 0);
	put(source, 0, 100, 1);
	cr_expect_eq(copy_file(source, full, &budget, &err), -1);
	cr_expect_eq(err.code, ERROR_IO);
	cr_expect_eq(err.sys_errno, ENOSPC);
}

/* A memory file and a file on disk: the blocks cannot be shared, and older kernels refuse copy_file_range. */
Test(copy, between_file_systems)
{
	cleanup_close int source = make("source");
	cleanup_close int target = memfd_create("target", MFD_CLOEXEC);
	struct copy_budget budget = {.bytes_max = FULL, .ways = COPY_ALL_WAYS};
	struct error err = {0};

	put(source, 0, 300000, 9);
	harness_ok(copy_file(source, target, &budget, &err), &err);
	cr_expect_eq(length_of(target), 300000);
	expect_same(source, target, 0, 300000);
}
