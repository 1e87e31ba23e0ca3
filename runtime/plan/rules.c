/*
 * The policy's paths, resolved and put in order: from the shallowest to the deepest, so that when a rule is looked at
 * everything that can show through at its place is already known; on one path deny comes last and wins. What a rule
 * then does is in rules_apply.c.
 */
#include "runtime/plan/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/plan/planner.h"
#include "runtime/policy/path_rule.h"

struct rule *rules_add(struct rules *rules, enum rule_kind kind, const char *path, const char *said)
{
	struct rule *rule = path == NULL ? NULL : arena_push(rules->planner->arena, &rules->list, &rules->n);

	if (rule == NULL)
		return NULL;
	rule->kind = kind;
	rule->path = path;
	rule->said = said;
	rule->depth = planner_depth(path);
	rule->order = rules->n;
	return rule;
}

static const enum rule_kind kind_of_access[] = {
	[ACCESS_READ] = RULE_READ,
	[ACCESS_WRITE] = RULE_WRITE,
	[ACCESS_DENY] = RULE_DENY,
	[ACCESS_PROTECT] = RULE_PROTECT,
};

/* Threat: a former command may have put a symlink in the workspace where the next policy grants a name in it. What is
 * granted by a name that seems to lie in the workspace must lie in it. */
static bool leads_out(struct planner *planner, const char *said, const char *canonical)
{
	const char *text = planner_expand_text(planner, said);

	if (canonical == NULL || text == NULL || !planner_is_below(text, planner->workspace) ||
		planner_is_below(canonical, planner->workspace))
		return false;
	diag_error(planner->diag,
		"filesystem: %s: leads out of the workspace by a symbolic link, to %s; name that place itself", said,
		canonical);
	return true;
}

static void add_path(struct planner *planner, const char *path, void *userdata)
{
	struct rules *rules = userdata;
	const struct policy_path *from = rules->from;
	const char *canonical;
	bool exists = false;
	struct stat st;
	struct rule *rule;
	bool found;

	if (path == NULL)
		return;
	found = planner_lstat(planner, path, &st) == 0;
	if (from->secret && !found)
		return;
	canonical = planner_canonical(planner, path, &exists);
	if ((from->access == ACCESS_READ || from->access == ACCESS_WRITE) && leads_out(planner, from->path, canonical))
		return;
	rule = rules_add(rules, kind_of_access[from->access], canonical, from->path);
	if (rule == NULL)
		return;
	rule->given = path;
	rule->optional = from->optional;
	rule->secret = from->secret;
}

static void add_home(struct rules *rules, const char *path)
{
	struct home *home;

	for (size_t i = 0; i < rules->n_homes; i++) {
		if (strcmp(rules->homes[i].path, path) == 0)
			return;
	}
	home = arena_push(rules->planner->arena, &rules->homes, &rules->n_homes);
	if (home != NULL)
		*home = (struct home){.path = path};
}

static void find_home(struct planner *planner, const char *path, void *userdata)
{
	(void)planner;
	add_home(userdata, path);
}

static void find_homes(struct rules *rules)
{
	if (rules->planner->home != NULL)
		add_home(rules, rules->planner->home);
	add_home(rules, "/root");
	planner_glob(rules->planner, "/home", "*", find_home, rules);
}

/* base: a home; NULL where `said` tells itself what it is relative to. The directory before the first pattern is a path
 * like any other: the workspace or a home may well have a "[" in its name. */
static void add_said(struct rules *rules, const char *base, const char *said)
{
	struct planner *planner = rules->planner;
	size_t at = rules->from->access == ACCESS_DENY ? planner_pattern_at(said) : strlen(said);
	const char *pattern = said + at;
	const char *place = at == 0 ? "." : arena_strndup(planner->arena, said, at);
	const char *path;

	if (place == NULL)
		return;
	if (base != NULL)
		place = planner_join(planner, base, place);
	path = planner_expand(planner, place);
	if (*pattern == '\0')
		add_path(planner, path, rules);
	else if (policy_path_has_parent_steps(pattern))
		diag_error(planner->diag, "filesystem.deny: %s: a \"..\" behind a pattern leads nowhere", said);
	else if (path != NULL)
		planner_glob(planner, path, pattern, add_path, rules);
}

static void add_present_secret(struct rules *rules, const char *path)
{
	struct rule *rule = rules_add(rules, RULE_DENY, path, rules->from->path);

	if (rule == NULL)
		return;
	rule->given = path;
	rule->optional = rules->from->optional;
	rule->secret = true;
}

/* The table of secrets is long, and most of it is absent everywhere: directories are read once instead of asked for
 * each name, and what is absent costs no memory. Its paths are well-formed. */
static void add_secret(struct rules *rules, const char *base, const char *said)
{
	size_t base_size = base == NULL || strcmp(base, "/") == 0 ? 0 : strlen(base);
	size_t size = strlen(said);
	enum listing_answer answer = LISTING_UNSURE;
	char *path = rules->path;

	if (planner_pattern_at(said) == size && base_size + 1 + size < sizeof rules->path) {
		memcpy(path, base_size == 0 ? "" : base, base_size);
		path[base_size] = '/';
		memcpy(path + base_size + (base != NULL), said, size + 1);
		answer = listings_ask(&rules->listings, path);
	}
	if (answer == LISTING_PRESENT)
		add_present_secret(rules, arena_strdup(rules->planner->arena, path));
	else if (answer == LISTING_UNSURE)
		add_said(rules, base, said);
}

static void add_at(struct rules *rules, const char *base, const char *said)
{
	if (rules->from->secret)
		add_secret(rules, base, said);
	else
		add_said(rules, base, said);
}

/* Whether the policy shows the home, something in it, or what it lies in, by itself. */
static bool is_wanted_home(const struct rules *rules, const char *home)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->list[i];
		const char *shown = rule->kind == RULE_BIND ? rule->source : rule->path;

		if ((rule->kind == RULE_BIND || rule->kind == RULE_READ || rule->kind == RULE_WRITE) &&
			(planner_is_below(shown, home) || planner_is_below(home, shown)))
			return true;
	}
	return false;
}

static bool is_closed_home(const struct rules *rules, const char *home)
{
	struct planner *planner = rules->planner;
	struct stat st;

	if (!planner->plan->identity.mapped)
		return faccessat(AT_FDCWD, home, X_OK, AT_EACCESS) < 0 && errno == EACCES;
	return planner_stat(planner, home, &st) == 0 && (st.st_mode & S_IXOTH) == 0 && !is_wanted_home(rules, home);
}

/* A "*" right behind the tilde stands for every home. */
static void add_policy_path(struct rules *rules, const struct policy_path *from)
{
	const char *relative = from->path + strlen(POLICY_EVERY_HOME);
	bool ask_all;

	rules->from = from;
	if (!str_starts_with(from->path, POLICY_EVERY_HOME)) {
		add_at(rules, NULL, from->path);
		return;
	}
	ask_all = !from->secret || planner_pattern_at(relative) == 0;
	for (size_t i = 0; i < rules->n_homes; i++) {
		if (from->secret && rules->homes[i].is_closed)
			continue;
		if (ask_all || listing_may_hold(rules->homes[i].listing, relative))
			add_at(rules, rules->homes[i].path, relative);
	}
}

static void add_policy_paths(struct rules *rules, bool secrets)
{
	const struct policy *policy = rules->planner->policy;

	for (size_t i = 0; i < policy->n_paths; i++) {
		if (policy->paths[i].secret == secrets)
			add_policy_path(rules, &policy->paths[i]);
	}
}

/* Order: when it is known what the policy shows. */
static void add_secrets(struct rules *rules)
{
	for (size_t i = 0; i < rules->n_homes; i++) {
		struct home *home = &rules->homes[i];

		home->is_closed = is_closed_home(rules, home->path);
		if (!home->is_closed)
			home->listing = listings_read(&rules->listings, home->path);
	}
	add_policy_paths(rules, true);
	listings_done(&rules->listings);
}

/* Where something is to be mounted: canonical where the host's tree shows, as written in another root. */
static const char *find_target(struct planner *planner, const char *said)
{
	const char *path = planner_expand(planner, said);
	const char *canonical;
	bool exists = false;

	if (path == NULL || planner->policy->root == ROOT_DIRECTORY)
		return path;
	canonical = planner_canonical(planner, path, &exists);
	return leads_out(planner, said, canonical) ? NULL : canonical;
}

static const char *find_source(struct planner *planner, const char *said)
{
	const char *path = planner_expand(planner, said);
	const char *canonical;
	bool exists = false;

	if (path == NULL)
		return NULL;
	canonical = planner_canonical(planner, path, &exists);
	if (!exists) {
		diag_error(planner->diag, "filesystem.bind: %s: does not exist", said);
		return NULL;
	}
	return leads_out(planner, said, canonical) ? NULL : canonical;
}

static void add_binds(struct rules *rules)
{
	struct planner *planner = rules->planner;

	for (size_t i = 0; i < planner->policy->n_binds; i++) {
		const struct policy_bind *bind = &planner->policy->binds[i];
		const char *source = find_source(planner, bind->source);
		const char *target = find_target(planner, bind->target);
		struct rule *rule = source == NULL ? NULL : rules_add(rules, RULE_BIND, target, bind->target);

		if (rule == NULL)
			continue;
		rule->source = source;
		rule->write = bind->write;
	}
}

/* What is denied or protected in a tree is so wherever a bind shows that tree. A bind of the very path or of what lies
 * below it hands it out on purpose. */
static void follow_bind(struct rules *rules, const char *source, const char *target, size_t n)
{
	struct planner *planner = rules->planner;

	for (size_t i = 0; i < n; i++) {
		const struct rule from = rules->list[i];
		struct rule *rule;
		const char *path;

		if ((from.kind != RULE_DENY && from.kind != RULE_PROTECT) || strcmp(from.path, source) == 0 ||
			!planner_is_below(from.path, source))
			continue;
		path = planner_join(planner, target, from.path + strlen(source) + (strcmp(source, "/") != 0));
		rule = rules_add(rules, from.kind, path, from.said);
		if (rule == NULL)
			return;
		rule->optional = from.optional;
		rule->secret = from.secret;
	}
}

static void follow_binds(struct rules *rules)
{
	size_t n = rules->n;

	for (size_t i = 0; i < n; i++) {
		if (rules->list[i].kind == RULE_BIND)
			follow_bind(rules, rules->list[i].source, rules->list[i].path, n);
	}
}

static void add_tmpfs(struct rules *rules)
{
	const struct policy *policy = rules->planner->policy;

	for (size_t i = 0; i < policy->n_tmpfs; i++) {
		const struct policy_tmpfs *tmpfs = &policy->tmpfs[i];
		struct rule *rule = rules_add(rules, RULE_TMPFS, find_target(rules->planner, tmpfs->path), tmpfs->path);

		if (rule != NULL)
			rule->size_bytes = tmpfs->size_bytes != LIMIT_NONE ? tmpfs->size_bytes
									   : policy->limits.tmp_size_bytes;
	}
}

static bool is_wanted(const struct rule *rule)
{
	return rule->kind == RULE_READ || rule->kind == RULE_WRITE;
}

/* There the command has the owner's rights. */
static bool is_below_writable(const struct rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->n; i++) {
		if (rules->list[i].kind == RULE_WRITE && planner_is_below(path, rules->list[i].path))
			return true;
	}
	return false;
}

/* Started by root, the mapped uid has the rights of "others": the first directory on the way that does not let others
 * through gives way to a skeleton with nothing in it but what is wanted. */
static void open_way(struct rules *rules, const char *path)
{
	struct planner *planner = rules->planner;

	for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		const char *directory = arena_strndup(planner->arena, path, (size_t)(slash - path));
		struct stat st;

		if (directory == NULL || planner_stat(planner, directory, &st) < 0)
			return;
		if ((st.st_mode & S_IXOTH) != 0)
			continue;
		if (is_below_writable(rules, directory))
			return;
		(void)rules_add(rules, RULE_SKELETON, directory, directory);
		return;
	}
}

static void open_ways(struct rules *rules)
{
	size_t n = rules->n;

	if (!rules->planner->plan->identity.mapped || rules->planner->policy->root != ROOT_HOST)
		return;
	for (size_t i = 0; i < n; i++) {
		if (is_wanted(&rules->list[i]))
			open_way(rules, rules->list[i].path);
	}
}

static int by_depth(const void *a, const void *b)
{
	const struct rule *x = a;
	const struct rule *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void find_wanted(struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++) {
		const char **slot;

		if (rules->list[i].kind == RULE_DENY || rules->list[i].kind == RULE_PROTECT ||
			rules->list[i].kind == RULE_SKELETON)
			continue;
		slot = arena_push(rules->planner->arena, &rules->wanted, &rules->n_wanted);
		if (slot != NULL)
			*slot = rules->list[i].path;
	}
}

static void check_writes(const struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *write = &rules->list[i];

		for (size_t j = 0; write->kind == RULE_WRITE && j < rules->n; j++) {
			const struct rule *deny = &rules->list[j];

			if (deny->kind == RULE_DENY && !deny->secret && strcmp(write->path, deny->path) != 0 &&
				planner_is_below(write->path, deny->path))
				diag_error(rules->planner->diag, "filesystem.write: %s: lies inside %s, which is denied",
					write->said, deny->said);
		}
	}
}

bool rules_write(const struct rules *rules, const char *path)
{
	const struct rule *found = NULL;

	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->list[i];

		if ((rule->kind != RULE_WRITE && rule->kind != RULE_READ) || !planner_is_below(path, rule->path))
			continue;
		if (found == NULL || rule->depth > found->depth ||
			(rule->depth == found->depth && rule->kind == RULE_READ))
			found = rule;
	}
	return found != NULL && found->kind == RULE_WRITE;
}

/* The workspace shows whatever the policy says of it, if only to be read. */
static void add_workspace(struct rules *rules)
{
	const struct policy_path workspace = {.access = ACCESS_READ, .path = rules->planner->workspace};

	if (rules_write(rules, workspace.path))
		return;
	rules->from = &workspace;
	add_path(rules->planner, workspace.path, rules);
	rules->from = NULL;
}

int planner_rules(struct planner *planner, struct error *err)
{
	struct rules rules = {.planner = planner, .listings = {.arena = planner->arena, .slash_fd = -1}};

	find_homes(&rules);
	add_policy_paths(&rules, false);
	add_workspace(&rules);
	rules_add_git(&rules);
	add_binds(&rules);
	add_secrets(&rules);
	rules_tell_sockets(&rules);
	follow_binds(&rules);
	add_tmpfs(&rules);
	open_ways(&rules);
	find_wanted(&rules);
	if (arena_check(planner->arena, err) < 0)
		return -1;
	check_writes(&rules);
	qsort(rules.list, rules.n, sizeof *rules.list, by_depth);
	for (size_t i = 0; i < rules.n; i++)
		rules_apply(planner, &rules, &rules.list[i]);
	rules_settle_git(planner);
	return arena_check(planner->arena, err);
}
