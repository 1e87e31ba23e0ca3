/* Throw-away children: what they say, and what is left when they are stuck, killed, or refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotime.h"
#include "ns/trial.h"
#include "tests/unit/harness.h"

TestSuite(trial, .fini = harness_leak_check);

#define SHORT_NS (200 * NS_PER_MS)

static int step_works(void *userdata, struct error *err)
{
	(void)userdata;
	(void)err;
	return 0;
}

static int step_fails(void *userdata, struct error *err)
{
	(void)userdata;
	return error_set_errno(err, ERROR_IO, ENOTTY, "a step of its own", "it fails");
}

static int step_is_stuck(void *userdata, struct error *err)
{
	(void)userdata;
	(void)err;
	return pause(); /* no signal comes through but SIGKILL */
}

static int step_is_killed(void *userdata, struct error *err)
{
	(void)userdata;
	(void)err;
	return kill(getpid(), SIGKILL);
}

static int step_has_ids(void *userdata, struct error *err)
{
	const struct trial_identity *identity = userdata;

	if (getuid() == identity->uid && getgid() == identity->gid)
		return 0;
	return error_set(err, ERROR_IO, "ids", "others");
}

static struct trial plain(const trial_step *steps, size_t n)
{
	return (struct trial){.clone_step = "clone3", .steps = steps, .n_steps = n, .timeout_ns = SHORT_NS};
}

static void run(const struct trial *trial, struct trial_finding *findings)
{
	struct error err;
	int n_fds = harness_count_fds();

	harness_ok(trial_run(trial, findings, &err), &err);
	cr_expect_eq(harness_count_fds(), n_fds, "descriptors are left");
	cr_expect_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	cr_expect_eq(errno, ECHILD, "a child is left");
}

Test(trial, each_step_has_its_answer)
{
	static const trial_step steps[] = {step_works, step_fails, step_works};
	struct trial trial = plain(steps, 3);
	struct trial_finding findings[3];

	run(&trial, findings);
	cr_expect(findings[0].works);
	cr_expect_str_eq(findings[0].step, "");
	cr_expect_not(findings[1].works);
	cr_expect_eq(findings[1].sys_errno, ENOTTY);
	cr_expect_str_eq(findings[1].step, "a step of its own");
	cr_expect(findings[2].works);
}

Test(trial, a_stuck_child_is_killed)
{
	static const trial_step steps[] = {step_works, step_is_stuck, step_works};
	struct trial trial = plain(steps, 3);
	struct trial_finding findings[3];
	uint64_t begin = monotime_ns();

	run(&trial, findings);
	cr_expect_geq(monotime_ns() - begin, SHORT_NS);
	cr_expect(findings[0].works, "what it had said before counts");
	for (int i = 1; i < 3; i++) {
		cr_expect_not(findings[i].works);
		cr_expect_eq(findings[i].sys_errno, ETIMEDOUT);
	}
}

Test(trial, a_killed_child_is_an_answer)
{
	static const trial_step steps[] = {step_works, step_is_killed};
	struct trial trial = plain(steps, 2);
	struct trial_finding findings[2];

	trial.timeout_ns = 60 * NS_PER_S;
	run(&trial, findings);
	cr_expect(findings[0].works);
	cr_expect_not(findings[1].works);
	cr_expect_str_eq(findings[1].step, "killed by a signal");
}

Test(trial, a_refused_clone_is_an_answer)
{
	static const trial_step steps[] = {step_works, step_works};
	struct trial trial = plain(steps, 2);
	struct trial_finding findings[2];

	trial.namespaces = CLONE_NEWUSER | CLONE_FS; /* these two exclude each other */
	run(&trial, findings);
	for (int i = 0; i < 2; i++) {
		cr_expect_not(findings[i].works);
		cr_expect_eq(findings[i].sys_errno, EINVAL);
		cr_expect_str_eq(findings[i].step, "clone3");
	}
}

Test(trial, the_child_has_the_identity)
{
	static const trial_step steps[] = {step_has_ids};
	struct trial_identity identity = {.uid = geteuid(), .gid = getegid()};
	struct trial trial = plain(steps, 1);
	struct trial_finding finding;

	trial.namespaces = CLONE_NEWUSER;
	trial.identity = &identity;
	trial.userdata = &identity;
	trial.timeout_ns = 60 * NS_PER_S;
	run(&trial, &finding);
	cr_expect(finding.works, "%s: %s", finding.step, strerror(finding.sys_errno));
	identity = (struct trial_identity){
		.uid = 1000, .gid = 1000, .mapped = true, .privileged = geteuid() == 0, .uid_base = 0x70000000};
	run(&trial, &finding);
	if (geteuid() == 0)
		cr_expect(finding.works, "%s: %s", finding.step, strerror(finding.sys_errno));
	else
		cr_expect_eq(finding.sys_errno, EPERM, "an ordinary user was allowed to map another's uid");
}

static volatile sig_atomic_t n_signals;

static void count_signal(int signo)
{
	(void)signo;
	n_signals++;
}

Test(trial, the_host_program_hears_of_no_child)
{
	static const trial_step steps[] = {step_works};
	struct sigaction action = {.sa_handler = count_signal};
	struct trial trial = plain(steps, 1);
	struct trial_finding finding;
	sigset_t before;
	sigset_t after;

	cr_assert_eq(sigaction(SIGCHLD, &action, NULL), 0);
	cr_assert_eq(sigprocmask(SIG_SETMASK, NULL, &before), 0);
	run(&trial, &finding);
	cr_assert_eq(sigprocmask(SIG_SETMASK, NULL, &after), 0);
	cr_expect(finding.works);
	cr_expect_eq(n_signals, 0);
	for (int i = 1; i < SIGRTMAX; i++)
		cr_expect_eq(sigismember(&before, i), sigismember(&after, i), "signal %d", i);
}
