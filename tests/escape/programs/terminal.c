/*
 * Pushes characters into the input of a terminal that it shares with its caller (TIOCSTI), or uses the console's paste
 * (TIOCLINUX), with and without garbage in the upper half of the request, which the kernel does not look at.
 */
#include <fcntl.h>

#include "hostile.h"

#define REQUEST_TIOCSTI   0x5412UL
#define REQUEST_TIOCLINUX 0x541cUL

static void try_terminal(int fd, const char *name)
{
	static const unsigned long requests[] = {REQUEST_TIOCSTI, REQUEST_TIOCLINUX};
	static const unsigned long garbage[] = {0, 0x100000000UL, 0xffffffff00000000UL};
	char what[96];

	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		for (size_t j = 0; j < sizeof garbage / sizeof *garbage; j++) {
			char character = requests[i] == REQUEST_TIOCSTI ? 'i' : 3;
			long answer = syscall(SYS_ioctl, fd, garbage[j] | requests[i], &character);
			bool filtered = answer < 0 && (errno == EPERM || errno == ENOSYS);

			snprintf(what, sizeof what, "ioctl %#lx on %s", garbage[j] | requests[i], name);
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
