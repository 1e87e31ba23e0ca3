/* Random profiles, read by pinfold and given to libseccomp: both must decide alike. */
#include <criterion/criterion.h>
#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "tests/unit/bpf_machine.h"
#include "tests/unit/filter_fixture.h"
#include "tests/unit/harness.h"

TestSuite(filter_reference, .fini = harness_leak_check);

static const char *const ops[] = {
	"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};
static const uint64_t values[] = {
	0, 1, 5, 0xffffffff, 0x100000000, 0x100000001, 0x7e020000, 0x123456789abcdef0, INT64_MAX};

struct plain_rule {
	int number;
	uint32_t action;
	size_t n_args;
	struct scmp_arg_cmp args[2];
};

static const char *const calls[] = {"chmod", "read", "socket", "ptrace"};
static const uint32_t rule_actions[] = {SCMP_ACT_ALLOW, SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(13), SCMP_ACT_KILL_PROCESS};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Conditions of one call all allow, so that no order among them matters; which rules settle a call is left to chance.
 * libseccomp 2.5 forgets to load the high half again between two comparisons by order, so a call has one rule with such
 * a comparison, or any number that compare for equality. */
static struct plain_rule random_rule(uint64_t *state, bool ordered[N_OF(calls)])
{
	size_t call = next(state) % N_OF(calls);
	bool may_order = call < N_OF(calls) / 2 && !ordered[call];
	struct plain_rule rule = {.number = syscall_number(calls[call])};

	rule.n_args = next(state) % 4 == 0 || (call < N_OF(calls) / 2 && ordered[call]) ? 0 : 1 + next(state) % 2;
	rule.action = rule.n_args > 0 ? SCMP_ACT_ALLOW : rule_actions[next(state) % N_OF(rule_actions)];
	ordered[call] = ordered[call] || rule.n_args > 0;
	for (size_t i = 0; i < rule.n_args; i++)
		rule.args[i] = (struct scmp_arg_cmp){(unsigned)i + 1,
			may_order ? (enum scmp_compare)(SCMP_CMP_NE + next(state) % 7) : SCMP_CMP_EQ,
			values[next(state) % N_OF(values)], values[next(state) % N_OF(values)]};
	return rule;
}

static void rule_write(const struct plain_rule *rule, struct buf *text)
{
	const char *action = rule->action == SCMP_ACT_ALLOW ? "SCMP_ACT_ALLOW"
		: rule->action == SCMP_ACT_KILL_PROCESS     ? "SCMP_ACT_KILL_PROCESS"
							    : "SCMP_ACT_ERRNO\", \"errnoRet\": 13, \"comment\": \"";

	buf_printf(text, "{\"names\": [\"%s\"], \"action\": \"%s\", \"args\": [", syscall_name((unsigned)rule->number),
		action);
	for (size_t i = 0; i < rule->n_args; i++)
		buf_printf(text, "%s{\"index\": %u, \"op\": \"%s\", \"value\": %lu, \"valueTwo\": %lu}",
			i > 0 ? "," : "", rule->args[i].arg, ops[rule->args[i].op - SCMP_CMP_NE], rule->args[i].datum_a,
			rule->args[i].datum_b);
	buf_append_str(text, "]}");
}

static struct filter export_reference(scmp_filter_ctx context, struct sock_filter *code, size_t max)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t size;

	cr_assert_geq(fd, 0);
	cr_assert_eq(seccomp_export_bpf(context, fd), 0);
	size = pread(fd, code, max * sizeof *code, 0);
	fd_close(fd);
	cr_assert_gt(size, 0);
	return (struct filter){.instructions = code, .n = (size_t)size / sizeof *code};
}

static void expect_like_reference(uint64_t *state, scmp_filter_ctx context, struct buf *text)
{
	static const uint64_t more[] = {
		0, 1, 2, 4, 5, 6, 0xfffffffe, 0x100000000, 0x123456789abcdef0, 0x7e020001, UINT64_MAX};
	struct sock_filter code[1024];
	struct filter reference;
	size_t n = 1 + next(state) % 8;
	bool ordered[N_OF(calls)] = {0};

	buf_append_str(text, "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [");
	for (size_t i = 0; i < n; i++) {
		struct plain_rule rule = random_rule(state, ordered);

		cr_assert_eq(
			seccomp_rule_add_array(context, rule.action, rule.number, (unsigned)rule.n_args, rule.args), 0);
		buf_append_str(text, i > 0 ? "," : "");
		rule_write(&rule, text);
	}
	buf_append_str(text, ",{\"names\": [\"file_setattr\"], \"action\": \"SCMP_ACT_ERRNO\"}]}");
	reference = export_reference(context, code, N_OF(code));
	cleanup_reading struct reading reading = read_good_profile(buf_str(text));

	for (size_t c = 0; c < N_OF(calls); c++)
		for (size_t a = 0; a < N_OF(more) * N_OF(more); a++) {
			uint32_t number = (uint32_t)syscall_number(calls[c]);
			uint64_t args[6] = {0, more[a % N_OF(more)], more[a / N_OF(more)]};

			uint32_t ours = filter_plan_decide(reading.plan, number, args),
				 theirs = bpf_machine_call(&reference, number, args);

			cr_assert_eq(ours, theirs, "%s(0, %#lx, %#lx): 0x%08x instead of 0x%08x under %s", calls[c],
				args[1], args[2], ours, theirs, buf_str(text));
		}
}

Test(filter_reference, libseccomp_reads_the_same_rules_alike)
{
	uint64_t state = 42;

	for (int round = 0; round < 500; round++) {
		cleanup_buf struct buf text = {0};
		scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(1));

		cr_assert_not_null(context);
		expect_like_reference(&state, context, &text);
		seccomp_release(context);
	}
}
