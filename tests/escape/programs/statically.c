/*
 * The few commands that a test needs in a root that holds no library.
 *
 *   statically list DIRECTORY | cat FILE | stat FILE
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "hostile.h"

static int list(const char *path)
{
	DIR *directory = opendir(path);

	need(directory != NULL, path);
	for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			puts(entry->d_name);
	closedir(directory);
	return 0;
}

static int cat(const char *path)
{
	char block[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	need(fd >= 0, path);
	for (ssize_t n = read(fd, block, sizeof block); n > 0; n = read(fd, block, sizeof block))
		need(write(STDOUT_FILENO, block, (size_t)n) == n, "write");
	close(fd);
	return 0;
}

static int tell(const char *path)
{
	struct stat found;

	need(stat(path, &found) == 0, path);
	if (S_ISCHR(found.st_mode))
		printf("character %u:%u\n", major(found.st_rdev), minor(found.st_rdev));
	else
		printf("mode %o\n", found.st_mode);
	return 0;
}

int main(int argc, char **argv)
{
	need(argc == 3, "list|cat|stat PATH");
	if (strcmp(argv[1], "list") == 0)
		return list(argv[2]);
	if (strcmp(argv[1], "cat") == 0)
		return cat(argv[2]);
	return tell(argv[2]);
}
