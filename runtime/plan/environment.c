/*
 * The command's environment: nothing of the caller's but what the policy passes on by name, what it sets, and seven
 * variables that every program may rely on. Values set by the policy win over passed ones, and both over the seven, but
 * for PINFOLD, by which a program can tell that it is confined.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "runtime/plan/planner.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SCRATCH_HOME "/tmp/.home"

#define GIT_CONFIG_COUNT_MAX 1000

struct variables {
	struct planner *planner;
	char **list; /* "NAME=VALUE" */
	size_t n;
};

static char **find(struct variables *variables, const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < variables->n; i++) {
		if (strncmp(variables->list[i], name, size) == 0 && variables->list[i][size] == '=')
			return &variables->list[i];
	}
	return NULL;
}

static void set(struct variables *variables, const char *name, const char *value)
{
	struct arena *arena = variables->planner->arena;
	char **slot = find(variables, name);
	char *text = arena_printf(arena, "%s=%s", name, value);

	if (slot == NULL && text != NULL)
		slot = arena_push(arena, &variables->list, &variables->n);
	if (slot != NULL && text != NULL)
		*slot = text;
}

bool plan_passes_variable(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_env_pass; i++) {
		if (str_match(policy->env_pass[i], name))
			return true;
	}
	return false;
}

/* An entry without a name or without '=' is not a variable; nor is an empty PATH or HOME a usable one. */
static void pass(struct variables *variables)
{
	struct planner *planner = variables->planner;

	for (char **entry = planner->command->environment; entry != NULL && *entry != NULL; entry++) {
		const char *equals = strchr(*entry, '=');
		const char *name;

		if (equals == NULL || equals == *entry)
			continue;
		name = arena_strndup(planner->arena, *entry, (size_t)(equals - *entry));
		if (name == NULL || !plan_passes_variable(planner->policy, name))
			continue;
		if (equals[1] == '\0' && (strcmp(name, "PATH") == 0 || strcmp(name, "HOME") == 0))
			continue;
		set(variables, name, equals + 1);
	}
}

/* Reads the file itself: the name service would load libraries, and in a static program cannot. */
static const char *user_name(struct planner *planner, uid_t uid)
{
	FILE *file = planner->plan->identity.mapped ? NULL : fopen("/etc/passwd", "re");
	const struct passwd *entry;
	const char *name = NULL;

	if (planner->plan->identity.mapped)
		return "pinfold";
	while (file != NULL && name == NULL && (entry = fgetpwent(file)) != NULL) {
		if (entry->pw_uid == uid)
			name = arena_strdup(planner->arena, entry->pw_name);
	}
	if (file != NULL)
		(void)fclose(file);
	return name != NULL ? name : arena_printf(planner->arena, "%u", uid);
}

/* Without a boundary there is no private /tmp: a scratch directory there would have a name that others can take first. */
static const char *home(const struct planner *planner)
{
	if (planner->policy->backend != BACKEND_NONE)
		return SCRATCH_HOME;
	return planner->command->home != NULL ? planner->command->home : "/";
}

/* The number of configurations that the variables give git already. False where that is no number: git fails then. */
static bool count_git_config(struct variables *variables, unsigned *ret_n)
{
	char **entry = find(variables, "GIT_CONFIG_COUNT");
	const char *said = entry == NULL ? "0" : strchr(*entry, '=') + 1;
	char *end;
	unsigned long n = strtoul(said, &end, 10);

	*ret_n = (unsigned)n;
	return *end == '\0' && n < GIT_CONFIG_COUNT_MAX;
}

/* `git gc` inside leaves the reflogs alone, which it could not shorten, and does the rest. */
static void set_git_config(struct variables *variables)
{
	static const char *const names[] = {"gc.reflogExpire", "gc.reflogExpireUnreachable"};
	struct arena *arena = variables->planner->arena;
	const char *count;
	unsigned n;

	if (!count_git_config(variables, &n))
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++, n++) {
		const char *key = arena_printf(arena, "GIT_CONFIG_KEY_%u", n);
		const char *value = arena_printf(arena, "GIT_CONFIG_VALUE_%u", n);

		if (key == NULL || value == NULL)
			return;
		set(variables, key, names[i]);
		set(variables, value, "never");
	}
	count = arena_printf(arena, "%u", n);
	if (count != NULL)
		set(variables, "GIT_CONFIG_COUNT", count);
}

int planner_environment(struct planner *planner, struct error *err)
{
	const struct policy *policy = planner->policy;
	struct plan *plan = planner->plan;
	struct variables variables = {.planner = planner};
	char **end;

	set(&variables, "HOME", home(planner));
	set(&variables, "PATH", DEFAULT_PATH);
	set(&variables, "TMPDIR", "/tmp");
	set(&variables, "USER", user_name(planner, plan->identity.inner_uid));
	pass(&variables);
	for (size_t i = 0; i < policy->n_env_set; i++)
		set(&variables, policy->env_set[i].name, policy->env_set[i].value);
	if (planner->keep_reflogs)
		set_git_config(&variables);
	/* These two are facts, not wishes. */
	set(&variables, "PWD", plan->directory);
	set(&variables, "PINFOLD", "1");
	end = arena_push(planner->arena, &variables.list, &variables.n);
	if (end != NULL)
		*end = NULL;
	plan->environment = variables.list;
	if (arena_check(planner->arena, err) < 0)
		return -1;
	variables.n--;
	plan->path = *find(&variables, "PATH") + strlen("PATH=");
	return 0;
}
