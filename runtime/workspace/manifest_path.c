/*
 * The rules of paths in a manifest. Each path has one spelling: what could be tidied ("a//b", "./a", "a/../b") is refused
 * instead, so that no two readers of a manifest can take one text for two places, and overlaps are seen by comparing.
 *
 * Threat: the manifest was written by somebody else. A name that is harmless here may be a path elsewhere: backslashes
 * and drive letters are refused because workspaces are packed up and carried to other systems.
 */
#include "runtime/workspace/manifest_path.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"
#include "runtime/workspace/manifest.h"

#define FAULT(why, says)                        \
	(struct manifest_fault)                 \
	{                                       \
		.reason = (why), .text = (says) \
	}
#define FINE ((struct manifest_fault){0})

static bool has_drive_letter(const char *path)
{
	return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) && path[1] == ':';
}

static struct manifest_fault part_fault(const char *part, size_t length, const char *upward)
{
	if (length == 0)
		return FAULT("empty_part", "an empty part: a slash too many");
	if (length > NAME_MAX)
		return FAULT("too_long", "a part is longer than a name can be");
	if (length == 1 && part[0] == '.')
		return FAULT("dot_part", "\".\" names nothing here");
	if (length == 2 && part[0] == '.' && part[1] == '.')
		return FAULT(upward, "\"..\" leads upward");
	return FINE;
}

/* What a place in the workspace and one in a repository have in common. */
static struct manifest_fault relative_fault(const char *path, const char *upward)
{
	if (path[0] == '/')
		return FAULT("absolute", "it is absolute");
	if (has_drive_letter(path))
		return FAULT("absolute", "it begins with a drive letter");
	if (strchr(path, '\\') != NULL)
		return FAULT("windows_path", "it has a backslash in it");
	if (strlen(path) >= PATH_MAX)
		return FAULT("too_long", "longer than a path can be");
	for (const char *part = path;; part++) {
		size_t length = strcspn(part, "/");
		struct manifest_fault fault = part_fault(part, length, upward);

		if (fault.reason != NULL)
			return fault;
		part += length;
		if (*part == '\0')
			return FINE;
	}
}

struct manifest_fault manifest_destination_fault(const char *path)
{
	if (path[0] == '\0')
		return FAULT("empty", "it is empty");
	return relative_fault(path, "escape_root");
}

bool manifest_subpath_is_root(const char *path)
{
	return path[0] == '\0' || strcmp(path, ".") == 0;
}

struct manifest_fault manifest_subpath_fault(const char *path)
{
	if (manifest_subpath_is_root(path))
		return FINE;
	if (path[strspn(path, " \t\r\n")] == '\0')
		return FAULT("empty", "it is blank");
	return relative_fault(path, "parent_traversal");
}

struct manifest_fault manifest_source_fault(const char *path)
{
	if (path[0] == '\0')
		return FAULT("empty", "it is empty");
	if (strlen(path) >= PATH_MAX)
		return FAULT("too_long", "longer than a path can be");
	return FINE;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/* Threat: git takes a word that begins with '-' as an option, wherever it stands. The rest is git's own rule of names,
 * which also keeps out ranges and expressions of revisions. */
struct manifest_fault manifest_ref_fault(const char *ref)
{
	if (ref[0] == '\0')
		return FAULT("empty", "it is empty");
	if (strlen(ref) > NAME_MAX)
		return FAULT("too_long", "longer than a name can be");
	if (ref[0] == '-')
		return FAULT("option", "it begins with '-'");
	for (const char *at = ref; *at != '\0'; at++)
		if (is_control(*at) || strchr(" ~^:?*[\\", *at) != NULL)
			return FAULT("not_a_ref", "no name of a branch, tag or commit has such a character");
	if (strstr(ref, "..") != NULL || strstr(ref, "@{") != NULL || strstr(ref, "//") != NULL || ref[0] == '/')
		return FAULT("not_a_ref", "not the name of a branch, tag or commit");
	return FINE;
}

bool manifest_mode_parse(const char *text, mode_t *ret_mode)
{
	if (strlen(text) != 4 || text[0] != '0' || strspn(text, "01234567") != 4)
		return false;
	*ret_mode = (mode_t)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
	return true;
}

bool manifest_path_is_within(const char *path, const char *above)
{
	size_t length = strlen(above);

	return strncmp(path, above, length) == 0 && (path[length] == '\0' || path[length] == '/');
}
