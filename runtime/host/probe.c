/*
 * The probes together. Each mechanism asks in its own words (ns_probe, cgroup_probe, filter_probe); here the answers
 * become facts, and what stands behind a refusal is looked for (obstacle.c), so that the report can say what to mend.
 *
 * Facts that are known already, and those of a fake host, are kept; what is asked together is asked again only where
 * one of its facts is not known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/str.h"
#include "cgroup/cgroup_probe.h"
#include "ns/ns_probe.h"
#include "runtime/host/host.h"
#include "runtime/host/kernel_probe.h"
#include "runtime/host/obstacle.h"

#define INNER_UID        1000
#define UID_BASE_DEFAULT 0x70000000u
#define UID_BASE_MAX     (0xffff0000u - (1u << 22)) /* plus the largest pid, still a valid uid */

/* NS_NEW_ROOT, the last, is no fact of its own: a launch that keeps the host's root does without. */
static const enum host_fact ns_facts[NS_NEW_ROOT] = {
	[NS_USER] = FACT_USER_NAMESPACE,
	[NS_OWN_ID] = FACT_OWN_ID,
	[NS_ID_MAP] = FACT_ID_MAP,
	[NS_NPROC] = FACT_NPROC_PER_NAMESPACE,
	[NS_MOUNT] = FACT_MOUNT_NAMESPACE,
	[NS_DEVPTS] = FACT_DEVPTS_MOUNT,
	[NS_PID] = FACT_PID_NAMESPACE,
	[NS_PROC] = FACT_PROC_MOUNT,
	[NS_IPC] = FACT_IPC_NAMESPACE,
	[NS_UTS] = FACT_UTS_NAMESPACE,
	[NS_CGROUP] = FACT_CGROUP_NAMESPACE,
	[NS_NET] = FACT_NET_NAMESPACE,
	[NS_LOOPBACK] = FACT_LOOPBACK,
};

static const enum host_fact cgroup_facts[_CGROUP_ABILITY_COUNT] = {
	[CGROUP_GROUP] = FACT_CGROUP2,
	[CGROUP_KILL] = FACT_CGROUP_KILL,
	[CGROUP_MEMORY] = FACT_CGROUP_MEMORY,
	[CGROUP_SWAP] = FACT_CGROUP_SWAP,
	[CGROUP_PIDS] = FACT_CGROUP_PIDS,
	[CGROUP_CPU] = FACT_CGROUP_CPU,
};

static bool any_unknown(const struct host *host, const enum host_fact *facts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (host->facts[facts[i]].state == FACT_UNKNOWN)
			return true;
	return false;
}

/* Order: what is known stays, whoever said it. */
static void learn(struct host *host, enum host_fact which, struct fact fact)
{
	if (host->facts[which].state == FACT_UNKNOWN)
		host->facts[which] = fact;
}

/* Nothing stands behind the refusal of what only root can have. */
static bool for_root_alone(enum host_fact which)
{
	return which == FACT_ID_MAP || which == FACT_IDMAPPED_MOUNT;
}

static struct fact fact_of_trial(const struct host *host, enum host_fact which, const struct trial_finding *finding)
{
	struct fact fact = {.state = finding->works ? FACT_YES : FACT_NO, .sys_errno = finding->sys_errno};

	_Static_assert(sizeof fact.step == sizeof finding->step, "a step fits");
	memcpy(fact.step, finding->step, sizeof fact.step);
	if (!finding->works && (host->privileged || !for_root_alone(which)))
		obstacle_find(which, finding->sys_errno, fact.detail, sizeof fact.detail);
	return fact;
}

/* Where a launch would map a sandbox to. What is no number is refused by the plan, with a message of its own. */
static uid_t uid_base(void)
{
	const char *text = secure_getenv("PINFOLD_UID_BASE");
	uint64_t base = UID_BASE_DEFAULT;

	if (text == NULL || str_parse_u64(text, 1, UID_BASE_MAX, &base, NULL) < 0)
		return UID_BASE_DEFAULT;
	return (uid_t)base;
}

static struct ns_probe ns_probe_for(const struct host *host)
{
	return (struct ns_probe){.privileged = host->privileged,
		.inner_uid = INNER_UID,
		.uid_base = uid_base(),
		.timeout_ns = TRIAL_TIMEOUT_NS};
}

/* Then nothing else can be had, and the asking itself may be deadly. */
static bool learn_without_user_namespace(struct host *host)
{
	const struct fact lack = host->facts[FACT_USER_NAMESPACE];

	for (int i = 0; lack.state == FACT_NO && i < NS_NEW_ROOT; i++)
		learn(host, ns_facts[i], lack);
	if (lack.state == FACT_NO)
		learn(host, FACT_IDMAPPED_MOUNT, lack);
	return lack.state == FACT_NO;
}

static int probe_namespaces(struct host *host, struct error *err)
{
	struct ns_probe probe = ns_probe_for(host);

	if (!any_unknown(host, ns_facts, NS_NEW_ROOT) || learn_without_user_namespace(host))
		return 0;
	if (ns_probe(&probe, err) < 0)
		return -1;
	for (int i = 0; i < NS_NEW_ROOT; i++) {
		struct fact fact = fact_of_trial(host, ns_facts[i], &probe.findings[i]);

		if (i == NS_MOUNT && probe.findings[i].works && !probe.findings[NS_NEW_ROOT].works)
			(void)snprintf(fact.detail, sizeof fact.detail, "%s",
				"a new root directory cannot be entered: pivot_root is refused");
		learn(host, ns_facts[i], fact);
	}
	return 0;
}

static int probe_idmapped_mount(struct host *host, const char *workspace, struct error *err)
{
	struct ns_probe probe = ns_probe_for(host);
	struct trial_finding finding;

	if (host->facts[FACT_IDMAPPED_MOUNT].state != FACT_UNKNOWN || learn_without_user_namespace(host))
		return 0;
	/* Below "/" there are proc and the like, which cannot be id-mapped. */
	if (ns_probe_idmapped_mount(&probe, workspace == NULL ? "/" : workspace, workspace == NULL, &finding, err) < 0)
		return -1;
	learn(host, FACT_IDMAPPED_MOUNT, fact_of_trial(host, FACT_IDMAPPED_MOUNT, &finding));
	return 0;
}

/* Who survives the asking knows nothing more yet. */
static int probe_survival(struct host *host, struct error *err)
{
	static const enum host_fact facts[] = {FACT_USER_NAMESPACE, FACT_MOUNT_NAMESPACE};
	struct trial_finding findings[2];

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 || !any_unknown(host, facts, 2))
		return 0;
	if (kernel_probe_survival(&findings[0], &findings[1], err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (!findings[i].works)
			learn(host, facts[i], fact_of_trial(host, facts[i], &findings[i]));
	return 0;
}

static int probe_kernel(struct host *host, struct error *err)
{
	struct kernel_probe probe;

	if (!any_unknown(host, kernel_probe_facts, KERNEL_PROBE_N))
		return 0;
	if (kernel_probe(&probe, err) < 0)
		return -1;
	for (size_t i = 0; i < KERNEL_PROBE_N; i++) {
		struct fact fact = fact_of_trial(host, kernel_probe_facts[i], &probe.findings[i]);

		if (kernel_probe_facts[i] == FACT_LANDLOCK && probe.landlock_abi > 0)
			(void)snprintf(fact.detail, sizeof fact.detail, LANDLOCK_DETAIL, probe.landlock_abi);
		learn(host, kernel_probe_facts[i], fact);
	}
	return 0;
}

/* A run asks this each time, and a child costs it a twentieth: where no filter is around us that could kill who asks,
 * there is none. */
int host_probe_landlock(struct host *host, struct error *err)
{
	struct trial_finding finding = {.works = true};
	struct fact fact;
	unsigned abi = 0;

	if (host->facts[FACT_LANDLOCK].state != FACT_UNKNOWN)
		return 0;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
		return probe_kernel(host, err) < 0 ? -1 : probe_survival(host, err);
	if (kernel_landlock_abi(&abi) < 0) {
		finding = (struct trial_finding){.sys_errno = errno};
		(void)snprintf(finding.step, sizeof finding.step, "%s", "landlock_create_ruleset");
	}
	fact = fact_of_trial(host, FACT_LANDLOCK, &finding);
	if (finding.works)
		(void)snprintf(fact.detail, sizeof fact.detail, LANDLOCK_DETAIL, abi);
	learn(host, FACT_LANDLOCK, fact);
	return 0;
}

static struct fact fact_of_cgroup(const struct cgroup_finding *finding)
{
	struct fact fact = {.state = finding->works ? FACT_YES : FACT_NO, .sys_errno = finding->sys_errno};

	_Static_assert(sizeof fact.step == sizeof finding->step, "a step fits");
	_Static_assert(sizeof fact.detail == sizeof finding->detail, "a detail fits");
	memcpy(fact.step, finding->step, sizeof fact.step);
	memcpy(fact.detail, finding->detail, sizeof fact.detail);
	return fact;
}

/* A handle that is asked for more than before asks again; what comes from elsewhere stays. */
static void forget_cgroups(struct host *host, const struct host_wants *wants)
{
	bool more = (wants->controllers & ~host->cgroup_asked) != 0 || (!wants->untried && !host->cgroup_tried);

	if (!host->cgroup_probed || !more)
		return;
	host->cgroup_hold = cgroup_hold_free(host->cgroup_hold);
	for (int i = 0; i < _CGROUP_ABILITY_COUNT; i++)
		host->facts[cgroup_facts[i]] = (struct fact){0};
}

int host_probe_cgroup(struct host *host, const struct host_wants *wants, struct error *err)
{
	struct cgroup_request request = {.wanted = wants->controllers | host->cgroup_asked,
		.worth_a_scope = wants->worth_a_scope,
		.untried = wants->untried && !host->cgroup_tried};
	struct cgroup_probe probe;

	forget_cgroups(host, wants);
	if (!any_unknown(host, cgroup_facts, _CGROUP_ABILITY_COUNT))
		return 0;
	if (cgroup_probe(&request, &probe, err) < 0)
		return -1;
	_Static_assert(sizeof host->cgroup_path == sizeof probe.base, "a path fits");
	if (host->facts[FACT_CGROUP2].state == FACT_UNKNOWN)
		memcpy(host->cgroup_path, probe.base, sizeof host->cgroup_path);
	for (int i = 0; i < _CGROUP_ABILITY_COUNT; i++)
		learn(host, cgroup_facts[i], fact_of_cgroup(&probe.findings[i]));
	host->cgroup_hold = probe.hold;
	host->cgroup_asked = request.wanted;
	host->cgroup_probed = true;
	host->cgroup_tried = !request.untried;
	return 0;
}

int host_probe(struct host *host, const char *workspace, const struct host_wants *wants, struct error *err)
{
	if (probe_kernel(host, err) < 0 || probe_survival(host, err) < 0 || probe_namespaces(host, err) < 0)
		return -1;
	if (probe_idmapped_mount(host, workspace, err) < 0)
		return -1;
	return host_probe_cgroup(host, wants, err);
}
