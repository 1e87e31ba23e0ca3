/* calls N: makes N of each of some cheap system calls and prints a line "NAME NANOSECONDS" for each: what one costs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCHES                 10
#define CACHESTAT               451
#define SET_MEMPOLICY_HOME_NODE 450

struct call {
	const char *name;
	long number;
	long first, second; /* arguments with which the kernel is soon done */
};

static const struct call calls[] = {
	{"getppid", SYS_getppid, 0, 0},
	{"cachestat", CACHESTAT, -1, 0},
	{"ioctl", SYS_ioctl, -1, TCGETS},
	{"set_mempolicy_home_node", SET_MEMPOLICY_HOME_NODE, 0, 0},
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of some batches: what else the machine does makes a call dearer, never cheaper. */
static double cost(const struct call *call, long n)
{
	double best = 0;

	for (int batch = 0; batch < BATCHES; batch++) {
		double start = now();
		for (long i = 0; i < n / BATCHES; i++)
			syscall(call->number, call->first, call->second, 0, 0);
		double each = (now() - start) / (double)(n / BATCHES);
		if (batch == 0 || each < best)
			best = each;
	}
	return best;
}

int main(int argc, char **argv)
{
	long n = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

	if (n < BATCHES) {
		fprintf(stderr, "usage: calls N, at least %d\n", BATCHES);
		return 1;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		printf("%s %.2f\n", calls[i].name, cost(&calls[i], n));
	return 0;
}
