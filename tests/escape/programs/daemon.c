/*
 * A process that does everything to outlive its run: two forks, a session and a group of its own, every signal ignored,
 * all descriptors closed or, with `hold`, the streams kept open. The command itself ends at once.
 *
 *   daemon close|hold
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "hostile.h"

static void hide(void)
{
	for (int signo = 1; signo <= 64; signo++)
		signal(signo, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "kworker/0:0");
}

int main(int argc, char **argv)
{
	bool hold = argc > 1 && strcmp(argv[1], "hold") == 0;

	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		setsid();
		hide();
		if (!hold)
			for (int fd = 0; fd < 64; fd++)
				close(fd);
		close(open("daemon-lives", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		for (;;)
			sleep(1);
	}
	while (access("daemon-lives", F_OK) != 0)
		usleep(1000);
	printf("held: the daemon runs, the command ends\n");
	return 0;
}
