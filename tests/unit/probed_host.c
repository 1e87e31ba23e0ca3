#include "tests/unit/probed_host.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/harness.h"

static const struct host_wants no_wants;

struct host probe_here(const char *workspace)
{
	struct host host;
	struct error err;

	harness_ok(host_init(&host, &err), &err);
	harness_ok(host_probe(&host, workspace, &no_wants, &err), &err);
	host_done(&host);
	return host;
}

struct host probe_in_child(const char *what, int (*setup)(void))
{
	struct host host;
	int pipe_fds[2];
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		struct error err = {0};

		if (setup() == 0) {
			if (host_init(&host, &err) < 0 || host_probe(&host, NULL, &no_wants, &err) < 0)
				_exit(1);
			(void)!write(pipe_fds[1], &host, sizeof host);
		}
		_exit(0);
	}
	close(pipe_fds[1]);
	n = read(pipe_fds[0], &host, sizeof host);
	close(pipe_fds[0]);
	cr_assert_eq(waitpid(pid, &(int){0}, 0), pid);
	if (n == 0)
		cr_skip_test("%s cannot be set up by this user here", what);
	cr_assert_eq(n, (ssize_t)sizeof host);
	return host;
}
