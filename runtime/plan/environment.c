/*
 * The command's environment: nothing of the caller's but what the policy passes on by name, what it sets, and seven
 * variables that every program may rely on. Values set by the policy win over passed ones, and both over the seven, but
 * for PINFOLD, by which a program can tell that it is confined.
 */
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "runtime/plan/planner.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SCRATCH_HOME "/tmp/.home"

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
