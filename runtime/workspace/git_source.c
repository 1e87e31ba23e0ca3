/*
 * What can be refused of a git entry without running anything.
 *
 * Threat: the words come from a manifest that somebody else wrote. One that begins with '-' would be an option
 * ("--upload-pack=..."), "ext::..." a command line, "ssh://-oProxyCommand=..." an option of another program,
 * "host:path" a call of ssh with the caller's keys. Only https and http are left. A password in a URL would be seen in
 * the list of processes and in messages, and is refused without being repeated.
 */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "runtime/workspace/git.h"
#include "runtime/workspace/manifest_path.h"

#define URL_MAX 2048

static int refuse(struct error *err, const char *reason, const char *what, const char *word, const char *why)
{
	char shown[200];

	if (word != NULL)
		error_set(err, ERROR_GIT_CLONE, "git", "%s \"%s\": %s", what, str_printable(word, shown, sizeof shown),
			why);
	else
		error_set(err, ERROR_GIT_CLONE, "git", "%s: %s", what, why);
	error_add_context(err, "reason", reason);
	if (err != NULL)
		err->retryable = ERROR_RETRY_NO;
	return -1;
}

bool git_is_address(const char *repo)
{
	size_t first = strcspn(repo, "/:");

	return repo[first] == ':' || strstr(repo, "://") != NULL;
}

static bool is_url_text(const char *url)
{
	for (const char *at = url; *at != '\0'; at++) {
		if (!isgraph((unsigned char)*at) || strchr("\"'<>\\^`{|}", *at) != NULL)
			return false;
	}
	return true;
}

static int check_address(const char *repo, struct error *err)
{
	static const char *const schemes[] = {"https://", "http://"};
	const char *host = NULL;

	if (repo[0] == '-' || repo[0] == '\0' || strlen(repo) > URL_MAX)
		return refuse(err, "not_a_url", "repository", NULL, "no URL begins like that, or is that long");
	for (size_t i = 0; i < 2; i++) {
		if (str_starts_with(repo, schemes[i]))
			host = repo + strlen(schemes[i]);
	}
	if (host != NULL && memchr(host, '@', strcspn(host, "/?#")) != NULL)
		return refuse(err, "credentials", "repository", NULL,
			"a URL with a user or a password in it is not taken; get the repository first, and name its directory");
	if (host == NULL)
		return refuse(err, "transport", "repository", repo,
			"only https://, http:// and directories of this machine are taken");
	if (!is_url_text(repo) || !isalnum((unsigned char)host[0]))
		return refuse(err, "not_a_url", "repository", repo, "is no URL");
	return 0;
}

int git_check_source(const struct git_source *source, struct error *err)
{
	struct manifest_fault fault = {0};

	if (source->repo_fd < 0 && check_address(source->repo, err) < 0)
		return -1;
	if (source->ref != NULL)
		fault = manifest_ref_fault(source->ref);
	if (fault.reason != NULL)
		return refuse(err, fault.reason, "ref", source->ref, fault.text);
	if (source->subpath != NULL)
		fault = manifest_subpath_fault(source->subpath);
	if (fault.reason != NULL)
		return refuse(err, fault.reason, "subpath", source->subpath, fault.text);
	return 0;
}
