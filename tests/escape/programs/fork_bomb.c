/*
 * Makes processes without end.
 *
 *   fork_bomb count LIMIT     one level, children wait; ESCAPED where more than LIMIT live at once
 *   fork_bomb threads LIMIT   the same with threads
 *   fork_bomb double          every one doubles itself, for ever
 *   fork_bomb ring            each forks a successor and leaves, in a new session: nothing to hold on to
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

#define ENOUGH 2000 /* the caller's outer limit is higher; more would show nothing new */

static void count_processes(long most)
{
	long n = 1;
	pid_t group = getpid();

	setpgid(0, 0);
	while (n < ENOUGH) {
		pid_t child = fork();

		if (child < 0)
			break;
		if (child == 0)
			for (;;)
				pause();
		n++;
	}
	printf("%ld processes lived at once\n", n);
	errno = n < ENOUGH ? EAGAIN : 0;
	tried("more processes than the limit", n > most);
	signal(SIGTERM, SIG_IGN);
	kill(-group, SIGTERM);
}

static void *wait_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static void count_threads(long most)
{
	long n = 1;
	pthread_t thread;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	while (n < ENOUGH && pthread_create(&thread, &small, wait_for_ever, NULL) == 0)
		n++;
	printf("%ld threads lived at once\n", n);
	errno = n < ENOUGH ? EAGAIN : 0;
	tried("more threads than the limit", n > most);
}

static void double_for_ever(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (;;)
		fork();
}

static void ring(void)
{
	for (;;) {
		pid_t child = fork();

		if (child > 0)
			_exit(0);
		if (child == 0)
			setsid();
	}
}

int main(int argc, char **argv)
{
	need(argc >= 2, "count|threads|double|ring");
	printf("held: started\n");
	fflush(stdout);
	if (strcmp(argv[1], "double") == 0)
		double_for_ever();
	if (strcmp(argv[1], "ring") == 0) {
		for (int i = 0; i < 20; i++)
			if (fork() == 0)
				ring();
		for (;;)
			pause();
	}
	need(argc == 3, "LIMIT");
	if (strcmp(argv[1], "threads") == 0)
		count_threads(strtol(argv[2], NULL, 10));
	else
		count_processes(strtol(argv[2], NULL, 10));
	return verdict();
}
