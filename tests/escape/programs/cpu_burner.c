/*
 * Burns processor time.
 *
 *   cpu_burner N    N processes, each in a session of its own, that burn for ever
 *   cpu_burner short    one after the other, each too short-lived to be seen by a sampler, in double-forked daemons
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hostile.h"

static void burn(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static double own_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

static void burn_in_short_lives(void)
{
	signal(SIGCHLD, SIG_IGN); /* nobody waits for them, so nobody is told what they used */
	for (;;) {
		pid_t child = fork();

		if (child < 0)
			continue;
		if (child > 0) {
			usleep(1000);
			continue;
		}
		if (fork() == 0) {
			setsid();
			while (own_seconds() < 0.02)
				;
		}
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	need(argc == 2, "N or short");
	printf("held: started\n");
	fflush(stdout);
	if (strcmp(argv[1], "short") == 0)
		burn_in_short_lives();
	for (int i = 1; i < atoi(argv[1]); i++)
		if (fork() == 0) {
			setsid();
			burn();
		}
	burn();
	return 1;
}
