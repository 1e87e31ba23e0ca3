/* The public manifest: what was parsed, and what the application lets it take. */
#include "runtime/workspace/manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "runtime/api/objects.h"
#include "runtime/api/runner.h"
#include "runtime/policy/path_rule.h"
#include "runtime/workspace/environment.h"
#include "runtime/workspace/materialize.h"
#include "runtime/workspace/receipt.h"
#include "runtime/workspace/sources.h"

#define JOBS_DEFAULT      4
#define FILES_MAX_DEFAULT 1000000
#define BYTES_MAX_DEFAULT ((uint64_t)16 << 30)

struct pinfold_manifest {
	struct manifest *manifest;
	struct sources *sources;
	unsigned jobs; /* 0: as many as there are entries */
	uint64_t files_max, bytes_max;
	int cancel_fd;
	pinfold_progress_fn progress;
	void *userdata;
};

pinfold_manifest *pinfold_manifest_free(pinfold_manifest *manifest)
{
	if (manifest == NULL)
		return NULL;
	(void)manifest_free(manifest->manifest);
	(void)sources_free(manifest->sources);
	free(manifest);
	return NULL;
}
CLEANUP_DEFINE(pinfold_manifest, pinfold_manifest_free)

static int make(const void *text, size_t size, const char *label, pinfold_manifest **ret_manifest, struct diag *diag,
	struct error *err)
{
	cleanup_with(pinfold_manifest_freep) pinfold_manifest *manifest = calloc(1, sizeof *manifest);

	if (manifest == NULL) {
		(void)error_no_memory(err);
		return -1;
	}
	manifest->jobs = JOBS_DEFAULT;
	manifest->files_max = FILES_MAX_DEFAULT;
	manifest->bytes_max = BYTES_MAX_DEFAULT;
	manifest->cancel_fd = -1;
	if (sources_new(&manifest->sources, err) < 0 ||
		manifest_parse(text, size, label, &manifest->manifest, diag, err) < 0)
		return -1;
	*ret_manifest = steal_ptr(&manifest);
	return 0;
}

int pinfold_manifest_parse(
	const void *text, size_t size, const char *label, pinfold_manifest **ret_manifest, pinfold_error **err)
{
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (make(size > 0 ? text : "", size, label, ret_manifest, &diag, &error) < 0)
		return api_fail(err, "manifest parse", &error, &diag);
	return 0;
}

/* The directory of the file; one that may be no base is none. */
static int set_own_base(pinfold_manifest *manifest, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	if (directory == NULL)
		return error_no_memory(err);
	if (sources_set_base(manifest->sources, directory, err) < 0 && err->code != ERROR_USAGE)
		return -1;
	return 0;
}

static int load(const char *path, pinfold_manifest **ret_manifest, struct diag *diag, struct error *err)
{
	cleanup_with(pinfold_manifest_freep) pinfold_manifest *manifest = NULL;
	cleanup_buf struct buf text = {0};

	if (fd_read_file(AT_FDCWD, path, MANIFEST_BYTES_MAX + 1, &text, err) < 0) {
		if (err->code == ERROR_LIMIT)
			err->code = ERROR_SANDBOX_CONFIG_INVALID;
		return -1;
	}
	if (make(buf_str(&text), text.size, path, &manifest, diag, err) < 0 || set_own_base(manifest, path, err) < 0)
		return -1;
	*ret_manifest = steal_ptr(&manifest);
	return 0;
}

int pinfold_manifest_load(const char *path, pinfold_manifest **ret_manifest, pinfold_error **err)
{
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (load(path, ret_manifest, &diag, &error) < 0)
		return api_fail(err, "manifest load", &error, &diag);
	return 0;
}

int pinfold_manifest_set_base(pinfold_manifest *manifest, const char *directory, pinfold_error **err)
{
	struct error error = {0};

	if (sources_set_base(manifest->sources, directory, &error) < 0)
		return api_fail(err, "manifest base", &error, NULL);
	return 0;
}

int pinfold_manifest_grant(pinfold_manifest *manifest, const char *grant, pinfold_error **err)
{
	struct error error = {0};

	if (sources_grant_text(manifest->sources, grant, &error) < 0)
		return api_fail(err, "manifest grant", &error, NULL);
	return 0;
}

/* NULL: a path of the workspace, which is no source; of a home that is not known; or a pattern. */
static char *absolute(const char *path)
{
	const char *home = getenv("HOME"), *below = NULL;
	char *joined = NULL;

	if (str_starts_with(path, POLICY_EVERY_HOME))
		below = path + strlen(POLICY_EVERY_HOME);
	else if (str_starts_with(path, "~/"))
		below = path + strlen("~/");
	if (below == NULL && path[0] == '/' && !policy_path_has_glob(path))
		return strdup(path);
	if (below == NULL || home == NULL || home[0] != '/' || policy_path_has_glob(below))
		return NULL;
	return asprintf(&joined, "%s/%s", home, below) < 0 ? NULL : joined;
}

static int take_path(pinfold_manifest *manifest, const struct policy_path *path, struct error *err)
{
	cleanup_free char *whole = path->path != NULL ? absolute(path->path) : NULL;

	if (whole == NULL || path->access == ACCESS_PROTECT)
		return 0;
	if (path->access == ACCESS_DENY)
		return sources_deny(manifest->sources, whole, err);
	return sources_grant(manifest->sources, whole, path->access == ACCESS_WRITE, err);
}

/* What a policy names and is not there, cannot be reached by the caller, or is everything, neither grants nor denies: a
 * policy is written for runs. */
static bool is_of_no_account(const struct error *error)
{
	return error->code == ERROR_NOT_FOUND || error->code == ERROR_PERMISSION_DENIED || error->code == ERROR_USAGE;
}

static int take_paths(pinfold_manifest *manifest, const struct policy *policy, bool denials, struct error *err)
{
	for (size_t i = 0; i < policy->n_paths; i++) {
		const struct policy_path *path = &policy->paths[i];

		if ((path->access == ACCESS_DENY) == denials && take_path(manifest, path, err) < 0 &&
			!is_of_no_account(err))
			return -1;
	}
	return 0;
}

/* Order: denials last, for they win over a grant of the same path, as in a run. */
static int take_policy(pinfold_manifest *manifest, pinfold_policy *policy, struct diag *diag, struct error *err)
{
	const struct policy *resolved = NULL;

	if (policy_document_resolve(policy->document, &resolved, diag, err) < 0)
		return -1;
	if (take_paths(manifest, resolved, false, err) < 0)
		return -1;
	return take_paths(manifest, resolved, true, err);
}

int pinfold_manifest_grant_policy(pinfold_manifest *manifest, pinfold_policy *policy, pinfold_error **err)
{
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (take_policy(manifest, policy, &diag, &error) < 0)
		return api_fail(err, "manifest grant", &error, &diag);
	return 0;
}

int pinfold_manifest_set_jobs(pinfold_manifest *manifest, unsigned jobs, pinfold_error **err)
{
	struct error error = {0};

	if (jobs == 0) {
		(void)error_set(&error, ERROR_USAGE, "jobs", "the number of jobs is at least 1");
		return api_fail(err, "manifest jobs", &error, NULL);
	}
	manifest->jobs = jobs == PINFOLD_JOBS_NONE ? 0 : jobs;
	return 0;
}

int pinfold_manifest_set_limits(pinfold_manifest *manifest, uint64_t files, uint64_t bytes, pinfold_error **err)
{
	struct error error = {0};

	if (files == 0 || bytes == 0) {
		(void)error_set(&error, ERROR_USAGE, "limits", "a limit of a workspace is at least 1");
		return api_fail(err, "manifest limits", &error, NULL);
	}
	manifest->files_max = files;
	manifest->bytes_max = bytes;
	return 0;
}

void pinfold_manifest_set_cancel_fd(pinfold_manifest *manifest, int fd)
{
	manifest->cancel_fd = fd;
}

void pinfold_manifest_on_progress(pinfold_manifest *manifest, pinfold_progress_fn fn, void *userdata)
{
	manifest->progress = fn;
	manifest->userdata = userdata;
}

static int materialize_it(pinfold_host *host, pinfold_manifest *manifest, const char *destination, unsigned flags,
	char **ret_json, struct error *err)
{
	const struct runner runner = api_runner(host);
	struct work work = WORK_INIT;
	const struct materialize_options options = {
		.sources = manifest->sources,
		.runner = &runner,
		.jobs = manifest->jobs,
		.ephemeral_only = (flags & PINFOLD_MATERIALIZE_EPHEMERAL_ONLY) != 0,
		.dry_run = (flags & PINFOLD_MATERIALIZE_DRY_RUN) != 0,
		.work = &work,
	};
	struct receipt receipt = {0};
	int r;

	work.files_max = manifest->files_max;
	work.bytes_max = manifest->bytes_max;
	work.cancel_fd = manifest->cancel_fd;
	work.tell = manifest->progress;
	work.context = manifest->userdata;
	if (materialize(manifest->manifest, destination, &options, &receipt, err) < 0)
		return -1;
	r = receipt_json(manifest->manifest, &receipt, destination, ret_json, err);
	receipt_done(&receipt);
	return r;
}

int pinfold_materialize(pinfold_host *host, pinfold_manifest *manifest, const char *destination, unsigned flags,
	char **ret_json, pinfold_error **err)
{
	struct error error = {0};

	if (materialize_it(host, manifest, destination, flags, ret_json, &error) < 0)
		return api_fail(err, "materialize", &error, NULL);
	return 0;
}

int pinfold_manifest_environment(
	pinfold_manifest *manifest, const char *const *allowed, char ***ret_environment, pinfold_error **err)
{
	struct error error = {0};

	if (environment_resolve(manifest->manifest, manifest->sources, allowed, ret_environment, &error) < 0)
		return api_fail(err, "manifest environment", &error, NULL);
	return 0;
}

void pinfold_environment_free(char **environment)
{
	environment_free(environment);
}

int pinfold_manifest_schema(char **ret_json, pinfold_error **err)
{
	struct error error = {0};

	if (manifest_schema_json(ret_json, &error) < 0)
		return api_fail(err, "manifest schema", &error, NULL);
	return 0;
}
