/* Variables of a manifest: what the caller allows, where values come from, and that they stay there. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/workspace/environment.h"
#include "tests/unit/harness.h"

TestSuite(manifest_environment, .fini = harness_leak_check, .timeout = 60);

struct ground {
	char path[200];
	int fd;
	struct sources *sources;
	struct manifest *manifest;
};

static void put(const struct ground *ground, const char *name, const void *data, size_t size)
{
	int fd = openat(ground->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fd_write_all(fd, data, size), 0);
	fd_close(fd);
}

/* environment: the members of the object. */
static struct ground make_ground(const char *environment)
{
	struct ground ground = {0};
	cleanup_diag struct diag diag = {0};
	struct error err = {0};
	char text[1000], base[300];

	ground.fd = harness_tmpdir(ground.path, sizeof ground.path);
	cr_assert_eq(mkdirat(ground.fd, "base", 0755), 0);
	put(&ground, "base/token", "hunter2\n", 8);
	put(&ground, "outside", "hunter3", 7);
	cr_assert_eq(symlinkat("../outside", ground.fd, "base/link"), 0);
	harness_ok(sources_new(&ground.sources, &err), &err);
	(void)snprintf(base, sizeof base, "%s/base", ground.path);
	harness_ok(sources_set_base(ground.sources, base, &err), &err);
	(void)snprintf(text, sizeof text, "{\"version\": 1, \"environment\": {%s}}", environment);
	harness_ok(manifest_parse(text, strlen(text), "m", &ground.manifest, &diag, &err), &err);
	return ground;
}

static void end_ground(struct ground *ground)
{
	(void)manifest_free(ground->manifest);
	(void)sources_free(ground->sources);
	fd_close(ground->fd);
	harness_rm_tree(ground->path);
}

static void expect_values(const char *environment, const char *const *allowed, const char *const *values)
{
	struct ground ground = make_ground(environment);
	struct error err = {0};
	char **list = NULL;
	size_t n = 0;

	harness_ok(environment_resolve(ground.manifest, ground.sources, allowed, &list, &err), &err);
	for (; values[n] != NULL; n++)
		cr_expect_str_eq(list[n], values[n]);
	cr_expect_null(list[n]);
	environment_free(list);
	end_ground(&ground);
}

static void expect_refusal(const char *environment, const char *const *allowed, enum error_code code, const char *says)
{
	struct ground ground = make_ground(environment);
	struct error err = {0};
	char **list = NULL;

	cr_expect_lt(environment_resolve(ground.manifest, ground.sources, allowed, &list, &err), 0, "taken: %s",
		environment);
	cr_expect_eq(err.code, code, "%s: %s", environment, err.text);
	cr_expect(strstr(err.text, says) != NULL, "%s", err.text);
	cr_expect(strstr(err.text, "environment.V") != NULL, "%s", err.text);
	cr_expect_null(strstr(err.text, "hunter"), "%s", err.text);
	end_ground(&ground);
}

Test(manifest_environment, takes_what_is_allowed)
{
	static const char *const allowed[] = {"env:SECRET_*", "fd:*", NULL};
	const char *const plain[] = {"CI=1", "EMPTY=", NULL}, *const file[] = {"V=hunter2", NULL},
			  *const both[] = {"A=s1", "V=piped", NULL};
	char text[100];
	int ends[2];

	expect_values("\"CI\": \"1\", \"EMPTY\": \"\"", NULL, plain);
	expect_values("\"V\": {\"from\": \"file:token\"}", NULL, file);
	cr_assert_eq(setenv("SECRET_A", "s1", 1), 0);
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(fd_write_all(ends[1], "piped\n", 6), 0);
	fd_close(ends[1]);
	(void)snprintf(text, sizeof text, "\"A\": {\"from\": \"env:SECRET_A\"}, \"V\": {\"from\": \"fd:%d\"}", ends[0]);
	expect_values(text, allowed, both);
	fd_close(ends[0]);
}

Test(manifest_environment, refuses_the_rest)
{
	static const char *const others[] = {"env:OTHER", "fd:99", NULL}, *const all[] = {"*", NULL};

	cr_assert_eq(setenv("SECRET_A", "hunter1", 1), 0);
	expect_refusal("\"V\": {\"from\": \"env:SECRET_A\"}", NULL, ERROR_PERMISSION_DENIED, "does not let");
	expect_refusal("\"V\": {\"from\": \"env:SECRET_A\"}", others, ERROR_PERMISSION_DENIED, "does not let");
	expect_refusal("\"V\": {\"from\": \"fd:0\"}", others, ERROR_PERMISSION_DENIED, "does not let");
	expect_refusal("\"V\": {\"from\": \"file:/etc/passwd\"}", others, ERROR_LOCAL_FILE_READ, "outside");
	expect_refusal("\"V\": {\"from\": \"file:../outside\"}", others, ERROR_LOCAL_FILE_READ, "outside");
	expect_refusal("\"V\": {\"from\": \"file:link\"}", all, ERROR_LOCAL_FILE_READ, "symlink");
	expect_refusal("\"V\": {\"from\": \"file:absent\"}", all, ERROR_LOCAL_FILE_READ, "absent");
	expect_refusal("\"V\": {\"from\": \"env:ABSENT_HERE\"}", all, ERROR_NOT_FOUND, "no such variable");
	expect_refusal("\"V\": {\"from\": \"fd:1000000\"}", all, ERROR_IO, "cannot be read");
	expect_refusal("\"V\": {\"from\": \"file:/dev/zero\"}", all, ERROR_LOCAL_FILE_READ, "not a regular file");
}

Test(manifest_environment, bounds_values)
{
	static char large[200 << 10];
	struct ground ground = make_ground("\"V\": {\"from\": \"file:token\"}");
	struct error err = {0};
	char **list = NULL;

	memset(large, 'x', sizeof large);
	put(&ground, "base/token", large, sizeof large);
	cr_expect_lt(environment_resolve(ground.manifest, ground.sources, NULL, &list, &err), 0);
	cr_expect_eq(err.code, ERROR_LIMIT);
	put(&ground, "base/token", "a\0b", 3);
	cr_expect_lt(environment_resolve(ground.manifest, ground.sources, NULL, &list, &err), 0);
	cr_expect(strstr(err.text, "NUL") != NULL, "%s", err.text);
	end_ground(&ground);
}
