/*
 * Tries to put a set-id bit on something in the current directory, by every call that takes a mode.
 *
 * A set-id file in a workspace belongs to the workspace's owner on the host, so that any user there who runs it becomes
 * the owner, whatever no_new_privs and nosuid say inside. What counts is what is on disk afterwards, not what the call
 * answered.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "hostile.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define GARBAGE 0x100000000UL /* the kernel takes 32 bits of a mode; a filter that compares 64 is passed by */

struct way {
	const char *name;
	bool makes; /* the file does not exist before */
	long (*go)(const char *path, unsigned long mode);
};

static long by_chmod(const char *path, unsigned long mode)
{
	return syscall(SYS_chmod, path, mode);
}

static long by_fchmod(const char *path, unsigned long mode)
{
	return syscall(SYS_fchmod, open(path, O_RDONLY | O_CLOEXEC), mode);
}

static long by_fchmodat(const char *path, unsigned long mode)
{
	return syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}

static long by_fchmodat2(const char *path, unsigned long mode)
{
	return syscall(SYS_fchmodat2, AT_FDCWD, path, mode, 0);
}

static long by_proc_fd(const char *path, unsigned long mode)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", open(path, O_PATH | O_CLOEXEC));
	return syscall(SYS_chmod, link, mode);
}

static long by_creat(const char *path, unsigned long mode)
{
	return syscall(SYS_creat, path, mode);
}

static long by_open(const char *path, unsigned long mode)
{
	return syscall(SYS_open, path, O_CREAT | O_WRONLY, mode);
}

static long by_openat(const char *path, unsigned long mode)
{
	return syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, mode);
}

static long by_openat_garbage_flags(const char *path, unsigned long mode)
{
	return syscall(SYS_openat, AT_FDCWD, path, GARBAGE | O_CREAT | O_WRONLY, mode);
}

static long by_openat2(const char *path, unsigned long mode)
{
	unsigned long how[3] = {O_CREAT | O_WRONLY, mode, 0};

	return syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how);
}

/* An unnamed file takes a mode too, and O_TMPFILE holds no O_CREAT. */
static long by_tmpfile(const char *path, unsigned long mode)
{
	char link[64];
	long fd = syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, mode);

	if (fd < 0)
		return -1;
	snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
	return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static long by_open_tmpfile(const char *path, unsigned long mode)
{
	char link[64];
	long fd = syscall(SYS_open, ".", O_TMPFILE | O_RDWR, mode);

	if (fd < 0)
		return -1;
	snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
	return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static long by_mknod(const char *path, unsigned long mode)
{
	return syscall(SYS_mknod, path, S_IFREG | mode, 0);
}

static long by_mknodat(const char *path, unsigned long mode)
{
	return syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | mode, 0);
}

static long by_mkdir(const char *path, unsigned long mode)
{
	return syscall(SYS_mkdir, path, mode);
}

static long by_mkdirat(const char *path, unsigned long mode)
{
	return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

static const struct way ways[] = {
	{"chmod", false, by_chmod},
	{"fchmod", false, by_fchmod},
	{"fchmodat", false, by_fchmodat},
	{"fchmodat2", false, by_fchmodat2},
	{"chmod through /proc/self/fd", false, by_proc_fd},
	{"creat", true, by_creat},
	{"open with O_CREAT", true, by_open},
	{"openat with O_CREAT", true, by_openat},
	{"openat with garbage above O_CREAT", true, by_openat_garbage_flags},
	{"openat2 with O_CREAT", true, by_openat2},
	{"openat with O_TMPFILE, then linkat", true, by_tmpfile},
	{"open with O_TMPFILE, then linkat", true, by_open_tmpfile},
	{"mknod", true, by_mknod},
	{"mknodat", true, by_mknodat},
	{"mkdir", true, by_mkdir},
	{"mkdirat", true, by_mkdirat},
};

static void try_way(const struct way *way, unsigned long mode)
{
	static unsigned serial;
	char path[32];
	char what[128];
	struct stat now = {0};

	snprintf(path, sizeof path, "setid-%u", serial++);
	if (!way->makes)
		need(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755)) == 0, "make a file");
	errno = 0;
	long answer = way->go(path, mode);
	int reason = errno;
	bool there = lstat(path, &now) == 0;
	errno = reason;
	snprintf(what, sizeof what, "%s %#lo, answer %ld", way->name, mode, answer);
	tried(what, there && (now.st_mode & (S_ISUID | S_ISGID)) != 0);
}

/* File capabilities are the younger form of set-id. */
static void try_file_capability(void)
{
	static const unsigned capability[5] = {0x02000001, 0xffffffff, 0, 0xffffffff, 0};

	need(close(open("capable", O_CREAT | O_WRONLY | O_CLOEXEC, 0755)) == 0, "make a file");
	tried("security.capability", setxattr("capable", "security.capability", capability, sizeof capability, 0) == 0);
}

int main(void)
{
	static const unsigned long modes[] = {04755, 02755, 06777, GARBAGE | 04755};

	umask(0);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		for (size_t j = 0; j < sizeof modes / sizeof *modes; j++)
			try_way(&ways[i], modes[j]);
	try_file_capability();
	return verdict();
}
