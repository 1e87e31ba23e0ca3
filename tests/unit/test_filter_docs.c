/*
 * docs/seccomp.md says what the filters do: its tables are held equal to the groups and refusals here. On a difference
 * the wanted text is printed, to be put between the marks.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "seccomp/groups.h"
#include "seccomp/overlay.h"
#include "tests/unit/harness.h"

TestSuite(filter_docs, .fini = harness_leak_check);

#define DOCUMENT_SIZE_MAX 100000

static const char *access_words(enum group_access access)
{
	switch (access) {
	case GROUP_STRICT: return "`:strict`, `:default`";
	case GROUP_DEFAULT: return "`:default`";
	case GROUP_NESTED: return "nested namespaces";
	case GROUP_NEVER: return "-";
	case _GROUP_ACCESS_COUNT: break;
	}
	return "?";
}

static void groups_write(struct buf *text)
{
	buf_append_str(text, "| group | allowed under | else | calls |\n|---|---|---|---|\n");
	for (size_t i = 0; i < syscall_groups_n; i++)
		buf_printf(text, "| %s | %s | %s | %s |\n", syscall_groups[i].title,
			access_words(syscall_groups[i].access), error_errno_name(syscall_groups[i].refusal),
			syscall_groups[i].names);
}

static void refusals_write(struct buf *text, const struct overlay_rule *rules, size_t n)
{
	buf_append_str(text, "| calls | refused | answer |\n|---|---|---|\n");
	for (size_t i = 0; i < n; i++)
		buf_printf(text, "| %s | %s%s | %s |\n", rules[i].names, rules[i].n_tests == 0 ? "always: " : "",
			rules[i].what, error_errno_name(rules[i].refusal));
}

/* The text between "<!-- NAME -->" and "<!-- end -->". */
static char *section(const struct buf *document, const char *name)
{
	char mark[64];
	const char *start, *end;

	snprintf(mark, sizeof mark, "<!-- %s -->\n", name);
	start = strstr(buf_str(document), mark);
	cr_assert_not_null(start, "docs/seccomp.md has no mark \"%s\"", name);
	start += strlen(mark);
	end = strstr(start, "<!-- end -->");
	cr_assert_not_null(end, "section \"%s\" has no end", name);
	return strndup(start, (size_t)(end - start));
}

static void document_read(struct buf *document)
{
	struct error err = {0};
	int fd = open(DOCS_DIRECTORY, O_PATH | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0, DOCS_DIRECTORY ": %s", strerror(errno));
	harness_ok(fd_read_file(fd, "seccomp.md", DOCUMENT_SIZE_MAX, document, &err), &err);
	fd_close(fd);
}

static void expect_section(const char *name, const struct buf *wanted)
{
	cleanup_buf struct buf document = {0};
	cleanup_free char *found = NULL;

	document_read(&document);
	found = section(&document, name);
	cr_expect_str_eq(
		found, buf_str(wanted), "section \"%s\" of docs/seccomp.md should be:\n%s", name, buf_str(wanted));
}

Test(filter_docs, groups)
{
	cleanup_buf struct buf wanted = {0};

	groups_write(&wanted);
	expect_section("groups", &wanted);
}

Test(filter_docs, refusals)
{
	cleanup_buf struct buf wanted = {0};

	refusals_write(&wanted, overlay_rules, overlay_rules_n);
	expect_section("refusals", &wanted);
}

Test(filter_docs, refusals_with_namespaces)
{
	cleanup_buf struct buf wanted = {0};

	refusals_write(&wanted, overlay_namespace_rules, overlay_namespace_rules_n);
	expect_section("refusals with namespaces", &wanted);
}
