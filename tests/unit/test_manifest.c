/* Texts of manifests: the exact message and place of each mistake, and what each form means. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "runtime/workspace/manifest.h"
#include "tests/unit/harness.h"

TestSuite(manifest, .fini = harness_leak_check, .timeout = 60);

static int parse(const char *text, struct manifest **ret, struct diag *diag, struct error *err)
{
	return manifest_parse(text, strlen(text), "m", ret, diag, err);
}

/* The manifest whose entries are written here. */
static char *with_entries(const char *entries)
{
	char *text = NULL;

	cr_assert_geq(asprintf(&text, "{\"version\": 1, \"entries\": {%s}}", entries), 0);
	return text;
}

static void expect_refusal(const char *text, const char *message, const char *code, const char *reason)
{
	struct manifest *manifest = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	cr_assert_lt(parse(text, &manifest, &diag, &err), 0, "taken: %s", text);
	cr_expect_eq(diag.n_errors, 1, "%zu mistakes in %s", diag.n_errors, text);
	cr_expect_str_eq(err.text, message, "%s\n  gives %s", text, err.text);
	cr_expect_str_eq(error_code_name(err.code), code, "%s", text);
	if (reason != NULL) {
		cr_assert_eq(err.n_context, 2, "%s", text);
		cr_expect_str_eq(err.context[0].key, "reason");
		cr_expect_str_eq(err.context[0].value, reason, "%s", text);
		cr_expect_str_eq(err.context[1].key, "path");
	}
}

/* Each text has one mistake. */
static const struct {
	const char *text, *message;
} bad_texts[] = {
	{"[]", "m:1:1: expected an object, found a list"},
	{"{}", "m:1:1: \"version\" is missing; this is version 1"},
	{"{\"version\": 2}", "m:1:2: version: version 2 is not known; this is version 1"},
	{"{\"version\": 1.0}", "m:1:2: version: expected 1, found a number"},
	{"{\"version\": 1, \"entires\": {}}", "m:1:16: entires: unknown key; did you mean \"entries\"?"},
	{"{\"version\": 1, \"entries\": []}", "m:1:16: entries: expected an object, found a list"},
	{"{\"version\": 1, \"root\": \"/\"}", "m:1:16: root: unknown key"},
	{"{\"version\": 1, \"extra_path_grants\": [\"/srv\"]}",
		"m:1:16: extra_path_grants: a manifest grants nothing: what lies outside the base directory is granted by the "
		"caller, with --grant PATH[:ro] or a policy"},
	{"{\"version\": 1, \"extra_path_grants\": null}",
		"m:1:16: extra_path_grants: a manifest grants nothing: what lies outside the base directory is granted by the "
		"caller, with --grant PATH[:ro] or a policy"},
	{"{\"version\": 1, \"users\": [\"a\"]}",
		"m:1:16: users: not supported: a workspace belongs to who materializes it"},
	{"{\"version\": 1, \"environment\": {\"A=B\": \"\"}}",
		"m:1:32: environment.A=B: the name of a variable is not empty and has no '='"},
	{"{\"version\": 1, \"environment\": {\"A\": 1}}",
		"m:1:32: environment.A: expected a string, or an object with \"from\"; found a number"},
	{"{\"version\": 1, \"environment\": {\"A\": {}}}", "m:1:32: environment.A: \"from\" is missing"},
	{"{\"version\": 1, \"environment\": {\"A\": {\"form\": \"fd:3\", \"from\": \"fd:3\"}}}",
		"m:1:38: environment.A.form: unknown key; did you mean \"from\"?"},
	{"{\"version\": 1, \"environment\": {\"A\": {\"from\": \"hunter2\"}}}",
		"m:1:38: environment.A.from: unknown reference; there are: fd:N, file:PATH, env:NAME"},
	{"{\"version\": 1, \"environment\": {\"A\": {\"from\": \"fd:-1\"}}}",
		"m:1:38: environment.A.from: expected \"fd:N\" with the number of an open descriptor"},
	{"{\"version\": 1, \"environment\": {\"A\": {\"from\": \"env:\"}}}",
		"m:1:38: environment.A.from: expected \"env:NAME\" with the name of a variable"},
	{"{\"version\": 1, \"environment\": {\"A\": {\"from\": \"file:\"}}}",
		"m:1:38: environment.A.from: expected \"file:PATH\""},
};

static const struct {
	const char *entries, *message;
} bad_entries[] = {
	{"\"a\": 1", "m:1:28: entries.a: expected an object, found a number"},
	{"\"a\": {}", "m:1:28: entries.a: \"type\" is missing"},
	{"\"a\": {\"type\": \"fiel\", \"content\": \"\"}",
		"m:1:34: entries.a.type: unknown type \"fiel\"; did you mean \"file\"?; there are: file, dir, local_file, "
		"local_dir, git_repo, archive"},
	{"\"a\": {\"type\": \"s3_mount\"}",
		"m:1:34: entries.a.type: entries of type \"s3_mount\" are not supported: nothing is mounted into a workspace"},
	{"\"a\": {\"type\": \"file\"}", "m:1:28: entries.a: \"content\" is missing"},
	{"\"a\": {\"type\": \"file\", \"content\": 1}", "m:1:50: entries.a.content: expected a string, found a number"},
	{"\"a\": {\"type\": \"file\", \"contnet\": \"\", \"content\": \"\"}",
		"m:1:50: entries.a.contnet: unknown key; did you mean \"content\"?"},
	{"\"a\": {\"type\": \"dir\", \"content\": \"\"}",
		"m:1:49: entries.a.content: an entry of type \"dir\" has no such key"},
	{"\"a\": {\"type\": \"file\", \"content\": \"x\", \"encoding\": \"base64\"}",
		"m:1:66: entries.a.encoding: the content is not base64 (RFC 4648, padded, without line breaks)"},
	{"\"a\": {\"type\": \"file\", \"content\": \"x\", \"encoding\": \"latin-1\"}",
		"m:1:66: entries.a.encoding: an encoding is \"utf-8\" or \"base64\""},
	{"\"a\": {\"type\": \"dir\", \"ephemeral\": 1}",
		"m:1:49: entries.a.ephemeral: expected true or false, found a number"},
	{"\"a\": {\"type\": \"local_file\"}", "m:1:28: entries.a: \"src\" is missing"},
	{"\"a\": {\"type\": \"local_file\", \"src\": \"\"}", "m:1:56: entries.a.src: \"\": it is empty"},
	{"\"a\": {\"type\": \"local_dir\", \"src\": \"x\", \"exclude\": \"*.o\"}",
		"m:1:67: entries.a.exclude: expected a list, found a string"},
	{"\"a\": {\"type\": \"local_dir\", \"src\": \"x\", \"exclude\": [\"\"]}",
		"m:1:79: entries.a.exclude[0]: an empty pattern"},
	{"\"a\": {\"type\": \"git_repo\", \"repo\": \"--upload-pack=x\"}",
		"m:1:54: entries.a.repo: \"--upload-pack=x\": it begins with '-'"},
	{"\"a\": {\"type\": \"git_repo\", \"repo\": \"x\", \"ref\": \"--x\"}",
		"m:1:67: entries.a.ref: \"--x\": it begins with '-'"},
	{"\"a\": {\"type\": \"archive\", \"src\": \"x\", \"strip_components\": -1}",
		"m:1:65: entries.a.strip_components: -1 is not between 0 and 255"},
	{"\"a\": {\"type\": \"archive\", \"src\": \"x\", \"strip_components\": 1.5}",
		"m:1:65: entries.a.strip_components: expected a whole number, found a number"},
};

Test(manifest, tells_each_mistake_with_its_place)
{
	for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++)
		expect_refusal(bad_texts[i].text, bad_texts[i].message, "sandbox_config_invalid", NULL);
	for (size_t i = 0; i < sizeof bad_entries / sizeof *bad_entries; i++) {
		cleanup_free char *text = with_entries(bad_entries[i].entries);

		expect_refusal(text, bad_entries[i].message, "sandbox_config_invalid", NULL);
	}
}

#define EMPTY "{\"type\": \"file\", \"content\": \"\"}"

/* Places that cannot be, alone and as a child. */
static const struct {
	const char *key, *reason, *text;
} bad_places[] = {
	{"", "empty", "\"\": it is empty"},
	{"/etc/x", "absolute", "\"/etc/x\": it is absolute"},
	{"..", "escape_root", "\"..\": \"..\" leads upward"},
	{"../x", "escape_root", "\"../x\": \"..\" leads upward"},
	{"a/../b", "escape_root", "\"a/../b\": \"..\" leads upward"},
	{"a/../../x", "escape_root", "\"a/../../x\": \"..\" leads upward"},
	{"a/..", "escape_root", "\"a/..\": \"..\" leads upward"},
	{".", "dot_part", "\".\": \".\" names nothing here"},
	{"./a", "dot_part", "\"./a\": \".\" names nothing here"},
	{"a/", "empty_part", "\"a/\": an empty part: a slash too many"},
	{"a//b", "empty_part", "\"a//b\": an empty part: a slash too many"},
	{"C:\\\\x", "absolute", "\"C:\\x5cx\": it begins with a drive letter"},
	{"c:x", "absolute", "\"c:x\": it begins with a drive letter"},
	{"a\\\\b", "windows_path", "\"a\\x5cb\": it has a backslash in it"},
};

Test(manifest, refuses_places_outside)
{
	for (size_t i = 0; i < sizeof bad_places / sizeof *bad_places; i++) {
		cleanup_free char *alone = NULL, *nested = NULL, *text = NULL, *message = NULL;
		const char *shown = strchr(bad_places[i].text, '"');
		cleanup_free char *name = NULL;

		/* The name of the place is the key as it is shown in the message. */
		cr_assert_not_null(shown);
		name = strndup(shown + 1, (size_t)(strstr(shown + 1, "\": ") - shown - 1));
		cr_assert_geq(asprintf(&alone, "\"%s\": " EMPTY, bad_places[i].key), 0);
		cr_assert_geq(asprintf(&nested, "\"d\": {\"type\": \"dir\", \"children\": {\"%s\": " EMPTY "}}",
				      bad_places[i].key),
			0);
		text = with_entries(alone);
		cr_assert_geq(asprintf(&message, "m:1:28: entries.%s: %s", name, bad_places[i].text), 0);
		expect_refusal(text, message, "invalid_manifest_path", bad_places[i].reason);
		free(text);
		free(message);
		text = with_entries(nested);
		cr_assert_geq(asprintf(&message, "m:1:62: entries.d.children.%s: %s", name, bad_places[i].text), 0);
		expect_refusal(text, message, "invalid_manifest_path", bad_places[i].reason);
	}
}

/* n parts of 200 characters each, "nnn/nnn". */
static void append_parts(struct buf *path, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_printf(path, "%s%0200d", i > 0 ? "/" : "", 0);
}

static void expect_too_long(const char *entries)
{
	cleanup_free char *text = with_entries(entries);
	struct manifest *manifest = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	cr_assert_lt(parse(text, &manifest, &diag, &err), 0);
	cr_expect_str_eq(err.context[0].value, "too_long");
}

Test(manifest, refuses_places_that_are_too_long)
{
	cleanup_buf struct buf entries = {0};

	buf_printf(&entries, "\"%0256d\": " EMPTY, 0);
	expect_too_long(buf_str(&entries));
	/* A child is judged by its whole path, though either part of it is short enough. */
	buf_reset(&entries);
	buf_append_char(&entries, '"');
	append_parts(&entries, 12);
	buf_append_str(&entries, "\": {\"type\": \"dir\", \"children\": {\"");
	append_parts(&entries, 9);
	buf_append_str(&entries, "\": " EMPTY "}}");
	expect_too_long(buf_str(&entries));
}

Test(manifest, refuses_two_for_one_place)
{
	static const struct {
		const char *entries, *message;
	} rows[] = {
		{"\"a/b\": " EMPTY ", \"a\": {\"type\": \"dir\", \"children\": {\"b\": " EMPTY "}}",
			"m:1:102: entries.a.children.b: there is another entry for the same path (m:1:28: entries.a/b)"},
		{"\"a\": " EMPTY ", \"a/b\": " EMPTY,
			"m:1:66: entries.a/b: it would lie below an entry that is a file (m:1:28: entries.a)"},
		{"\"a/b\": " EMPTY ", \"a\": " EMPTY,
			"m:1:28: entries.a/b: it would lie below an entry that is a file (m:1:68: entries.a)"},
		{"\"a/b/c/d\": " EMPTY ", \"a-b\": " EMPTY ", \"a\": " EMPTY,
			"m:1:28: entries.a/b/c/d: it would lie below an entry that is a file (m:1:112: entries.a)"},
		{"\"a/b\": " EMPTY ", \"a\": {\"type\": \"dir\", \"ephemeral\": true}",
			"m:1:28: entries.a/b: an ephemeral directory that it lies in is made anew behind it: put that first "
			"(m:1:68: entries.a)"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cleanup_free char *text = with_entries(rows[i].entries);

		expect_refusal(text, rows[i].message, "invalid_manifest_path", "overlap");
	}
}

Test(manifest, takes_one_form_of_modes)
{
	static const char *const bad[] = {"\"644\"", "420", "644", "33188", "\"4755\"", "\"04755\"", "-1", "1e3",
		"\"0888\"", "\"0o644\"", "\"rw-r--r--\"", "null", "\"\"", "\"00644\"", "\"+644\"", "\" 644\"",
		"\"064\\n\""};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cleanup_free char *entry = NULL, *text = NULL;
		struct manifest *manifest = NULL;
		cleanup_diag struct diag diag = {0};
		struct error err = {0};

		cr_assert_geq(
			asprintf(&entry, "\"a\": {\"type\": \"file\", \"content\": \"\", \"mode\": %s}", bad[i]), 0);
		text = with_entries(entry);
		cr_assert_lt(parse(text, &manifest, &diag, &err), 0, "taken: %s", bad[i]);
		cr_expect(strstr(err.text, "entries.a.mode: ") != NULL, "%s", err.text);
		cr_expect(strstr(err.text, "0644") != NULL, "%s", err.text);
	}
}

static const char whole[] =
	"{ \"version\": 1, // so\n"
	"  \"entries\": {\n"
	"    \"README.md\": {\"type\": \"file\", \"content\": \"t\\u00e9xt\", \"mode\": \"0600\"},\n"
	"    \"raw\": {\"type\": \"file\", \"encoding\": \"base64\", \"content\": \"AAH/\"},\n"
	"    \"src\": {\"type\": \"dir\", \"children\": {\"a.py\": {\"type\": \"file\", \"content\": \"\"}, \"sub/b\": {\"type\": \"dir\"}}},\n"
	"    \"data.csv\": {\"type\": \"local_file\", \"src\": \"data.csv\"},\n"
	"    \"lib\": {\"type\": \"local_dir\", \"src\": \"../lib\", \"exclude\": [\"*.o\"], \"description\": \"d\"},\n"
	"    \"repo\": {\"type\": \"git_repo\", \"repo\": \"/srv/git/x.git\", \"ref\": \"main\", \"subpath\": \".\"},\n"
	"    \"vendor\": {\"type\": \"archive\", \"src\": \"v.tar.zst\", \"strip_components\": 1},\n"
	"    \"scratch\": {\"type\": \"dir\", \"ephemeral\": true, \"children\": {\"x\": {\"type\": \"dir\"}}},\n"
	"    \"scratch/y\": {\"type\": \"dir\",},\n"
	"  },\n"
	"  \"extra_path_grants\": [], \"users\": [],\n"
	"  \"environment\": {\"CI\": \"1\", \"TOKEN\": {\"from\": \"fd:3\"}, \"F\": {\"from\": \"file:a b\"}, \"E\": {\"from\": \"env:X\"}} }";

Test(manifest, keeps_what_was_said)
{
	static const struct {
		enum manifest_type type;
		const char *path;
		mode_t mode;
		bool ephemeral;
	} rows[] = {
		{MANIFEST_FILE, "README.md", 0600, false},
		{MANIFEST_FILE, "raw", 0644, false},
		{MANIFEST_DIR, "src", 0755, false},
		{MANIFEST_FILE, "src/a.py", 0644, false},
		{MANIFEST_DIR, "src/sub/b", 0755, false},
		{MANIFEST_LOCAL_FILE, "data.csv", 0644, false},
		{MANIFEST_LOCAL_DIR, "lib", 0755, false},
		{MANIFEST_GIT_REPO, "repo", 0755, false},
		{MANIFEST_ARCHIVE, "vendor", 0755, false},
		{MANIFEST_DIR, "scratch", 0755, true},
		{MANIFEST_DIR, "scratch/x", 0755, true},
		{MANIFEST_DIR, "scratch/y", 0755, true},
	};
	cleanup_with(manifest_freep) struct manifest *manifest = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	harness_ok(parse(whole, &manifest, &diag, &err), &err);
	cr_assert_eq(manifest->n_entries, sizeof rows / sizeof *rows);
	for (size_t i = 0; i < manifest->n_entries; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];

		cr_expect_str_eq(entry->path, rows[i].path);
		cr_expect_eq(entry->type, rows[i].type, "%s", entry->path);
		cr_expect_eq(entry->mode, rows[i].mode, "%s", entry->path);
		cr_expect_eq(entry->ephemeral, rows[i].ephemeral, "%s", entry->path);
	}
	cr_expect_str_eq(manifest->entries[0].content, "t\xc3\xa9xt");
	cr_expect_eq(manifest->entries[1].content_size, 3);
	cr_expect_eq(memcmp(manifest->entries[1].content, "\0\1\377", 3), 0);
	cr_expect_str_eq(manifest->entries[6].source, "../lib");
	cr_expect_str_eq(manifest->entries[6].exclude[0], "*.o");
	cr_expect_str_eq(manifest->entries[7].ref, "main");
	cr_expect_null(manifest->entries[7].subpath);
	cr_expect_eq(manifest->entries[8].strip_components, 1);
	cr_expect_str_eq(manifest->entries[3].place, "m:5:41: entries.src.children.a.py");
	cr_assert_eq(manifest->n_variables, 4);
	cr_expect_eq(manifest->variables[0].from, REFERENCE_NONE);
	cr_expect_str_eq(manifest->variables[1].text, "fd:3");
	cr_expect_eq(manifest->variables[2].from, REFERENCE_FILE);
	cr_expect_eq(manifest->variables[3].from, REFERENCE_ENV);
}

Test(manifest, tells_all_mistakes_at_once)
{
	struct manifest *manifest = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	cr_assert_lt(parse("{\"version\": 3, \"entries\": {\"/x\": {\"type\": \"dir\"}, \"a\": {\"type\": \"nope\"}, \"a\": {\"type\": \"dir\"},"
			   "\"b\": " EMPTY ", \"b/c\": " EMPTY "}}",
			     &manifest, &diag, &err),
		0);
	cr_expect_eq(diag.n_errors, 4);
	cr_expect(strstr(err.text, "duplicate key \"a\"") != NULL, "%s", err.text);
	cr_expect(strstr(err.text, "(and 3 more)") != NULL, "%s", err.text);
	cr_expect_eq(err.code, ERROR_SANDBOX_CONFIG_INVALID);
}

static const struct {
	const char *subpath, *reason;
} bad_subpaths[] = {{" ", "empty"}, {"\\t", "empty"}, {"/a", "absolute"}, {"a/../b", "parent_traversal"},
	{"..", "parent_traversal"}, {"a\\\\b", "windows_path"}, {"C:/x", "absolute"}, {"a/", "empty_part"}};

Test(manifest, judges_subpaths_before_any_clone)
{
	for (size_t i = 0; i < sizeof bad_subpaths / sizeof *bad_subpaths; i++) {
		cleanup_free char *entry = NULL, *text = NULL;
		struct manifest *manifest = NULL;
		cleanup_diag struct diag diag = {0};
		struct error err = {0};

		cr_assert_geq(asprintf(&entry, "\"a\": {\"type\": \"git_repo\", \"repo\": \"x\", \"subpath\": \"%s\"}",
				      bad_subpaths[i].subpath),
			0);
		text = with_entries(entry);
		cr_assert_lt(parse(text, &manifest, &diag, &err), 0, "taken: %s", text);
		cr_expect_eq(err.code, ERROR_INVALID_MANIFEST_PATH);
		cr_expect_str_eq(err.context[0].value, bad_subpaths[i].reason, "%s", text);
	}
}

/* Nothing of what stands at a secret's place is repeated. */
Test(manifest, keeps_secrets_out_of_messages)
{
	static const char *const texts[] = {
		"{\"version\": 1, \"environment\": {\"A\": {\"from\": \"hunter2\"}}}",
		"{\"version\": 1, \"environment\": {\"A\": {\"from\": \"fd:hunter2\"}}}",
		"{\"version\": 1, \"environment\": {\"A\": [\"hunter2\"]}}",
		"{\"version\": 1, \"environment\": {\"A=\": \"hunter2\"}}",
		"{\"version\": 2, \"environment\": {\"A\": \"hunter2\"}}",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct manifest *manifest = NULL;
		cleanup_diag struct diag diag = {0};
		struct error err = {0};

		cr_assert_lt(parse(texts[i], &manifest, &diag, &err), 0, "%s", texts[i]);
		cr_assert_null(strstr(err.text, "hunter2"), "%s", err.text);
		for (size_t k = 0; k < diag.n; k++)
			cr_assert_null(strstr(diag.entries[k].text, "hunter2"), "%s", diag.entries[k].text);
	}
}

Test(manifest, stops_at_the_bounds_of_a_text)
{
	cleanup_buf struct buf deep = {0};
	struct manifest *manifest = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	for (int i = 0; i < 100000; i++)
		buf_append_str(&deep, "{\"a\":");
	cr_assert_lt(manifest_parse(buf_str(&deep), deep.size, "m", &manifest, &diag, &err), 0);
	cr_expect(strstr(err.text, "m:1:") != NULL, "%s", err.text);
	buf_reset(&deep);
	for (size_t i = 0; i <= MANIFEST_BYTES_MAX; i++)
		buf_append_char(&deep, ' ');
	diag_done(&diag);
	diag = (struct diag){0};
	cr_assert_lt(manifest_parse(buf_str(&deep), deep.size, "m", &manifest, &diag, &err), 0);
	cr_expect(strstr(err.text, "16 MiB") != NULL, "%s", err.text);
}
