/* Three hundred runs of every kind of end leave the process as it was: descriptors, threads, children, memory. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/library/client.h"
#include "tests/library/ends.h"

#define ROUNDS      30           /* of ten runs each */
#define SLACK_BYTES (256u << 10) /* what the thread cache of malloc may hold back at most */

static void one_round(void)
{
	unsigned dice = 1; /* each round is like the others */

	for (size_t n = 0; n < ends_count(); n++)
		end_at(n)(&dice);
}

/* A sanitizer has an allocator of its own, and a leak check of its own, too. */
#if defined(__SANITIZE_ADDRESS__)
static size_t memory_in_use(void)
{
	return 0;
}
#else
static size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
#endif

static void nothing_is_left(void)
{
	size_t memory;
	int fds;

	for (int i = 0; i < 3; i++)
		one_round(); /* what is made once and kept */
	fds = client_count_fds();
	memory = memory_in_use();
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	CHECK(client_count_fds() == fds, "%d descriptors, %d before", client_count_fds(), fds);
	CHECK(client_count_threads() == 1, "%d threads", client_count_threads());
	CHECK(client_is_childless(), "a child is left");
	CHECK(memory_in_use() <= memory + SLACK_BYTES, "%zu bytes in use, %zu before", memory_in_use(), memory);
}

static void checking_leaves_nothing(void)
{
	pinfold_policy *policy = client_default_policy();
	size_t memory = 0;
	int fds = client_count_fds();

	for (int i = 0; i < 30; i++) {
		pinfold_host *host = NULL;
		pinfold_report *report = NULL;
		pinfold_error *err = NULL;

		REQUIRE(pinfold_host_new(&host, &err) == 0, "%s", client_reason(err));
		REQUIRE(pinfold_check(host, policy, NULL, &report, &err) == 0, "%s", client_reason(err));
		CHECK(pinfold_report_text(report, 1) != NULL && pinfold_report_json(report) != NULL);
		(void)pinfold_report_free(report);
		(void)pinfold_host_free(host);
		if (i == 5)
			memory = memory_in_use();
	}
	CHECK(client_count_fds() == fds);
	CHECK(client_is_childless());
	CHECK(memory_in_use() <= memory + SLACK_BYTES, "%zu bytes in use, %zu before", memory_in_use(), memory);
	(void)pinfold_policy_free(policy);
}

int main(void)
{
	static const struct test tests[] = {
		{"three hundred runs of every kind leave nothing", nothing_is_left},
		{"asking what a host can do leaves nothing", checking_leaves_nothing},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
