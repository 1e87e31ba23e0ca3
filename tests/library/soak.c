/*
 * The long quiet run of a program that lives long: very many runs of every kind of end, in eight threads at once, after
 * which its memory, descriptors, threads and children are what they were after the first fifth.
 *
 *     soak [RUNS [SEED]]
 *
 * Memory is what the kernel has given (RssAnon), once malloc has handed back all that it can: what is lost by a leak,
 * and what grows by fragments, is both in it. tests/library/leaks.c counts to the byte, in one thread.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/library/client.h"
#include "tests/library/ends.h"

#define RUNS        300
#define THREADS     8
#define SLACK_KIB   128 /* parts of pages, and what the next eight stacks have touched */
#define HANG_S      120 /* without any run that ends */
#define TELL_MS     20000
#define TELL_TTY_MS 500
#define LOOK_US     50000

static struct {
	unsigned runs, seed;
	atomic_uint taken, done, until;
} soak;

static void *work(void *dice)
{
	while (atomic_fetch_add(&soak.taken, 1) < atomic_load(&soak.until)) {
		end_at((size_t)rand_r(dice) % ends_count())(dice);
		atomic_fetch_add(&soak.done, 1);
	}
	return NULL;
}

static void tell(uint64_t begun_ms)
{
	uint64_t seconds = (client_now_ms() - begun_ms) / 1000;
	int is_terminal = isatty(STDERR_FILENO);

	(void)fprintf(stderr, "%ssoak: %u of %u runs in one process, %llu s%s", is_terminal ? "\r" : "",
		atomic_load(&soak.done), soak.runs, (unsigned long long)seconds, is_terminal ? "" : "\n");
}

/* Tells how far it is until all are done, and renews the alarm for as long as some end. */
static void watch(void)
{
	uint64_t begun_ms = client_now_ms();
	uint64_t told_ms = begun_ms;
	unsigned seen = 0;

	while (atomic_load(&soak.done) < atomic_load(&soak.until)) {
		(void)usleep(LOOK_US);
		if (atomic_load(&soak.done) != seen)
			(void)alarm(HANG_S);
		seen = atomic_load(&soak.done);
		if (client_now_ms() - told_ms > (isatty(STDERR_FILENO) ? TELL_TTY_MS : TELL_MS)) {
			told_ms = client_now_ms();
			tell(begun_ms);
		}
	}
}

static void run_until(unsigned until)
{
	unsigned dice[THREADS];
	pthread_t threads[THREADS];

	atomic_store(&soak.taken, atomic_load(&soak.done));
	atomic_store(&soak.until, until);
	for (unsigned i = 0; i < THREADS; i++) {
		dice[i] = soak.seed + until * THREADS + i;
		REQUIRE(pthread_create(&threads[i], NULL, work, &dice[i]) == 0);
	}
	watch();
	for (unsigned i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
}

/* A sanitizer has an allocator of its own, which keeps what was freed for a while. */
#if defined(__SANITIZE_ADDRESS__)
static unsigned long memory_kib(void)
{
	return 0;
}
#else
static unsigned long memory_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	REQUIRE(status != NULL);
	(void)malloc_trim(0);
	while (kib == 0 && fgets(line, sizeof line, status) != NULL)
		(void)sscanf(line, "RssAnon: %lu kB", &kib);
	(void)fclose(status);
	REQUIRE(kib > 0, "/proc/self/status has no RssAnon");
	return kib;
}
#endif

static void nothing_grows(void)
{
	unsigned long memory;
	int fds;

	/* malloc_trim hands back the free end of the main arena alone. */
	REQUIRE(mallopt(M_ARENA_MAX, 1) == 1);
	(void)printf("# %u runs, seed %u\n", soak.runs, soak.seed);
	run_until(soak.runs / 5);
	fds = client_count_fds();
	memory = memory_kib();
	run_until(soak.runs);
	(void)printf("# %lu KiB after a fifth of the runs, %lu KiB after all\n", memory, memory_kib());
	CHECK(memory_kib() <= memory + SLACK_KIB, "%lu KiB, %lu before", memory_kib(), memory);
	CHECK(client_count_fds() == fds, "%d descriptors, %d before", client_count_fds(), fds);
	CHECK(client_count_threads() == 1, "%d threads", client_count_threads());
	CHECK(client_is_childless(), "a child is left");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"very many runs in one process, eight at once, do not let it grow", nothing_grows},
	};

	soak.runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : RUNS;
	soak.seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)time(NULL);
	return client_main(tests, sizeof tests / sizeof *tests);
}
