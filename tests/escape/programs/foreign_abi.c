/*
 * Enters the kernel by other doors than the 64-bit one: int 0x80 with 32-bit numbers, and x32 numbers. A filter that
 * knows the native numbers alone lets all of it pass.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "hostile.h"

#define X32      0x40000000L
#define LOW_PAGE 0x10000L

static long int80(long number, long a, long b, long c)
{
	long answer;

	__asm__ volatile("int $0x80"
			 : "=a"(answer)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return answer;
}

/* A string that a 32-bit pointer can name. */
static char *low_string(const char *text)
{
	char *page = mmap((void *)LOW_PAGE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	need(page != MAP_FAILED, "mmap");
	return strcpy(page, text);
}

static long int80_getpid(void)
{
	return int80(20, 0, 0, 0);
}

static long int80_mkdir(void)
{
	return int80(39, (long)low_string("made-by-int80"), 0755, 0);
}

static long int80_socketcall(void)
{
	int *arguments = (int *)(void *)low_string("");

	arguments[0] = 1; /* AF_UNIX, SOCK_STREAM */
	arguments[1] = 1;
	arguments[2] = 0;
	return int80(102, 1, (long)arguments, 0);
}

static long int80_unshare(void)
{
	return int80(310, 0x10000000, 0, 0);
}

static long x32_getpid(void)
{
	return syscall(X32 | SYS_getpid);
}

static long x32_mkdir(void)
{
	return syscall(X32 | SYS_mkdir, "made-by-x32", 0755);
}

static long x32_ptrace(void)
{
	return syscall(X32 | 521, 0, 0, 0, 0);
}

static const struct {
	const char *name;
	long (*enter)(void);
} doors[] = {
	{"int 0x80 getpid", int80_getpid},
	{"int 0x80 mkdir", int80_mkdir},
	{"int 0x80 socketcall", int80_socketcall},
	{"int 0x80 unshare", int80_unshare},
	{"x32 getpid", x32_getpid},
	{"x32 mkdir", x32_mkdir},
	{"x32 ptrace", x32_ptrace},
};

int main(void)
{
	for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
		int status = 0;
		pid_t child = fork();

		need(child >= 0, "fork");
		if (child == 0)
			_exit(doors[i].enter() >= 0 ? 1 : 0);
		need(waitpid(child, &status, 0) == child, "wait");
		errno = EPERM;
		tried(doors[i].name, WIFEXITED(status) && WEXITSTATUS(status) == 1);
	}
	struct stat made;
	tried("a directory made by int 0x80", stat("made-by-int80", &made) == 0);
	tried("a directory made by x32", stat("made-by-x32", &made) == 0);
	return verdict();
}
