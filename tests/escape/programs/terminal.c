/*
 * Pushes characters into the input of a terminal that it shares with its caller (TIOCSTI), or uses the console's paste
 * (TIOCLINUX); stops the output of others, closes the terminal to them or gives it another line discipline: with and
 * without garbage in the upper half of the request, which the kernel does not look at.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "hostile.h"

#define REQUEST_TIOCLINUX 0x541c
#define DEAD_DISCIPLINE   27 /* N_NULL */

static char character = 'i', paste = 3;
static int discipline = DEAD_DISCIPLINE;

static const struct {
	unsigned long request;
	uintptr_t argument;
} attacks[] = {
	{TIOCSTI, (uintptr_t)&character},
	{REQUEST_TIOCLINUX, (uintptr_t)&paste},
	{TIOCEXCL, 0},
	{TIOCSETD, (uintptr_t)&discipline},
	{TCXONC, TCOOFF},
};

static void try_terminal(int fd, const char *name)
{
	static const unsigned long garbage[] = {0, 0x100000000UL, 0xffffffff00000000UL};
	char what[96];

	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
		for (size_t j = 0; j < sizeof garbage / sizeof *garbage; j++) {
			unsigned long request = garbage[j] | attacks[i].request;
			long answer = syscall(SYS_ioctl, fd, request, attacks[i].argument);
			bool filtered = answer < 0 && (errno == EPERM || errno == ENOSYS);

			if (answer == 0 && attacks[i].request == TCXONC)
				tcflow(fd, TCOON); /* or nobody would be told */
			snprintf(what, sizeof what, "ioctl %#lx on %s", request, name);
			/* ENOTTY and the like mean that the request reached the driver. */
			tried(what, !filtered);
		}
}

int main(void)
{
	try_terminal(STDIN_FILENO, "stdin");
	try_terminal(STDOUT_FILENO, "stdout");
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		try_terminal(fd, "/dev/tty");
	return verdict();
}
