/*
 * Git entries by the real git and the real boundary: what comes out of honest repositories, and of those whose hooks,
 * configuration, attributes, links and names are made to run or read something else. Whatever such a repository could
 * run would make the file "ran" in the scene, which nothing inside can see; so each of them is also shown to run it
 * outside, where that is possible.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree.h"
#include "include/pinfold.h"
#include "runtime/api/runner.h"
#include "runtime/workspace/git.h"
#include "tests/unit/harness.h"

static char scene_path[256];
static int scene = -1, staging = -1;
static pinfold_host *host;

/* In the scene, with $S as its path and an identity for commits; the script ends at its first failure. */
static void sh(const char *script)
{
	char command[8192];

	(void)snprintf(command, sizeof command,
		"set -e; exec >>%s/log 2>&1; cd '%s'; S=$PWD; export S HOME=$PWD/home GIT_CONFIG_GLOBAL=$PWD/gitconfig"
		" GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x; umask 022; %s",
		scene_path, scene_path, script);
	cr_assert_eq(system(command), 0, "%s", script);
}

static void setup(void)
{
	pinfold_error *error = NULL;

	scene = harness_tmpdir(scene_path, sizeof scene_path);
	cr_assert_eq(pinfold_host_new(&host, &error), 0);
	cr_assert_eq(mkdirat(scene, "staging", 0700), 0);
	staging = openat(scene, "staging", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sh("printf '[init]\\n\\tdefaultBranch = main\\n[safe]\\n\\tdirectory = *\\n[protocol \"file\"]\\n\\tallow = "
	   "always\\n' > gitconfig");
	sh("git init -q r; cd r; printf one > a; mkdir sub; printf two > sub/run; chmod 755 sub/run; git add .;"
	   "git commit -qm 1; git tag v1; printf three > a; git commit -qam 2; git branch side HEAD~1");
}

static void teardown(void)
{
	host = pinfold_host_free(host);
	(void)fd_close(staging);
	(void)fd_close(scene);
	harness_rm_tree(scene_path);
	harness_leak_check();
}

TestSuite(git_entry, .init = setup, .fini = teardown, .timeout = 120);

static int fetch_limited(struct work *work, const char *repo, const char *ref, const char *subpath, struct error *err)
{
	struct runner runner = api_runner(host);
	struct git_source source = {.repo = repo, .repo_fd = -1, .ref = ref, .subpath = subpath};
	struct local_totals totals = {0};
	cleanup_close int fd = -1;

	*err = (struct error){0};
	if (!git_is_address(repo)) {
		fd = local_open_dir(scene, repo, err);
		cr_assert_geq(fd, 0, "%s: %s", repo, err->text);
		source.repo_fd = fd;
	}
	return git_fetch_entry(&runner, &source, staging, "entry", work, &totals, &(bool){false}, err);
}

static int fetch(const char *repo, const char *ref, const char *subpath, struct error *err)
{
	struct work work = WORK_INIT;

	return fetch_limited(&work, repo, ref, subpath, err);
}

static uint64_t entries_in_staging(void)
{
	struct tree_budget budget = {.entries_max = 100000};
	struct tree_totals totals = {0};
	struct error err = {0};

	harness_ok(tree_count(staging, &budget, &totals, &err), &err);
	return totals.files + totals.directories + totals.others;
}

static void expect_nothing_ran(void)
{
	cr_expect_eq(faccessat(scene, "ran", F_OK, 0), -1, "the repository had something run");
}

static void expect_refused(const char *repo, const char *ref, const char *subpath, const char *said)
{
	struct error err;

	cr_expect_eq(fetch(repo, ref, subpath, &err), -1, "%s, %s, %s", repo, ref, subpath);
	cr_expect_eq(err.code, ERROR_GIT_CLONE, "%s: %s", error_code_name(err.code), err.text);
	cr_expect_not_null(strstr(err.text, said), "\"%s\" says nothing of \"%s\"", err.text, said);
	cr_expect_eq(entries_in_staging(), 0, "%s: something is left", err.text);
	expect_nothing_ran();
}

static void expect_content(const char *path, const char *expected)
{
	cleanup_close int fd = openat(staging, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char content[256] = "";

	cr_expect_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_expect_geq(read(fd, content, sizeof content - 1), 0);
	cr_expect_str_eq(content, expected, "%s", path);
}

static void drop_entry(void)
{
	struct error err = {0};

	expect_nothing_ran();
	harness_ok(tree_remove(staging, "entry", &err), &err);
	cr_expect_eq(entries_in_staging(), 0, "a temporary is left");
}

static void expect_fetched(const char *repo, const char *ref, const char *subpath, const char *path, const char *content)
{
	struct error err;
	char whole[300];

	harness_ok(fetch(repo, ref, subpath, &err), &err);
	(void)snprintf(whole, sizeof whole, "entry/%s", path);
	expect_content(whole, content);
	drop_entry();
}

Test(git_entry, a_working_tree)
{
	struct work work = WORK_INIT;
	struct stat status;
	struct error err;
	int fds;
	mode_t mask = umask(077);

	expect_fetched("r", NULL, NULL, "a", "three"); /* what the host is asked once stays open */
	fds = harness_count_fds();
	harness_ok(fetch_limited(&work, "r", NULL, NULL, &err), &err);
	expect_content("entry/a", "three");
	expect_content("entry/sub/run", "two");
	cr_expect_eq(entries_in_staging(), 4, "no .git and no temporary");
	cr_assert_eq(fstatat(staging, "entry/sub/run", &status, 0), 0);
	cr_expect_eq(status.st_mode, S_IFREG | 0755);
	cr_expect_eq(status.st_uid, geteuid());
	cr_assert_eq(fstatat(staging, "entry/a", &status, 0), 0);
	cr_expect_eq(status.st_mode, S_IFREG | 0644);
	cr_assert_eq(fstatat(staging, "entry", &status, 0), 0);
	cr_expect_eq(status.st_mode, S_IFDIR | 0755);
	cr_expect(work.files == 3 && work.bytes == 8, "%lu files, %lu bytes", work.files, work.bytes);
	drop_entry();
	cr_expect_eq(harness_count_fds(), fds);
	(void)umask(mask);
}

Test(git_entry, refs_of_every_kind)
{
	char full[41] = "", part[9] = "", old[41] = "", old_part[12] = "";

	sh("git -C r rev-parse HEAD > full; git -C r rev-parse HEAD~1 > old; git -C r branch deadbeef v1;"
	   "git -C r tag -am x signed v1");
	for (int i = 0; i < 2; i++) {
		cleanup_close int fd = openat(scene, i == 0 ? "full" : "old", O_RDONLY | O_CLOEXEC);

		cr_assert_eq(read(fd, i == 0 ? full : old, 40), 40);
	}
	memcpy(part, full, 8);
	memcpy(old_part, old, 11);
	expect_fetched("r", "main", NULL, "a", "three");
	expect_fetched("r", "side", NULL, "a", "one");
	expect_fetched("r", "v1", NULL, "a", "one");
	expect_fetched("r", "signed", NULL, "a", "one");
	expect_fetched("r", "refs/tags/v1", NULL, "a", "one");
	expect_fetched("r", "deadbeef", NULL, "a", "one");
	expect_fetched("r", full, NULL, "a", "three");
	expect_fetched("r", part, NULL, "a", "three");
	expect_fetched("r", old, NULL, "a", "one");
	expect_fetched("r", old_part, NULL, "a", "one");
	expect_refused("r", "nothing", NULL, "\"nothing\"");
	expect_refused("r", "0123456789", NULL, "no such commit");
	expect_refused("r", "0123456789012345678901234567890123456789", NULL, "no such commit");
}

/* Only reachable by history: neither a tip nor the parent of one that a shallow fetch brings. */
Test(git_entry, a_commit_in_the_middle)
{
	char middle[41] = "";
	cleanup_close int fd = -1;

	sh("cd r; for i in 4 5 6; do printf $i > a; git commit -qam $i; done; git branch -D side >/dev/null; git tag -d v1 "
	   ">/dev/null; git rev-parse HEAD~2 > ../middle");
	fd = openat(scene, "middle", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(read(fd, middle, 40), 40);
	expect_fetched("r", middle, NULL, "a", "4");
	middle[10] = '\0';
	expect_fetched("r", middle, NULL, "a", "4");
}

Test(git_entry, subpaths)
{
	sh("cd r; mkdir -p 'x/y z'; printf deep > 'x/y z/f'; printf '*.txt text eol=crlf\\n' > .gitattributes;"
	   "printf 'l\\n' > x/l.txt; git add .; git commit -qm sub");
	expect_fetched("r", NULL, "sub", "run", "two");
	expect_fetched("r", NULL, "x/y z", "f", "deep");
	expect_fetched("r", NULL, "x", "l.txt", "l\r\n");
	expect_fetched("r", NULL, "", "a", "three");
	expect_fetched("r", NULL, ".", "a", "three");
	expect_refused("r", NULL, "missing", "missing");
	expect_refused("r", NULL, "a", "no directory");
	expect_refused("r", NULL, "../r", "subpath");
	expect_refused("r", NULL, "/etc", "subpath");
	expect_refused("r", NULL, "a\\b", "subpath");
	expect_refused("r", NULL, " ", "subpath");
	expect_refused("r", NULL, "sub/", "subpath");
	expect_refused("r", NULL, "./sub", "subpath");
	expect_refused("r", NULL, ":(glob)*", "");
}

Test(git_entry, repositories_of_every_kind)
{
	sh("git clone -q --bare r bare.git; git -C r worktree add -q ../linked side; git init -q empty;"
	   "git init -q --object-format=sha256 long; cd long; printf long > f; git add f; git commit -qm x; mkdir ../none");
	expect_fetched("bare.git", NULL, NULL, "a", "three");
	expect_fetched("r/.git", NULL, NULL, "a", "three");
	expect_fetched("long", NULL, NULL, "f", "long");
	expect_refused("empty", NULL, NULL, "HEAD");
	expect_refused("linked", NULL, NULL, "not a git repository");
	expect_refused("none", NULL, NULL, "does not appear to be a git repository");
}

Test(git_entry, an_empty_commit)
{
	struct error err;

	sh("git init -q bald; git -C bald commit -q --allow-empty -m x");
	harness_ok(fetch("bald", NULL, NULL, &err), &err);
	cr_expect_eq(entries_in_staging(), 1);
	drop_entry();
}

Test(git_entry, a_shallow_repository)
{
	sh("git clone -q --depth 1 file://$S/r shallow");
	expect_fetched("shallow", NULL, NULL, "a", "three");
}

/* Objects that the repository has from elsewhere are not fetched from there. */
Test(git_entry, alternates)
{
	sh("git clone -q -s r shared");
	expect_refused("shared", NULL, NULL, "git");
}

/* A program that tells, and ends who started it, at every place where git would look for one. */
static void make_evil(const char *program)
{
	char script[4096];

	(void)snprintf(script, sizeof script,
		"cd r; printf '#!/bin/sh\ntouch '$S'/ran\nkill -9 $PPID\n' > .git/evil; chmod 755 .git/evil;"
		"for h in post-checkout pre-checkout reference-transaction pre-receive update post-update upload-pack "
		"post-index-change fsmonitor-watchman proc-receive push-to-checkout; do cp .git/evil .git/hooks/$h; done;"
		"for k in core.fsmonitor uploadpack.packObjectsHook core.sshCommand core.gitProxy credential.helper core.pager "
		"core.editor core.askPass core.alternateRefsCommand filter.evil.smudge filter.evil.process diff.evil.textconv "
		"gpg.program; do git config $k %s; done; git config filter.evil.required true;"
		"git config core.hooksPath $(dirname %s)/hooks",
		program, program);
	sh(script);
}

Test(git_entry, hooks_and_configuration_of_the_repository)
{
	sh("cd r; printf '* filter=evil diff=evil merge=evil\n*.bin filter=lfs diff=lfs merge=lfs -text\n' > .gitattributes;"
	   "printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n' > x.bin; git add .;"
	   "git commit -qm attributes");
	make_evil("$S/r/.git/evil");
	sh("git -C r status > out || true; test -e ran; rm ran"); /* it would run */
	expect_fetched("r", NULL, NULL, "a", "three");
	make_evil("/git/source/.git/evil"); /* where it shows inside */
	expect_fetched("r", NULL, NULL, "a", "three");
	expect_fetched("r", "side", "sub", "run", "two");
}

Test(git_entry, the_callers_environment_and_configuration)
{
	sh("printf '#!/bin/sh\\ntouch '$S'/ran\\n' > evil; chmod 755 evil; mkdir -p home/.config/git;"
	   "printf '[core]\\n\\tfsmonitor = '$S'/evil\\n\\thooksPath = '$S'\\n' > home/.gitconfig");
	cr_assert_eq(setenv("HOME", "/proc/self/cwd/home", 1), 0);
	cr_assert_eq(setenv("GIT_DIR", "/nonexistent", 1), 0);
	cr_assert_eq(setenv("GIT_CONFIG_COUNT", "1", 1), 0);
	cr_assert_eq(setenv("GIT_CONFIG_KEY_0", "core.fsmonitor", 1), 0);
	cr_assert_eq(setenv("GIT_CONFIG_VALUE_0", "/bin/false", 1), 0);
	cr_assert_eq(setenv("GIT_EXEC_PATH", "/nonexistent", 1), 0);
	cr_assert_eq(setenv("GIT_TRACE", "1", 1), 0);
	cr_assert_eq(setenv("PATH", "/nonexistent", 1), 0);
	cr_assert_eq(setenv("LD_PRELOAD", "/nonexistent.so", 1), 0);
	{
		struct error err;

		harness_ok(fetch("r", NULL, NULL, &err), &err);
		expect_content("entry/a", "three");
		drop_entry();
	}
}

Test(git_entry, submodules_stay_empty)
{
	struct error err;

	sh("cd r; git submodule --quiet add file://$S/r mod; git commit -qm sub");
	harness_ok(fetch("r", NULL, NULL, &err), &err);
	cr_expect_eq(faccessat(staging, "entry/mod", F_OK, 0), 0);
	cr_expect_eq(faccessat(staging, "entry/mod/a", F_OK, 0), -1);
	drop_entry();
}

Test(git_entry, links_that_stay_inside_are_kept)
{
	char target[64] = "";
	struct error err;

	sh("cd r; ln -s a l; ln -s ../a sub/up; ln -s nowhere sub/dangling; git add .; git commit -qm links");
	harness_ok(fetch("r", NULL, NULL, &err), &err);
	cr_expect_eq(readlinkat(staging, "entry/sub/up", target, sizeof target - 1), 4);
	cr_expect_str_eq(target, "../a");
	drop_entry();
	expect_refused("r", NULL, "sub", "\"up\" is a symlink");
}

Test(git_entry, links_that_lead_out_are_refused)
{
	static const char *const targets[] = {
		"/etc", "/etc/passwd", "..", "../secret", "sub/../../secret", "sub/up/../x"};
	char script[300];

	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		(void)snprintf(
			script, sizeof script, "cd r; rm -f l; ln -s %s l; git add .; git commit -qm l", targets[i]);
		sh(script);
		expect_refused("r", NULL, NULL, "\"l\" is a symlink");
	}
}

/* A link, and below the same name a directory: what is written there would go through the link. */
Test(git_entry, trees_that_no_git_makes)
{
	sh("cd r; b=$(printf x | git hash-object -w --stdin); l=$(printf /etc | git hash-object -w --stdin);"
	   "t=$(printf '100644 blob %s\\tpasswd\\n' $b | git mktree);"
	   "d=$(printf '120000 blob %s\\tl\\n040000 tree %s\\tl\\n' $l $t | git mktree);"
	   "git branch twice $(git commit-tree -m x $d);"
	   "g=$(printf '100644 blob %s\\tconfig\\n' $b | git mktree);"
	   "d=$(printf '040000 tree %s\\t.git\\n' $g | git mktree); git branch dotgit $(git commit-tree -m x $d);"
	   "d=$(printf '040000 tree %s\\t..\\n' $g | git mktree); git branch dots $(git commit-tree -m x $d)");
	expect_refused("r", "dotgit", NULL, "git");
	expect_refused("r", "dots", NULL, "git");
	{
		struct error err;

		if (fetch("r", "twice", NULL, &err) == 0)
			drop_entry();
		cr_expect_eq(entries_in_staging(), 0);
	}
}

Test(git_entry, words_that_look_like_something_else)
{
	static const char *const repos[] = {"ext::sh -c touch% ran", "ssh://x/y", "git://x/y", "file:///etc",
		"host:path", "ftp://x/y", "https://", "https://-oProxyCommand=x/", "http://a b/"};
	struct error err;

	sh("cd r; git update-ref 'refs/heads/-x' HEAD; git update-ref 'refs/heads/--upload-pack=touch' HEAD");
	for (size_t i = 0; i < sizeof repos / sizeof *repos; i++) {
		cr_expect_eq(fetch(repos[i], NULL, NULL, &err), -1, "%s", repos[i]);
		cr_expect_eq(err.code, ERROR_GIT_CLONE);
		cr_expect_eq(err.retryable, ERROR_RETRY_NO, "%s was tried: %s", repos[i], err.text);
	}
	expect_refused("r", "--upload-pack=touch", NULL, "ref");
	expect_refused("r", "-x", NULL, "ref");
	expect_refused("r", "a..b", NULL, "ref");
	expect_refused("r", "main:refs/heads/x", NULL, "ref");
	expect_refused("r", "main^{/x}", NULL, "ref");
	cr_expect_eq(fetch("https://user:secret@host/x", NULL, NULL, &err), -1);
	cr_expect_null(strstr(err.text, "secret"), "%s", err.text);
}

Test(git_entry, a_server_that_is_not_there)
{
	struct error err;

	cr_expect_eq(fetch("http://127.0.0.1:1/x.git", NULL, NULL, &err), -1);
	cr_expect_eq(err.code, ERROR_GIT_CLONE);
	cr_expect_not_null(strstr(err.text, "127.0.0.1"), "%s", err.text);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect_eq(entries_in_staging(), 0);
}

/* A server that serves files only, on the loopback. */
Test(git_entry, by_http)
{
	char url[64], port[8] = "";
	cleanup_close int fd = -1;

	sh("git clone -q --bare r served.git; git -C served.git update-server-info;"
	   "python3 -c 'import http.server, os, sys\n"
	   "s = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler)\n"
	   "open(\"port.new\", \"w\").write(str(s.server_port))\n"
	   "os.rename(\"port.new\", \"port\")\n"
	   "s.serve_forever()' >/dev/null 2>&1 & echo $! > pid; while ! test -e port; do sleep 0.05; done");
	fd = openat(scene, "port", O_RDONLY | O_CLOEXEC);
	cr_assert_gt(read(fd, port, sizeof port - 1), 0);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%s/served.git", port);
	expect_fetched(url, NULL, NULL, "a", "three");
	expect_fetched(url, "v1", "sub", "run", "two");
	sh("kill $(cat pid)");
}

Test(git_entry, limits_are_met_before_anything_is_written)
{
	struct work work = WORK_INIT;
	struct error err;

	sh("cd r; head -c 40M /dev/zero > big; git add big; git commit -qm big; rm big");
	work.bytes_max = 20 << 20;
	cr_expect_eq(fetch_limited(&work, "r", NULL, NULL, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT, "%s", err.text);
	cr_expect_not_null(strstr(err.text, "\"big\""), "%s", err.text);
	work = (struct work)WORK_INIT;
	work.files_max = 2;
	cr_expect_eq(fetch_limited(&work, "r", NULL, NULL, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT, "%s", err.text);
	cr_expect_eq(entries_in_staging(), 0);
}

/* Ten trees of ten trees, ten levels deep: the list would have ten thousand million lines. */
Test(git_entry, a_tree_bomb)
{
	struct work work = WORK_INIT;
	struct error err;

	sh("cd r; t=$(printf '100644 blob %s\\tf\\n' $(printf x | git hash-object -w --stdin) | git mktree);"
	   "for i in 1 2 3 4 5 6 7 8 9 10; do t=$(for j in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $t $j; "
	   "done | git mktree); done; git branch bomb $(git commit-tree -m x $t)");
	work.files_max = 20000;
	cr_expect_eq(fetch_limited(&work, "r", "bomb", NULL, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT, "%s", err.text);
	cr_expect_eq(entries_in_staging(), 0);
}

Test(git_entry, a_fifo_in_the_repository_is_cancelled)
{
	struct work work = WORK_INIT;
	int ends[2];
	struct error err;

	sh("cd r/.git; rm HEAD; mkfifo HEAD");
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	work.cancel_fd = ends[0];
	cr_assert_eq(write(ends[1], "x", 1), 1);
	cr_expect_eq(fetch_limited(&work, "r", NULL, NULL, &err), -1);
	cr_expect_eq(err.code, ERROR_CANCELLED, "%s", err.text);
	cr_expect_eq(entries_in_staging(), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* Readable by its owner alone, as root's repositories may be. */
Test(git_entry, a_private_repository)
{
	sh("chmod -R go= r");
	expect_fetched("r", NULL, NULL, "a", "three");
}
