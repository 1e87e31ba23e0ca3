/* What guards of several runs in one workspace tell each other. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/name_claim.h"
#include "tests/unit/guard_scene.h"
#include "tests/unit/harness.h"

TestSuite(guard_claims, .fini = harness_leak_check, .timeout = 60);

/* Another run that keeps ".envrc" absent. */
static int claim_for_another(const struct scene *scene)
{
	int fd = open(scene->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert(name_claim(fd, ".envrc"));
	return fd;
}

Test(guard_claims, waits_for_what_another_run_removes)
{
	struct scene scene;
	cleanup_close int other = -1;
	pid_t child;

	scene_set(&scene);
	other = claim_for_another(&scene);
	scene_put_file(scene.wsfd, ".envrc");
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		(void)usleep(100000);
		_exit(unlinkat(scene.wsfd, ".envrc", 0) == 0 ? 0 : 1);
	}
	scene_start(&scene);
	cr_expect_eq(waitpid(child, NULL, 0), child);
	cr_expect_eq(scene.violations.n, 0);
	scene_put_file(scene.wsfd, ".envrc");
	scene_expect_removal(&scene, ".envrc");
	scene_strike(&scene);
}

/* Anybody can claim a name. */
Test(guard_claims, does_not_remove_what_another_run_only_claims)
{
	struct scene scene;
	struct error err = {0};
	cleanup_close int other = -1;

	scene_set(&scene);
	other = claim_for_another(&scene);
	scene_put_file(scene.wsfd, ".envrc");
	cr_expect_eq(scene_try_start(&scene, &err), -1);
	cr_expect_eq(err.retryable, ERROR_RETRY_YES);
	cr_expect(scene_has(scene.wsfd, ".envrc"));
	scene_strike(&scene);
}

Test(guard_claims, tells_others_what_it_keeps_absent)
{
	struct scene scene;
	struct error err = {0};

	scene_set(&scene);
	cr_expect(!name_is_claimed(scene.wsfd, ".git/hooks"));
	scene_start(&scene);
	cr_expect(name_is_claimed(scene.wsfd, ".git/hooks"));
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect(name_is_claimed(scene.wsfd, ".git/hooks"), "until the last look is over");
	scene.guard = guard_free(scene.guard);
	cr_expect(!name_is_claimed(scene.wsfd, ".git/hooks"));
	scene_strike(&scene);
}
