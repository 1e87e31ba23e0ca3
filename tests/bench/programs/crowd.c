/* crowd N FIFO: becomes N processes that hold the fifo open for reading, says "ready" and waits to be killed. Whoever
 * has the fifo's writing end sees when the last of them is gone. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_death(void)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_RDONLY | O_NONBLOCK) : -1;
	long n = argc == 3 ? strtol(argv[1], NULL, 10) : 0;

	if (fd < 0 || n < 1) {
		perror("crowd: usage: crowd N FIFO");
		return 1;
	}
	for (long i = 1; i < n; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			perror("crowd: fork");
			return 1;
		}
		if (pid == 0)
			wait_for_death();
	}
	if (puts("ready") < 0 || fflush(stdout) != 0)
		return 1;
	wait_for_death();
}
