/*
 * Random policies of policy_maker.h on random hosts: the bytes are what the generator's choices go by, and which facts
 * of a fake host are turned. What must hold of every plan is plan_claims.h's.
 */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/plan_claims.h"
#include "tests/unit/policy_maker.h"

#define TURNED_MAX 8

/* A host without a place for cgroups has none of their facts. */
static bool may_be_turned(const struct host *host, unsigned fact)
{
	return fact < FACT_CGROUP2 || host->cgroup_path[0] != '\0';
}

static void turn_facts(struct fuzz_input *input, struct host *host)
{
	unsigned n = fuzz_byte(input) % TURNED_MAX;

	for (unsigned i = 0; i < n; i++) {
		unsigned which = fuzz_byte(input), fact = which % _FACT_COUNT;

		if (may_be_turned(host, fact))
			host->facts[fact].state = (enum fact_state)(which / _FACT_COUNT % 3);
	}
	host->n_cpus = 1 + fuzz_byte(input) % 8;
	host->has_swap = fuzz_byte(input) % 2 != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	const struct world *tree = fuzz_world();
	struct host host = *fuzz_host(&input);
	struct chance chance;
	char *policy;

	turn_facts(&input, &host);
	chance = (struct chance){.bytes = input.at, .n_bytes = input.left};
	policy = policy_maker_next(&chance);
	(void)plan_claims_check(tree, &host, policy);
	free(policy);
	return 0;
}
