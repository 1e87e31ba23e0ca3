/*
 * The enforcement table for people: features, limits, warnings, and the verdict at the end, where a terminal stops
 * scrolling. Columns are as wide as their widest word. What holds in part or not at all is followed by indented lines
 * that say why and what would mend it; an enforced row may have a note.
 *
 * States are words, always. On a terminal (color) they are coloured, and led by a mark where the environment says that
 * UTF-8 is spoken, so that a lack is seen before it is read.
 *
 * Threat: reasons and warnings may hold names of files that somebody hostile chose. Control characters, and all bytes
 * beyond ASCII of a text that is not UTF-8, are written as \xNN: no escape sequence reaches the terminal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "runtime/plan/enforcement.h"

#define TEXT_COLUMNS 100 /* where lines of prose are broken */
#define NOTE_INDENT  "      "
#define COLOR_RESET  "\033[0m"

struct look {
	bool color;
	bool marks;
	int name, value, state, mechanism; /* column widths */
};

struct state_look {
	const char *mark, *color;
};

static const struct state_look state_looks[_ROW_STATE_COUNT] = {
	[ROW_OFF] = {"-", "\033[2m"},
	[ROW_ENFORCED] = {"\u2713", "\033[32m"},
	[ROW_DEGRADED] = {"~", "\033[33m"},
	[ROW_UNENFORCEABLE] = {"\u2717", "\033[31m"},
};

static bool environment_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
	}
	return false;
}

/* Both forms of control characters: the bytes below 0x20 and 0x7f, and U+0080 to U+009F. */
static bool must_escape(const unsigned char *at, bool utf8)
{
	if (*at < 0x20 || *at == 0x7f)
		return true;
	return *at >= 0x80 && (!utf8 || (*at == 0xc2 && at[1] < 0xa0));
}

static void append_plain(struct buf *buf, const char *s)
{
	bool utf8 = str_utf8_valid(s, strlen(s));

	for (const unsigned char *at = (const unsigned char *)s; *at != '\0'; at++) {
		if (!must_escape(at, utf8))
			buf_append_char(buf, (char)*at);
		else if (*at == 0xc2 && utf8)
			buf_printf(buf, "\\x%02x", *++at);
		else
			buf_printf(buf, "\\x%02x", *at);
	}
}

static size_t columns_of(const char *s, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* Words of `s` behind `label`, broken at spaces; the following lines begin where the first one's text does. */
static void append_prose(struct buf *out, const char *indent, const char *label, const char *s)
{
	cleanup_buf struct buf plain = {0};
	size_t margin = strlen(indent) + strlen(label);
	size_t column = margin;

	append_plain(&plain, s);
	if (plain.failed)
		out->failed = true;
	buf_printf(out, "%s%s", indent, label);
	for (const char *word = buf_str(&plain); *word != '\0';) {
		size_t size = strcspn(word, " ");
		size_t width = columns_of(word, size);

		if (column > margin && column + 1 + width > TEXT_COLUMNS) {
			buf_printf(out, "\n%*s", (int)margin, "");
			column = margin;
		} else if (column > margin) {
			buf_append_char(out, ' ');
			column++;
		}
		buf_append(out, word, size);
		column += width;
		word += size + strspn(word + size, " ");
	}
	buf_append_char(out, '\n');
}

static const char *format_asked(const struct enforcement_row *row, char *buf, size_t size)
{
	if (!row->has_asked)
		return "none";
	if (str_equal(row->unit, "bytes") && row->asked < 1.8e19)
		return str_format_size((uint64_t)row->asked, buf, size);
	if (str_equal(row->unit, "ns") && row->asked < 1.8e19)
		return str_format_time((uint64_t)row->asked, buf, size);
	(void)snprintf(buf, size, "%.10g", row->asked);
	return buf;
}

static void widen(int *column, const char *word)
{
	if (word != NULL && (int)strlen(word) > *column)
		*column = (int)strlen(word);
}

static struct look measure(const struct enforcement *enforcement, bool color)
{
	struct look look = {.color = color, .marks = color && environment_is_utf8()};
	char value[64];

	for (size_t i = 0; i < enforcement->n_rows; i++) {
		const struct enforcement_row *row = &enforcement->rows[i];

		widen(&look.name, row->name);
		widen(&look.state, row_state_name(row->state));
		widen(&look.mechanism, row->mechanism);
		if (row->limit)
			widen(&look.value, format_asked(row, value, sizeof value));
	}
	return look;
}

static void append_state(struct buf *buf, const struct look *look, enum row_state state, int width)
{
	const struct state_look *how = &state_looks[state];

	buf_printf(buf, "%s%-*s%s", look->color ? how->color : "", width, row_state_name(state),
		look->color ? COLOR_RESET : "");
}

static void append_mark(struct buf *buf, const struct look *look, enum row_state state)
{
	if (look->marks)
		buf_printf(buf, "%s%s%s ", state_looks[state].color, state_looks[state].mark, COLOR_RESET);
}

static void trim_end(struct buf *buf)
{
	while (buf->size > 0 && buf->data[buf->size - 1] == ' ')
		buf->data[--buf->size] = '\0';
}

/* "kernel, tree": who holds it and over what. Nothing for rows that hold nothing. */
static void append_hold(struct buf *buf, const struct enforcement_row *row)
{
	const char *strength = row_strength_name(row->strength);
	const char *scope = row_scope_name(row->scope);

	if (strength != NULL)
		buf_append_str(buf, strength);
	if (strength != NULL && scope != NULL)
		buf_append_str(buf, ", ");
	if (scope != NULL)
		buf_append_str(buf, scope);
}

static void append_row(struct buf *buf, const struct look *look, const struct enforcement_row *row)
{
	char value[64];

	buf_append_str(buf, "  ");
	append_mark(buf, look, row->state);
	buf_printf(buf, "%-*s  ", look->name, row->name);
	if (row->limit)
		buf_printf(buf, "%*s  ", look->value, format_asked(row, value, sizeof value));
	append_state(buf, look, row->state, look->state);
	buf_printf(buf, "  %-*s  ", look->mechanism, row->mechanism == NULL ? "" : row->mechanism);
	append_hold(buf, row);
	trim_end(buf);
	buf_append_char(buf, '\n');
	if (row->reason != NULL)
		append_prose(buf, NOTE_INDENT, row->state >= ROW_DEGRADED ? "why: " : "note: ", row->reason);
	if (row->fix != NULL)
		append_prose(buf, NOTE_INDENT, "fix: ", row->fix);
}

static void append_rows(struct buf *buf, const struct look *look, const struct enforcement *enforcement, bool limit)
{
	bool first = true;

	for (size_t i = 0; i < enforcement->n_rows; i++) {
		if (enforcement->rows[i].limit != limit)
			continue;
		if (first)
			buf_append_str(buf, limit ? "\nLimits\n" : "\nFeatures\n");
		first = false;
		append_row(buf, look, &enforcement->rows[i]);
	}
}

static void append_warnings(struct buf *buf, const struct enforcement *enforcement)
{
	if (enforcement->n_warnings > 0)
		buf_append_str(buf, "\nWarnings\n");
	for (size_t i = 0; i < enforcement->n_warnings; i++)
		append_prose(buf, "  ", "", enforcement->warnings[i]);
}

static void append_names(struct buf *buf, const struct enforcement *enforcement, enum row_state state)
{
	const char *separator = "";

	for (size_t i = 0; i < enforcement->n_rows; i++) {
		const struct enforcement_row *row = &enforcement->rows[i];

		if (row->state != state)
			continue;
		buf_printf(buf, "%s%s%s", separator, row->limit ? "limits." : "", row->name);
		separator = ", ";
	}
}

static void append_verdict(struct buf *buf, const struct look *look, const struct enforcement *enforcement)
{
	enum row_state verdict = enforcement_verdict(enforcement);
	cleanup_buf struct buf names = {0};

	append_names(&names, enforcement, verdict);
	if (names.failed)
		buf->failed = true;
	buf_append_str(buf, "\nVerdict: ");
	append_state(buf, look, verdict, 0);
	if (verdict == ROW_DEGRADED)
		buf_printf(buf, "; holds in part: %s", buf_str(&names));
	else if (verdict == ROW_UNENFORCEABLE)
		buf_printf(buf, "; a strict run is refused because of: %s", buf_str(&names));
	else if (enforcement->isolated)
		buf_append_str(buf, "; all that was asked holds");
	buf_append_str(buf, enforcement->isolated ? "\n" : "; but nothing is isolated\n");
}

int enforcement_text(const struct enforcement *enforcement, bool color, char **ret_text, struct error *err)
{
	cleanup_buf struct buf buf = {0};
	struct look look = measure(enforcement, color);
	char *text;

	buf_printf(&buf, "Backend %s on Linux %s, %s\n", enforcement->backend, enforcement->kernel,
		enforcement->isolated ? "isolated" : "not isolated");
	append_rows(&buf, &look, enforcement, false);
	append_rows(&buf, &look, enforcement, true);
	append_warnings(&buf, enforcement);
	append_verdict(&buf, &look, enforcement);
	if (buf_check(&buf, err) < 0)
		return -1;
	text = buf_steal(&buf);
	if (text == NULL)
		return error_no_memory(err);
	*ret_text = text;
	return 0;
}
