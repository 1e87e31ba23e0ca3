/*
 * Matching patterns against paths.
 *
 * Threat: patterns come with the manifest, names from the tree that is copied, and fnmatch(3) of glibc takes a time
 * that grows exponentially with the stars. Here only the last star (the last "**", between components) is ever taken
 * back: what an earlier one could match in other ways, it matches with the later one as well.
 */
#include "runtime/workspace/exclude.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

/* A component of a pattern or a path. */
struct part {
	const char *at;
	size_t size;
};

static struct part part_at(const char *at)
{
	at += strspn(at, "/");
	return (struct part){.at = at, .size = strcspn(at, "/")};
}

static struct part part_after(struct part part)
{
	return part_at(part.at + part.size);
}

static bool is_any_depth(struct part part)
{
	return part.size == 2 && memcmp(part.at, "**", 2) == 0;
}

/* Where the set that begins at `at` ("[") ends, behind its "]"; NULL where it does not. */
static const char *end_of_set(const char *at, const char *end)
{
	at++;
	if (at < end && (*at == '!' || *at == '^'))
		at++;
	if (at < end && *at == ']')
		at++;
	while (at < end && *at != ']')
		at++;
	return at < end ? at + 1 : NULL;
}

static bool in_set(const char *at, const char *end, unsigned char c)
{
	bool negated = at[1] == '!' || at[1] == '^', found = false;

	at += negated ? 2 : 1;
	for (end--; at < end; at++) {
		unsigned char low = (unsigned char)*at, high = low;

		if (at + 2 < end && at[1] == '-') {
			high = (unsigned char)at[2];
			at += 2;
		}
		found = found || (low <= c && c <= high);
	}
	return found != negated;
}

/* Whether the one element of the pattern at `at` matches c; *ret_next is where the next one begins. */
static bool match_one(const char *at, const char *end, char c, const char **ret_next)
{
	const char *behind = *at == '[' ? end_of_set(at, end) : NULL;

	*ret_next = at + 1;
	if (*at == '?')
		return true;
	if (behind != NULL) {
		*ret_next = behind;
		return in_set(at, behind, (unsigned char)c);
	}
	if (*at == '\\' && at + 1 < end) {
		*ret_next = at + 2;
		return at[1] == c;
	}
	return *at == c;
}

static bool match_part(struct part pattern, struct part name)
{
	const char *at = pattern.at, *end = at + pattern.size, *next, *star = NULL;
	const char *c = name.at, *name_end = c + name.size, *taken = NULL;

	while (c < name_end) {
		if (at < end && *at == '*') {
			star = ++at;
			taken = c;
		} else if (at < end && match_one(at, end, *c, &next)) {
			at = next;
			c++;
		} else if (star != NULL) {
			at = star;
			c = ++taken;
		} else {
			return false;
		}
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}

static bool match_path(const char *pattern, const char *path)
{
	struct part want = part_at(pattern), have = part_at(path), star = {0}, taken = {0};

	while (have.size > 0) {
		if (is_any_depth(want)) {
			star = want = part_after(want);
			taken = have;
			if (want.size == 0)
				return true;
		} else if (want.size > 0 && match_part(want, have)) {
			want = part_after(want);
			have = part_after(have);
		} else if (star.at != NULL) {
			want = star;
			have = taken = part_after(taken);
		} else {
			return false;
		}
	}
	return want.size == 0;
}

bool exclude_matches(const char *pattern, const char *path, bool is_directory)
{
	size_t size = strlen(pattern);
	const char *slash = strchr(pattern, '/'), *name = strrchr(path, '/');
	struct part whole = {.at = pattern, .size = size};

	if (size > 0 && pattern[size - 1] == '/') {
		if (!is_directory)
			return false;
		whole.size--;
	}
	if (slash != NULL && slash != pattern + whole.size)
		return match_path(pattern, path);
	name = name != NULL ? name + 1 : path;
	return match_part(whole, (struct part){.at = name, .size = strlen(name)});
}

/* A '[' that no ']' closes, or a '\\' that nothing follows. */
static bool has_open_end(struct part part)
{
	const char *at = part.at, *end = at + part.size;

	while (at != NULL && at < end) {
		if (*at == '[')
			at = end_of_set(at, end);
		else
			at += *at == '\\' ? 2 : 1;
	}
	return at != end;
}

int exclude_check(const char *pattern, struct error *err)
{
	struct part part = part_at(pattern);
	char shown[100];

	(void)str_printable(pattern, shown, sizeof shown);
	if (part.size == 0)
		return error_set(err, ERROR_SANDBOX_CONFIG_INVALID, "exclude", "\"%s\" is no pattern", shown);
	for (; part.size > 0; part = part_after(part)) {
		if (part.at[0] == '.' && (part.size == 1 || (part.size == 2 && part.at[1] == '.')))
			return error_set(err, ERROR_SANDBOX_CONFIG_INVALID, "exclude",
				"\"%s\": \".\" and \"..\" are in no path that is copied", shown);
		if (has_open_end(part))
			return error_set(err, ERROR_SANDBOX_CONFIG_INVALID, "exclude",
				"\"%s\": a '[' without ']', or a '\\' at the end", shown);
	}
	return 0;
}
