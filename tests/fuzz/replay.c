/* A target without libFuzzer: runs it on the files given and on those in the directories given, in the order of names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX ((size_t)16 << 20)

/* In memory of just its size, so that a sanitizer sees each byte beyond it. */
static int run_file(int directory, const char *path)
{
	cleanup_buf struct buf text = {0};
	struct error err = {0};
	cleanup_free uint8_t *data = NULL;

	if (fd_read_file(directory, path, INPUT_MAX, &text, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	data = malloc(text.size + (text.size == 0));
	if (data == NULL)
		return -1;
	if (text.size > 0)
		memcpy(data, text.data, text.size);
	(void)fprintf(stderr, "%s\n", path); /* before it runs: the last one told is the one that failed */
	return LLVMFuzzerTestOneInput(data, text.size);
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The number of files, or -1. */
static int run_directory(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	int n = fd < 0 ? -1 : scandir(path, &entries, is_input, alphasort);
	bool failed = false;

	for (int i = 0; i < n; i++) {
		failed = failed || run_file(fd, entries[i]->d_name) < 0;
		free(entries[i]);
	}
	free(entries);
	return failed ? -1 : n;
}

static int run_path(const char *path)
{
	int n = run_directory(path);

	if (n < 0 && errno == ENOTDIR)
		n = run_file(AT_FDCWD, path) < 0 ? -1 : 1;
	return n;
}

int main(int argc, char **argv)
{
	int all = 0;

	for (int i = 1; i < argc; i++) {
		int n = run_path(argv[i]);

		if (n <= 0) {
			(void)fprintf(stderr, "%s: %s\n", argv[i], n == 0 ? "has no inputs" : "could not be run");
			return EXIT_FAILURE;
		}
		all += n;
	}
	(void)printf("%d inputs\n", all);
	return all > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
