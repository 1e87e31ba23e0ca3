/*
 * Comparing, matching and showing text.
 *
 * Texts come from policy files, command lines and the kernel, none of which is trusted to be short, printable or even
 * UTF-8. Matching backtracks to the last '*' only, so the worst case is a product and not a power. "Did you mean" looks
 * at short words only: nobody mistypes a word of a hundred letters, and the tables below stay on the stack.
 */
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 48 /* longest word that str_nearest looks at */

bool str_equal(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

bool str_starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_match(const char *pattern, const char *name)
{
	const char *after_star = NULL;
	const char *retry = NULL;

	while (*name != '\0') {
		if (*pattern == '*') {
			after_star = ++pattern;
			retry = name;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (after_star != NULL) {
			pattern = after_star; /* let the last star swallow one character more */
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool same_letter(char a, char b)
{
	return lower(a) == lower(b);
}

/*
 * Edit distance row by row; `before` is the row before `last`, for transpositions. The lengths are at most WORD_MAX.
 */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][WORD_MAX + 1] = {0};
	size_t *before = rows[0];
	size_t *last = rows[1];
	size_t *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t changed = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);

			row[j] = least(changed, least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[b_length];
}

/* One mistake in a short word, one for each three letters of a longer one, three at most. */
const char *str_nearest(const char *word, const char *const *words)
{
	size_t length = strlen(word);
	size_t allowed = length < 2 ? 0 : least((length + 2) / 3, 3);
	size_t nearest = allowed + 1;
	const char *found = NULL;

	if (length == 0 || length > WORD_MAX)
		return NULL;
	for (; *words != NULL; words++) {
		size_t candidate_length = strlen(*words);
		size_t distance;

		if (candidate_length > WORD_MAX)
			continue;
		distance = edit_distance(word, length, *words, candidate_length);
		if (distance < nearest && distance < candidate_length) {
			nearest = distance;
			found = *words;
		}
	}
	return found;
}

/*
 * Threat: text of a confined program that reaches a terminal. Beyond the ASCII controls, C1 controls (80..9F) drive
 * terminals too, and the bidirectional and invisible marks of U+200B..200F, U+2028..202E, U+2060..206F and U+FEFF make
 * a message read as what it is not.
 */
static bool is_deceptive(const unsigned char *s, size_t n)
{
	if (n == 1)
		return s[0] < 0x20 || s[0] == 0x7f || s[0] == '"' || s[0] == '\'' || s[0] == '\\';
	if (n == 2)
		return s[0] == 0xc2 && s[1] < 0xa0;
	if (n != 3)
		return false;
	if (s[0] == 0xe2 && s[1] == 0x80)
		return (s[2] >= 0x8b && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae);
	if (s[0] == 0xe2 && s[1] == 0x81)
		return s[2] >= 0xa0 && s[2] <= 0xaf;
	return s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf;
}

/* Writes the next character of s, as it is or escaped; returns the bytes read, and in *ret_written those written. */
static size_t show_char(const char *s, size_t left, char shown[20], size_t *ret_written)
{
	size_t n = str_utf8_char(s, left);

	if (n > 0 && !is_deceptive((const unsigned char *)s, n)) {
		memcpy(shown, s, n);
		*ret_written = n;
		return n;
	}
	n = n > 0 ? n : 1;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(shown + 4 * i, 5, "\\x%02x", (unsigned char)s[i]);
	*ret_written = 4 * n;
	return n;
}

const char *str_printable(const char *s, char *buf, size_t size)
{
	size_t left = s != NULL ? strlen(s) : 0;
	size_t used = 0;
	size_t cut = 0; /* where the dots would go */
	char shown[20];

	if (size == 0)
		return buf;
	while (left > 0) {
		size_t written = 0;
		size_t n = show_char(s, left, shown, &written);

		if (used + written >= size) {
			(void)snprintf(buf + cut, size - cut, "...");
			return buf;
		}
		memcpy(buf + used, shown, written);
		used += written;
		if (used + 3 < size)
			cut = used;
		s += n;
		left -= n;
	}
	buf[used] = '\0';
	return buf;
}
