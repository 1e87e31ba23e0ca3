/*
 * What may stand in a policy as a path.
 *
 * These rules look at the text alone; the plan resolves paths against the file tree and checks again. Here belong the
 * mistakes that are mistakes on every machine: nothing, too much, somebody else's home, a mount over what the boundary
 * itself is made of.
 *
 * Threat: a writable or mounted-over /proc, /sys or /dev is a way out of (or a way to blind) the boundary, so these are
 * refused by name, in every spelling that can be seen through without the file tree. The other spellings (by a
 * symlink) are the plan's to find.
 */
#include "runtime/policy/path_rule.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"

/* The length of the component at s. */
static size_t component_size(const char *s)
{
	return (size_t)(strchrnul(s, '/') - s);
}

static bool is_step(const char *component, size_t size, const char *step)
{
	return strlen(step) == size && memcmp(component, step, size) == 0;
}

bool policy_path_has_parent_steps(const char *path)
{
	while (*path != '\0') {
		size_t size = component_size(path);

		if (is_step(path, size, ".."))
			return true;
		path += size;
		path += *path == '/';
	}
	return false;
}

bool policy_path_has_glob(const char *path)
{
	if (str_starts_with(path, POLICY_EVERY_HOME))
		path += strlen(POLICY_EVERY_HOME);
	return strpbrk(path, "*?[") != NULL;
}

/* Takes the last component off an absolute path in buf. */
static size_t step_up(const char *buf, size_t size)
{
	while (size > 0 && buf[size - 1] != '/')
		size--;
	return size > 0 ? size - 1 : 0;
}

/* Writes an absolute path, "." and ".." taken as text, without a final slash; "" for the root. */
static void squeeze(const char *path, char buf[static PATH_MAX])
{
	size_t size = 0;

	while (*path != '\0') {
		size_t n = component_size(path);

		if (is_step(path, n, "..")) {
			size = step_up(buf, size);
		} else if (n > 0 && !is_step(path, n, ".")) {
			buf[size++] = '/';
			memcpy(buf + size, path, n);
			size += n;
		}
		path += n;
		path += *path == '/';
	}
	buf[size] = '\0';
}

static bool is_kernel_tree(const char *squeezed)
{
	static const char *const trees[] = {"/proc", "/sys", "/dev"};

	for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
		if (strcmp(squeezed, trees[i]) == 0 || policy_path_is_below(squeezed, trees[i]))
			return true;
	return false;
}

static const char *mounted_fault(const char *path, enum policy_path_use use)
{
	char squeezed[PATH_MAX] = "";

	if (path[0] != '/')
		return use == PATH_BIND_TARGET ? "the target of a bind must be absolute" : NULL;
	squeeze(path, squeezed);
	if (is_kernel_tree(squeezed))
		return "nothing below /proc, /sys or /dev can be made writable or mounted over";
	if (squeezed[0] != '\0')
		return NULL;
	if (use != PATH_WRITE)
		return "the root itself cannot be mounted over";
	return strcmp(path, "/") != 0 ? "to make everything writable, write \"/\" itself" : NULL;
}

static const char *home_fault(const char *path, enum policy_path_use use)
{
	if (path[0] != '~' || path[1] == '\0' || path[1] == '/')
		return NULL;
	if (!str_starts_with(path, POLICY_EVERY_HOME))
		return "only \"~/\" stands for a home; write \"./~...\" for a name that begins with '~'";
	return use == PATH_DENY ? NULL : "\"~*/\" (every home) is for deny alone";
}

const char *policy_path_fault(const char *path, enum policy_path_use use)
{
	const char *fault;

	if (path[0] == '\0')
		return "an empty path";
	if (strlen(path) >= PATH_MAX)
		return "longer than a path can be";
	fault = home_fault(path, use);
	if (fault != NULL)
		return fault;
	return use == PATH_WRITE || use == PATH_BIND_TARGET || use == PATH_TMPFS ? mounted_fault(path, use) : NULL;
}

#define OWN_HOME    "^([^~]|~$|~/)"
#define ANY_HOME    "^([^~]|~$|~/|~[*]/)"
#define SAME        "(/[.]?)"                                        /* a step that leads nowhere */
#define STEP        "(/([.]|[^./][^/]*|[.][^./][^/]*|[.][.][^/]+)?)" /* any but ".." */
#define KERNEL_TREE SAME "*/(proc|sys|dev)" STEP "*"

/* Beside the rules that they repeat; tests/cli/cases/schema.py holds both together. */
const struct policy_path_form policy_path_forms[_PATH_USE_COUNT] = {
	[PATH_READ] = {OWN_HOME, NULL},
	[PATH_WRITE] = {OWN_HOME, "^(" KERNEL_TREE "|/[.]" SAME "*|/" SAME "+)$"},
	[PATH_DENY] = {ANY_HOME, NULL},
	[PATH_PROTECT] = {OWN_HOME, NULL},
	[PATH_BIND_SOURCE] = {OWN_HOME, NULL},
	[PATH_BIND_TARGET] = {"^/", "^(" KERNEL_TREE "|" SAME "+)$"},
	[PATH_TMPFS] = {OWN_HOME, "^(" KERNEL_TREE "|" SAME "+)$"},
};
const struct policy_path_form policy_root_form = {"^/", "^" SAME "+$"};

/* "./~name" keeps its dot, else it would become somebody's home. */
char *policy_path_tidy(struct arena *arena, const char *path)
{
	char *tidy = arena_alloc(arena, strlen(path) + 3);
	bool home = path[0] == '~';
	size_t size = 0;

	if (tidy == NULL)
		return NULL;
	if (path[0] == '/')
		tidy[size++] = '/';
	while (*path != '\0') {
		size_t n = component_size(path);

		if (n > 0 && !is_step(path, n, ".")) {
			if (size == 0 && path[0] == '~' && !home)
				tidy[size++] = '.';
			if (size > 0 && tidy[size - 1] != '/')
				tidy[size++] = '/';
			memcpy(tidy + size, path, n);
			size += n;
		}
		path += n;
		path += *path == '/';
	}
	if (size == 0)
		tidy[size++] = '.';
	else if (size == 1 && home)
		tidy[size++] = '/';
	tidy[size] = '\0';
	return tidy;
}

bool policy_path_is_below(const char *path, const char *above)
{
	size_t size = strlen(above);

	if (strcmp(above, ".") == 0)
		return path[0] != '/' && path[0] != '~' && strcmp(path, ".") != 0;
	if (size > 0 && above[size - 1] == '/')
		return strncmp(path, above, size) == 0 && path[size] != '\0';
	return strncmp(path, above, size) == 0 && path[size] == '/';
}
