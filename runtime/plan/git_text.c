/*
 * A checkout whose `.git` is a file has its data elsewhere. Which texts lead there, and back, is git's format; here it
 * is only read, and only in the forms that git itself writes.
 *
 * Threat: a `.git` file is content of the workspace, written by whoever wrote there. Nothing is guessed: a NUL, a
 * second line, an escape that git would not write, or a text that is too long names nothing.
 */
#include "runtime/plan/git_text.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char git_file_start[] = "gitdir: ";

/* One line, with or without its end. git takes CR for an end, too. */
static const char *take_line(struct arena *arena, const char *text, size_t size)
{
	while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
		size--;
	if (size == 0 || size >= PATH_MAX || memchr(text, '\0', size) != NULL || memchr(text, '\n', size) != NULL ||
		memchr(text, '\r', size) != NULL)
		return NULL;
	return arena_strndup(arena, text, size);
}

const char *git_text_git_file(struct arena *arena, const char *text, size_t size)
{
	size_t start = strlen(git_file_start);

	if (size < start || memcmp(text, git_file_start, start) != 0)
		return NULL;
	return take_line(arena, text + start, size - start);
}

const char *git_text_path(struct arena *arena, const char *text, size_t size)
{
	return take_line(arena, text, size);
}

/* A configuration while it is read. */
struct reader {
	const char *at, *end;
	char value[PATH_MAX];
	size_t size;
	bool wrong;
};

static int peek(const struct reader *reader)
{
	return reader->at < reader->end ? (unsigned char)*reader->at : -1;
}

static int next(struct reader *reader)
{
	int c = peek(reader);

	if (c >= 0)
		reader->at++;
	return c;
}

static void skip_blanks(struct reader *reader)
{
	while (peek(reader) == ' ' || peek(reader) == '\t' || peek(reader) == '\r')
		reader->at++;
}

static void skip_line(struct reader *reader)
{
	int c;

	do
		c = next(reader);
	while (c >= 0 && c != '\n');
}

/* Behind "[": the name, and a subsection in quotes. True where it is [core]. */
static bool read_section(struct reader *reader)
{
	char name[8] = {0};
	size_t n = 0;
	bool bare = true;
	int c;

	for (c = next(reader); c >= 0 && c != ']' && c != '"' && c != '\n'; c = next(reader)) {
		if (n < sizeof name - 1)
			name[n++] = (char)c;
	}
	if (c == '"') {
		bare = false;
		for (c = next(reader); c >= 0 && c != '"' && c != '\n'; c = next(reader)) {
			if (c == '\\' && next(reader) < 0)
				break;
		}
		c = c == '"' ? next(reader) : -1;
	}
	reader->wrong |= c != ']';
	return bare && strcasecmp(name, "core") == 0;
}

static void put(struct reader *reader, int c)
{
	if (reader->size < sizeof reader->value - 1)
		reader->value[reader->size++] = (char)c;
	else
		reader->size = sizeof reader->value; /* too long: no path */
}

/* Behind a backslash. */
static void read_escape(struct reader *reader)
{
	int c = next(reader);

	if (c == '\n')
		return; /* goes on in the next line */
	if (c == '\\' || c == '"')
		put(reader, c);
	else if (c == 'n' || c == 't' || c == 'b')
		put(reader, '\n'); /* in no path that is taken */
	else
		reader->wrong = true;
}

/* Behind "=", to the end of the line. */
static void read_value(struct reader *reader)
{
	bool quoted = false;
	size_t kept = 0; /* without blanks at the end */
	int c;

	reader->size = 0;
	skip_blanks(reader);
	while ((c = next(reader)) >= 0 && c != '\n') {
		if (!quoted && (c == '#' || c == ';')) {
			skip_line(reader);
			break;
		}
		if (c == '"') {
			quoted = !quoted;
			kept = reader->size;
			continue;
		}
		if (c == '\\')
			read_escape(reader);
		else
			put(reader, c);
		if (quoted || c == '\\' || (c != ' ' && c != '\t' && c != '\r'))
			kept = reader->size;
	}
	reader->size = kept;
	reader->wrong |= quoted;
}

/* A name and what it is set to. True where it is "worktree". */
static bool read_variable(struct reader *reader)
{
	const char *name = reader->at;
	size_t size;

	while (isalnum(peek(reader)) || peek(reader) == '-')
		reader->at++;
	size = (size_t)(reader->at - name);
	reader->wrong |= size == 0;
	skip_blanks(reader);
	reader->size = 0;
	if (peek(reader) == '=') {
		reader->at++;
		read_value(reader);
	} else {
		reader->wrong |= peek(reader) >= 0 && peek(reader) != '\n' && peek(reader) != '#' && peek(reader) != ';';
		skip_line(reader);
	}
	return size == strlen("worktree") && strncasecmp(name, "worktree", size) == 0;
}

const char *git_text_worktree(struct arena *arena, const char *text, size_t size)
{
	struct reader reader = {.at = text, .end = text + size};
	const char *found = NULL;
	bool core = false;

	while (peek(&reader) >= 0 && !reader.wrong) {
		int c = peek(&reader);

		if (c == '[') {
			reader.at++;
			core = read_section(&reader);
		} else if (c == '#' || c == ';') {
			skip_line(&reader);
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			reader.at++;
		} else if (read_variable(&reader) && core) {
			reader.wrong |= found != NULL || reader.size >= sizeof reader.value;
			found = reader.wrong ? NULL : take_line(arena, reader.value, reader.size);
			reader.wrong |= found == NULL;
		}
	}
	return reader.wrong ? NULL : found;
}

/* The directory above, in place. */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL || path[1] == '\0')
		return false;
	slash[slash == path ? 1 : 0] = '\0';
	return true;
}

const char *git_text_resolve(struct arena *arena, const char *base, const char *path)
{
	bool relative = path[0] != '/';
	char *out = arena_strdup(arena, relative ? base : "/");

	for (bool down = !relative; out != NULL && *path != '\0'; path += strspn(path, "/")) {
		size_t size = strcspn(path, "/");
		bool up = size == 2 && path[0] == '.' && path[1] == '.';

		if (up && (down || !cut_last(out)))
			return NULL;
		if (size > 0 && !up && !(size == 1 && path[0] == '.')) {
			down = true;
			out = arena_printf(arena, "%s/%.*s", strcmp(out, "/") == 0 ? "" : out, (int)size, path);
		}
		path += size;
	}
	return out;
}
