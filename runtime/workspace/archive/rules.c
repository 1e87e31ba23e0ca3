/*
 * The rules, in words: docs/archives.md.
 *
 * Threat: a name that means one thing to whoever checks it and another to whoever opens it. So a name is taken apart
 * once, what is odd is refused rather than mended, and only the tidy path goes on: no part of it is "." or "..", it has
 * no empty part, and it does not begin with "/". Bytes are bytes; no character set is asked.
 */
#include "runtime/workspace/archive/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define SHOWN_MAX 160

static int refuse_at(struct error *err, enum error_code code, const char *member, const char *text)
{
	char shown[SHOWN_MAX];

	(void)error_set(err, code, "archive", "member \"%s\": %s", str_printable(member, shown, sizeof shown), text);
	error_add_context(err, "member", shown);
	return -1;
}

int rules_refuse(struct error *err, const char *member, const char *fmt, ...)
{
	char text[240];
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(text, sizeof text, fmt, args) < 0)
		text[0] = '\0';
	va_end(args);
	return refuse_at(err, ERROR_WORKSPACE_ARCHIVE_WRITE, member, text);
}

int rules_refuse_limit(struct error *err, const char *limit, unsigned long long most, unsigned long long actual,
	const char *member, const char *what)
{
	char text[240], number[24];

	(void)snprintf(text, sizeof text, "%s: %llu, and at most %llu (%s)", what, actual, most, limit);
	(void)refuse_at(err, ERROR_LIMIT, member, text);
	error_add_context(err, "limit", limit);
	(void)snprintf(number, sizeof number, "%llu", most);
	error_add_context(err, "most", number);
	(void)snprintf(number, sizeof number, "%llu", actual);
	error_add_context(err, "actual", number);
	return -1;
}

static bool has_drive_letter(const char *name)
{
	return ((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z')) && name[1] == ':';
}

static int judge_whole(const char *name, struct error *err)
{
	size_t size = strlen(name);

	if (size == 0)
		return rules_refuse(err, name, "the name is empty");
	if (size >= MEMBER_NAME_MAX)
		return rules_refuse_limit(err, "name", MEMBER_NAME_MAX - 1, size, name, "bytes of its name");
	if (name[0] == '/')
		return rules_refuse(err, name, "the name is absolute");
	if (has_drive_letter(name))
		return rules_refuse(err, name, "the name begins with a drive letter");
	if (strchr(name, '\\') != NULL)
		return rules_refuse(err, name, "there is a backslash in the name");
	return 0;
}

static int judge_part(const char *name, const char *part, size_t size, struct error *err)
{
	if (size == 2 && part[0] == '.' && part[1] == '.')
		return rules_refuse(err, name, "there is a \"..\" in the name");
	if (size > MEMBER_PART_MAX)
		return rules_refuse_limit(err, "name part", MEMBER_PART_MAX, size, name, "bytes of a part of its name");
	return 0;
}

int rules_judge_name(const char *name, unsigned strip, struct member_name *ret_name, struct error *err)
{
	size_t used = 0, parts = 0;

	if (judge_whole(name, err) < 0)
		return -1;
	for (const char *at = name; *at != '\0'; at += strspn(at, "/")) {
		size_t size = strcspn(at, "/");
		bool counts = !(size == 1 && at[0] == '.');

		if (judge_part(name, at, size, err) < 0)
			return -1;
		parts += counts;
		if (counts && parts > strip) {
			if (used > 0)
				ret_name->path[used++] = '/';
			memcpy(ret_name->path + used, at, size);
			used += size;
		}
		at += size;
	}
	if (parts > MEMBER_DEPTH_MAX)
		return rules_refuse_limit(err, "depth", MEMBER_DEPTH_MAX, parts, name, "directories deep");
	ret_name->path[used] = '\0';
	if (has_drive_letter(ret_name->path))
		return rules_refuse(err, name, "what is left of the name begins with a drive letter");
	ret_name->depth = parts > strip ? parts - strip : 0;
	ret_name->slash = name[strlen(name) - 1] == '/';
	ret_name->stripped = strip > 0 && parts <= strip;
	return 0;
}

mode_t rules_file_mode(mode_t mode)
{
	mode_t kept = mode & 0755;

	return ((mode & 0100) != 0 ? kept : kept & ~(mode_t)0111) | 0600;
}

mode_t rules_directory_mode(mode_t mode)
{
	return rules_file_mode(mode) | 0700;
}
