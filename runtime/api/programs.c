/*
 * An install may be moved to any prefix, and the library may be part of a program of somebody else's. So what comes with
 * pinfold is looked for beside the file that this code itself was loaded from, be that the program or the shared library;
 * /proc/self/maps knows that in both cases, and no dynamic linker has to be asked, which a static program has not.
 *
 * Nothing is taken from the environment or from PATH. That the program is of the same build is not taken for granted:
 * each of them says its version first.
 */
#include "runtime/api/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* From the directory of the program or library: an install, then the build tree. */
static const char *const places[] = {
	"../libexec/pinfold",    /* of PREFIX/bin and PREFIX/lib */
	"../../libexec/pinfold", /* of PREFIX/lib/x86_64-linux-gnu */
	"../workspace/archive",
};

/* The path of the file that holds `address`, from a line of /proc/self/maps. */
static bool line_holds(const char *line, uintptr_t address, char *path, size_t size)
{
	uintptr_t from, to;
	int at = 0;
	size_t length;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &from, &to, &at) < 2 || at == 0 ||
		address < from || address >= to || line[at] != '/')
		return false;
	length = strcspn(line + at, "\n");
	if (length >= size)
		return false;
	memcpy(path, line + at, length);
	path[length] = '\0';
	return true;
}

static int own_path(char *path, size_t size, struct error *err)
{
	char line[PATH_MAX + 256];
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;

	if (maps == NULL)
		return error_set_errno(err, ERROR_IO, errno, "/proc/self/maps", "cannot find pinfold's own place");
	while (!found && fgets(line, sizeof line, maps) != NULL)
		found = line_holds(line, (uintptr_t)own_path, path, size);
	(void)fclose(maps);
	return found ? 0 : error_set(err, ERROR_INTERNAL, "/proc/self/maps", "pinfold's own place is not in it");
}

static int open_in(const char *directory, const char *name)
{
	char path[2 * PATH_MAX];
	cleanup_close int fd = -1;
	struct stat st;
	int n = snprintf(path, sizeof path, "%s/%s", directory, name);

	if (n < 0 || (size_t)n >= sizeof path)
		return -1;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		return -1;
	return steal_fd(&fd);
}

int api_program_open(const char *name, struct error *err)
{
	char own[PATH_MAX], directory[PATH_MAX + 64];
	char *slash;
	int fd;

	if (own_path(own, sizeof own, err) < 0)
		return -1;
	slash = strrchr(own, '/');
	*slash = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		(void)snprintf(directory, sizeof directory, "%s/%s", own, places[i]);
		fd = open_in(directory, name);
		if (fd >= 0)
			return fd;
	}
	fd = open_in(PINFOLD_PROGRAMS, name);
	if (fd >= 0)
		return fd;
	(void)error_set(err, ERROR_NOT_FOUND, name, "%s is neither in %s/../libexec/pinfold nor in " PINFOLD_PROGRAMS,
		name, own);
	error_set_fix(err, "it comes with pinfold: install all of it");
	return -1;
}
