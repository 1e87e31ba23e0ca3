/*
 * The leak check asks LeakSanitizer by hand and aborts: criterion takes no notice of the check that runs when a worker
 * ends, nor of an assertion that fails in a suite's .fini. A worker that dies there makes the whole program fail; the
 * line of the test itself still reads "ok", and the report on stderr tells which one it was.
 */
#include "tests/unit/harness.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORIES_MAX 4
#define DIRECTORY_SIZE  256

/* Those of the one test that this process runs; a child that it forks has none of its own to remove. */
static struct {
	char paths[DIRECTORIES_MAX][DIRECTORY_SIZE];
	pid_t owner;
} directories;

static void note_directory(const char *path)
{
	for (size_t i = 0; i < DIRECTORIES_MAX; i++) {
		if (directories.paths[i][0] != '\0')
			continue;
		(void)snprintf(directories.paths[i], DIRECTORY_SIZE, "%s", path);
		directories.owner = getpid();
		return;
	}
}

static void forget_directory(const char *path)
{
	for (size_t i = 0; i < DIRECTORIES_MAX; i++) {
		if (strcmp(directories.paths[i], path) == 0)
			directories.paths[i][0] = '\0';
	}
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_tree(const char *path)
{
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* An assertion that fails ends the test before it has removed them. */
static void remove_directories(void)
{
	for (size_t i = 0; directories.owner == getpid() && i < DIRECTORIES_MAX; i++) {
		if (directories.paths[i][0] != '\0' && remove_tree(directories.paths[i]) < 0 && errno != ENOENT)
			(void)fprintf(stderr, "remove %s: %s\n", directories.paths[i], strerror(errno));
	}
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WITH_ASAN)
#include <sanitizer/lsan_interface.h>

/* The body of the test has left its pointers in the stack below us, where they would count as references. */
static __attribute__((noinline)) void scrub_stack(int depth)
{
	volatile char frame[8192];

	for (size_t i = 0; i < sizeof frame; i++)
		frame[i] = 0;
	if (depth > 0)
		scrub_stack(depth - 1);
	frame[0] = 1; /* no tail call: each depth needs a frame of its own */
}

void harness_leak_check(void)
{
	remove_directories();
	scrub_stack(8);
	if (__lsan_do_recoverable_leak_check() != 0)
		abort();
}
#else
void harness_leak_check(void)
{
	remove_directories();
}
#endif

int harness_tmpdir(char *ret_path, size_t size)
{
	const char *parent = getenv("TMPDIR");
	int fd;

	(void)snprintf(ret_path, size, "%s/pinfold-unit-XXXXXX", parent != NULL ? parent : "/tmp");
	cr_assert_not_null(mkdtemp(ret_path), "mkdtemp %s: %s", ret_path, strerror(errno));
	note_directory(ret_path);
	fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0, "open %s: %s", ret_path, strerror(errno));
	return fd;
}

void harness_rm_tree(const char *path)
{
	forget_directory(path);
	cr_assert_eq(remove_tree(path), 0, "remove %s: %s", path, strerror(errno));
}

int harness_count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int n = -1; /* not the one of this listing */

	cr_assert_not_null(directory);
	for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
		n += entry->d_name[0] != '.';
	(void)closedir(directory);
	return n;
}

int harness_ok(int r, const struct error *err)
{
	char message[1024];

	cr_assert_geq(r, 0, "%s", error_message(err, message, sizeof message));
	return r;
}
