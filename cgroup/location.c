/*
 * Two files of proc tell together where the own cgroup is: /proc/self/cgroup names it within its hierarchy, and
 * /proc/self/mountinfo says which part of which hierarchy is mounted where.
 *
 *   0::/user.slice/a.scope                                          the only line that speaks of version 2
 *   40 30 0:37 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw   field 4 is what is mounted, field 5 where
 *
 * so the directory is field 5, and what is left of the name behind field 4. On a hybrid machine there are up to a dozen
 * further lines and mounts of version 1, which are never looked at. In a container field 4 need not be "/", several
 * mounts may show the same hierarchy, and one may show a part in which the own group does not lie: such are passed
 * over. Names that climb out ("/../x": the process is outside its cgroup namespace's root) lead nowhere.
 */
#include "cgroup/location.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

struct span {
	const char *at;
	size_t size;
};

/* The next word of a line, or an empty one at its end. */
static struct span next_word(const char **line)
{
	struct span word = {.at = *line, .size = strcspn(*line, " \n")};

	*line += word.size;
	if (**line == ' ')
		++*line;
	return word;
}

static bool span_equal(struct span span, const char *s)
{
	return strlen(s) == span.size && memcmp(span.at, s, span.size) == 0;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static bool unescape(struct span from, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < from.size; i++) {
		const char *at = from.at + i;

		if (n + 1 >= size)
			return false;
		if (*at == '\\' && i + 3 < from.size && is_octal(at[1]) && is_octal(at[2]) && is_octal(at[3])) {
			to[n++] = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			i += 3;
		} else {
			to[n++] = *at;
		}
	}
	to[n] = '\0';
	return n > 0;
}

/* The name behind "0::", which no other line of the file can contain at its start. */
static bool own_name(const char *cgroup, char *ret_name, size_t size)
{
	for (const char *line = cgroup; line != NULL && *line != '\0';) {
		if (str_starts_with(line, "0::/")) {
			size_t n = strcspn(line + 3, "\n");

			if (n >= size)
				return false;
			memcpy(ret_name, line + 3, n);
			ret_name[n] = '\0';
			return true;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return false;
}

/* Fields: id parent device ROOT WHERE options, optional ones, "-", TYPE source options. */
static bool parse_mount(const char *line, char *ret_root, char *ret_where, size_t size)
{
	struct span root;
	struct span where;
	struct span word;

	for (int i = 0; i < 3; i++)
		(void)next_word(&line);
	root = next_word(&line);
	where = next_word(&line);
	do
		word = next_word(&line);
	while (word.size > 0 && !span_equal(word, "-"));
	if (!span_equal(next_word(&line), "cgroup2"))
		return false;
	return unescape(root, ret_root, size) && unescape(where, ret_where, size);
}

static bool climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")) != NULL; at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

/* What of `name` lies behind `root`: "" for itself, else with a leading slash; NULL where it lies elsewhere. */
static const char *behind(const char *name, const char *root)
{
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(name, root, n) != 0 || (name[n] != '\0' && name[n] != '/'))
		return NULL;
	return strcmp(name + n, "/") == 0 ? "" : name + n;
}

static bool join(const char *where, const char *rest, char *ret_path, size_t size)
{
	int n = snprintf(ret_path, size, "%s%s", strcmp(where, "/") == 0 && *rest != '\0' ? "" : where, rest);

	return n > 0 && (size_t)n < size;
}

bool location_candidate(const char *cgroup, const char *mountinfo, size_t n, char *ret_path, size_t size)
{
	char name[PATH_MAX];
	char root[PATH_MAX];
	char where[PATH_MAX];

	if (!own_name(cgroup, name, sizeof name))
		return false;
	for (const char *line = mountinfo; line != NULL && *line != '\0';) {
		const char *rest = NULL;

		if (parse_mount(line, root, where, sizeof root))
			rest = behind(name, root);
		if (rest != NULL && !climbs(rest) && n-- == 0)
			return join(where, rest, ret_path, size);
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return false;
}
