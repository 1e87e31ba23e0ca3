/*
 * The Landlock fence in the kernel, without any namespace or mount around it: each rung of the ladder that this kernel
 * has is taken by itself, and each act must be refused from the rung on that claims it, and go through below. A child
 * of its own goes behind the fence.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "ns/landlock.h"
#include "runtime/host/kernel_probe.h"
#include "tests/unit/harness.h"

TestSuite(landlock, .fini = harness_leak_check);

#define NEVER       99 /* no rung refuses it */
#define CHILD_WRONG 98
#define ABI_TESTED  7

static char tree[256];
static struct sockaddr_un listener = {.sun_family = AF_UNIX};
static socklen_t listener_size;
static int stream_out = -1, stream_in = -1;

static int act_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	return fd < 0 ? -1 : close(fd);
}

static int write_inside(void)
{
	return act_open("in/file", O_WRONLY | O_TRUNC);
}

static int make_inside(void)
{
	return mkdir("in/new", 0755) < 0 || symlink("x", "in/link") < 0 || mkfifo("in/fifo", 0644) < 0 ||
			act_open("in/made", O_WRONLY | O_CREAT | O_EXCL) < 0 || unlink("in/made") < 0 ||
			rmdir("in/new") < 0
		? -1
		: 0;
}

static int move_inside(void)
{
	return rename("in/a/x", "in/b/x") < 0 || link("in/b/x", "in/a/x") < 0 ? -1 : 0;
}

static int unnamed_file(void)
{
	char self[64];
	int fd = open("in", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	(void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, "in/named", AT_SYMLINK_FOLLOW);
}

static int write_file_rule(void)
{
	return act_open("single", O_WRONLY | O_APPEND);
}

static int read_outside(void)
{
	return act_open("out/file", O_RDONLY);
}

static int write_outside(void)
{
	return act_open("out/file", O_WRONLY);
}

static int create_outside(void)
{
	return act_open("out/new", O_WRONLY | O_CREAT);
}

static int mkdir_outside(void)
{
	return mkdir("out/d", 0755);
}

static int link_outside(void)
{
	return symlink("x", "out/l");
}

static int fifo_outside(void)
{
	return mkfifo("out/p", 0644);
}

static int unlink_outside(void)
{
	return unlink("out/gone");
}

static int rmdir_outside(void)
{
	return rmdir("out/empty");
}

static int move_out(void)
{
	return rename("in/mv", "out/mv");
}

static int move_in(void)
{
	return rename("out/mv-in", "in/mv-in");
}

static int truncate_outside(void)
{
	return truncate("out/file", 0);
}

static int reopen(int fd, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return act_open(path, flags);
}

static int reopen_output(void)
{
	return reopen(stream_out, O_WRONLY | O_TRUNC);
}

static int reopen_input(void)
{
	return reopen(stream_in, O_WRONLY);
}

static int bind_tcp(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (struct sockaddr *)&any, sizeof any);
}

/* Nobody listens there: with no fence, that is the answer. */
static int connect_tcp(void)
{
	struct sockaddr_in nobody = {
		.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)&nobody, sizeof nobody);

	return r < 0 && errno == ECONNREFUSED ? 0 : r;
}

/* /dev/zero knows no such request: with no fence, that is the answer. */
static int ioctl_device(void)
{
	struct termios unused;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : ioctl(fd, TCGETS, &unused);

	return r < 0 && errno == ENOTTY ? 0 : r;
}

static int signal_outside(void)
{
	return kill(getppid(), 0);
}

static int signal_own_child(void)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			(void)pause();
	return kill(child, SIGKILL) < 0 || waitpid(child, NULL, 0) != child ? -1 : 0;
}

static int connect_abstract(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&listener, listener_size);
}

static int connect_own_abstract(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	socklen_t size = sizeof own;
	int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Made behind the fence: reachable there. */
	if (bind(fd, (struct sockaddr *)&own, sizeof own.sun_family) < 0 || listen(fd, 1) < 0 ||
		getsockname(fd, (struct sockaddr *)&own, &size) < 0)
		return -1;
	return connect(other, (struct sockaddr *)&own, size);
}

static const struct {
	const char *name;
	int (*act)(void);
	unsigned from; /* refused from this ABI on */
} acts[] = {
	{"write inside", write_inside, NEVER},
	{"make inside", make_inside, NEVER},
	{"move inside", move_inside, NEVER},
	{"unnamed file inside", unnamed_file, NEVER},
	{"write a file that is a rule", write_file_rule, NEVER},
	{"read outside", read_outside, NEVER},
	{"reopen an output", reopen_output, NEVER},
	{"signal an own child", signal_own_child, NEVER},
	{"connect to an own abstract socket", connect_own_abstract, NEVER},
	{"write outside", write_outside, 2},
	{"create outside", create_outside, 2},
	{"mkdir outside", mkdir_outside, 2},
	{"symlink outside", link_outside, 2},
	{"fifo outside", fifo_outside, 2},
	{"unlink outside", unlink_outside, 2},
	{"rmdir outside", rmdir_outside, 2},
	{"move out", move_out, 2},
	{"move in", move_in, 2},
	{"reopen an input for writing", reopen_input, 2},
	{"truncate outside", truncate_outside, 3},
	{"bind TCP", bind_tcp, 4},
	{"connect TCP", connect_tcp, 4},
	{"ioctl on a device", ioctl_device, 5},
	{"signal the parent", signal_outside, 6},
	{"connect to an abstract socket of the parent", connect_abstract, 6},
};
#define N_ACTS (sizeof acts / sizeof *acts)

static void make_tree(void)
{
	static const char *const directories[] = {"in", "in/a", "in/b", "out", "out/empty"};
	static const char *const files[] = {"in/file", "in/a/x", "in/mv", "out/file", "out/gone", "out/mv-in", "single"};

	(void)close(harness_tmpdir(tree, sizeof tree));
	cr_assert_eq(chdir(tree), 0);
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		cr_assert_eq(mkdir(directories[i], 0755), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		cr_assert_eq(act_open(files[i], O_WRONLY | O_CREAT), 0);
	stream_out = open("out/stream", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	stream_in = open("out/file", O_RDONLY | O_CLOEXEC);
}

static int listen_abstract(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	listener_size = sizeof listener;
	cr_assert_eq(bind(fd, (struct sockaddr *)&listener, sizeof listener.sun_family), 0); /* a name of the kernel's */
	cr_assert_eq(listen(fd, 5), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&listener, &listener_size), 0);
	return fd;
}

/* Behind the fence of this ABI: what went otherwise than it should, 1 + its number, or 0. */
static int try_act(const struct landlock_abilities *can, size_t i, unsigned abi)
{
	char in[300], single[300];
	struct landlock_rule rules[] = {
		{in, can->tree, false}, {single, can->tree, false}, {"/nowhere/at/all", can->tree, true}};
	struct landlock_plan plan = {.files = can->files,
		.tcp = can->tcp,
		.scopes = can->scopes,
		.rules = rules,
		.n_rules = 3,
		.stream_access = can->content};
	int pipe_fds[2];
	int ruleset = -1;
	int r;

	(void)snprintf(in, sizeof in, "%s/in", tree);
	(void)snprintf(single, sizeof single, "%s/single", tree);
	if (pipe(pipe_fds) < 0)
		return CHILD_WRONG;
	if (landlock_make(&plan, (int[]){stream_in, stream_out, pipe_fds[1], -1}, 4, &ruleset, NULL) < 0)
		return CHILD_WRONG;
	if ((ruleset >= 0) != (abi >= 2))
		return CHILD_WRONG;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		(ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0))
		return CHILD_WRONG;
	r = acts[i].act();
	if (r < 0 && errno != EACCES && errno != EPERM && errno != EXDEV)
		return CHILD_WRONG;
	return (r < 0) == (abi >= acts[i].from) ? 0 : 1;
}

static int in_child(const struct landlock_abilities *can, size_t i, unsigned abi)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(try_act(can, i, abi));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_WRONG;
}

static unsigned kernel_abi(void)
{
	unsigned abi = 0;

	if (kernel_landlock_abi(&abi) < 0)
		cr_skip("this kernel has no Landlock: %s", strerror(errno));
	return abi;
}

Test(landlock, each_rung_refuses_its_own_and_no_more)
{
	unsigned abi_max = kernel_abi();

	for (unsigned abi = 0; abi <= abi_max && abi <= ABI_TESTED; abi++) {
		struct landlock_abilities can = landlock_abilities(abi);
		int listening = listen_abstract();

		for (size_t i = 0; i < N_ACTS; i++) {
			make_tree();
			cr_expect_eq(in_child(&can, i, abi), 0, "%s under ABI %u", acts[i].name, abi);
			cr_assert_eq(chdir("/"), 0);
			(void)close(stream_in);
			(void)close(stream_out);
			harness_rm_tree(tree);
		}
		(void)close(listening);
	}
}

Test(landlock, a_place_that_is_gone_is_an_error_unless_it_may_be)
{
	struct landlock_abilities can = landlock_abilities(kernel_abi());
	struct landlock_rule rule = {"/nowhere/at/all", can.tree, false};
	struct landlock_plan plan = {.files = can.files, .rules = &rule, .n_rules = 1};
	struct error err = {0};
	int before = harness_count_fds();
	int fd = -1;

	cr_expect_lt(landlock_make(&plan, NULL, 0, &fd, &err), 0);
	cr_expect_not_null(strstr(err.text, "/nowhere/at/all"), "%s", err.text);
	cr_expect_eq(fd, -1);
	cr_expect_eq(harness_count_fds(), before);
}

Test(landlock, a_symlink_on_the_way_is_refused)
{
	struct landlock_abilities can = landlock_abilities(kernel_abi());
	char path[300];
	struct landlock_rule rule = {path, can.tree, false};
	struct landlock_plan plan = {.files = can.files, .rules = &rule, .n_rules = 1};
	struct error err = {0};
	int fd = -1;

	make_tree();
	cr_assert_eq(symlink("out", "way"), 0);
	(void)snprintf(path, sizeof path, "%s/way", tree);
	cr_expect_lt(landlock_make(&plan, NULL, 0, &fd, &err), 0);
	cr_expect_eq(err.sys_errno, ELOOP);
	cr_assert_eq(chdir("/"), 0);
	harness_rm_tree(tree);
}

Test(landlock, the_ladder_only_grows)
{
	struct landlock_abilities before = {0};

	cr_expect_eq(landlock_abilities(1).files, 0, "ABI 1 denies every move between directories");
	for (unsigned abi = 0; abi <= 30; abi++) {
		struct landlock_abilities can = landlock_abilities(abi);

		cr_expect_eq(before.files & ~can.files, 0);
		cr_expect_eq(before.tcp & ~can.tcp, 0);
		cr_expect_eq(before.scopes & ~can.scopes, 0);
		cr_expect_eq((can.tree | can.content | can.truncate) & ~can.files, 0, "gives back what is not held");
		before = can;
	}
}
