/*
 * The filters in the kernel: programs that must run under them, and calls that must be refused by them. A child of its
 * own takes the filter on; a program that this machine lacks is a skipped test.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "seccomp/filter.h"
#include "tests/unit/harness.h"

TestSuite(filter_live, .fini = harness_leak_check, .timeout = 120);

#define N_OF(array)  (sizeof(array) / sizeof *(array))
#define STATUS_SKIP  77 /* the program is not there */
#define STATUS_CHILD 99 /* the child could not take the filter on */

static struct filter make(const char *profile, bool nested, struct arena *arena)
{
	struct filter_request request = {.profile = profile, .nested_namespaces = nested};
	cleanup_diag struct diag diag = {0};
	struct filter filter = {0};
	struct error err = {0};
	int why;

	if (!filter_probe(&why))
		cr_skip("this kernel has no filters");
	harness_ok(filter_make(&request, arena, &filter, &diag, &err), &err);
	return filter;
}

static void take_filter(const struct filter *filter)
{
	struct sock_fprog program = {(unsigned short)filter->n, (struct sock_filter *)filter->instructions};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		_exit(STATUS_CHILD);
}

static int wait_status(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_script(const struct filter *filter, const char *directory, const char *script)
{
	char *argv[] = {(char *)"sh", (char *)"-euc", (char *)script, NULL};
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if (chdir(directory) < 0 || setenv("HOME", directory, 1) < 0)
			_exit(STATUS_CHILD);
		take_filter(filter);
		execv("/bin/sh", argv);
		_exit(STATUS_CHILD);
	}
	return wait_status(pid);
}

static void expect_runs(const char *profile, bool nested, const char *program, const char *script)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct error err = {0};
	struct filter filter;
	char directory[256], text[4096];
	int status;

	harness_ok(arena_new(&arena, &err), &err);
	filter = make(profile, nested, arena);
	fd_close(harness_tmpdir(directory, sizeof directory));
	snprintf(text, sizeof text, "command -v %s >/dev/null || exit %d\n%s", program, STATUS_SKIP, script);
	status = run_script(&filter, directory, text);
	harness_rm_tree(directory);
	if (status == STATUS_SKIP)
		cr_skip("%s is not here", program);
	cr_expect_eq(status, 0, "%s ends with %d under %s", program, status, profile);
}

#define RUNS(name, program, script)                              \
	Test(filter_live, name##_under_default)                  \
	{                                                        \
		expect_runs(":default", false, program, script); \
	}
#define RUNS_STRICT(name, program, script)                      \
	RUNS(name, program, script)                             \
	Test(filter_live, name##_under_strict)                  \
	{                                                       \
		expect_runs(":strict", false, program, script); \
	}

RUNS_STRICT(shell, "sh",
	"test -z \"$(ls -l / 2>&1 >/dev/null)\"; echo x >a; cp a b; mv b c; test \"$(cat c | tr x y)\" = y; cp -p c d; rm a c d")

RUNS_STRICT(python_threads, "python3",
	"python3 -c 'import threading as t; x=t.Thread(target=print,args=(1,)); x.start(); x.join()' >out; test \"$(cat out)\" = 1")

RUNS_STRICT(python_processes, "python3",
	"cat >p.py <<'X'\n"
	"import multiprocessing as m, subprocess, tempfile, asyncio\n"
	"def f(x): return x * x\n"
	"if __name__ == '__main__':\n"
	"    with m.Pool(2) as p: assert p.map(f, range(4)) == [0, 1, 4, 9]\n"
	"    assert subprocess.run(['echo', 'y'], capture_output=True).stdout == b'y\\n'\n"
	"    tempfile.TemporaryDirectory().cleanup()\n"
	"    asyncio.run(asyncio.sleep(0))\n"
	"X\n"
	"python3 p.py")

RUNS_STRICT(compiler, "gcc",
	"printf '#include <pthread.h>\\n#include <stdio.h>\\nstatic void *f(void *x) { return x; }\\n"
	"int main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\\n' >a.c; "
	"gcc -O2 -pthread -o a a.c; ./a")

RUNS_STRICT(make_jobs, "make", "printf 'all: a b\\na b:\\n\\ttouch $@\\n' >Makefile; make -s -j2; test -e a -a -e b")

RUNS(git, "git",
	"export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; git init -q r; cd r; echo x >f; git add f; "
	"git -c user.name=n -c user.email=e@example.invalid commit -q -m m; git clone -q . ../s; git gc -q; "
	"test \"$(git log --oneline | wc -l)\" = 1")

RUNS(node_workers, "node",
	"node -e \"const {Worker} = require('worker_threads'); const w = new Worker('require(\\\"worker_threads\\\")"
	".parentPort.postMessage(6*7)', {eval: true}); w.on('message', m => process.exitCode = m === 42 ? 0 : 1); "
	"require('fs').promises.writeFile('x', 'y').then(() => require('child_process').execFileSync('true'))\"")

RUNS(archives, "tar", "mkdir d; echo x >d/f; tar -czf d.tar.gz d; mkdir e; tar -xzf d.tar.gz -C e; cmp d/f e/d/f")

RUNS(sockets, "python3",
	"cat >s.py <<'X'\n"
	"import socket, threading\n"
	"s = socket.create_server(('127.0.0.1', 0))\n"
	"threading.Thread(target=lambda: s.accept()[0].sendall(b'ok')).start()\n"
	"assert socket.create_connection(s.getsockname()).recv(2) == b'ok'\n"
	"socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\n"
	"X\n"
	"python3 s.py")

/* --- refused, by the kernel and in its words --- */

struct refused {
	long number;
	long args[5];
	int wanted;
};

#define BAD (-1L)

static const struct refused refused[] = {
	{SYS_mount, {BAD, BAD, BAD, BAD, BAD}, EPERM},
	{SYS_umount2, {BAD, BAD}, EPERM},
	{SYS_pivot_root, {BAD, BAD}, EPERM},
	{SYS_chroot, {BAD}, EPERM},
	{SYS_unshare, {CLONE_NEWUSER}, EPERM},
	{SYS_setns, {BAD, 0}, EPERM},
	{SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
	{SYS_open_tree, {BAD, BAD, BAD}, EPERM},
	{SYS_move_mount, {BAD, BAD, BAD, BAD, BAD}, EPERM},
	{SYS_fsopen, {BAD, BAD}, EPERM},
	{SYS_mount_setattr, {BAD, BAD, BAD, BAD, BAD}, EPERM},
	{SYS_bpf, {BAD, BAD, BAD}, EPERM},
	{SYS_perf_event_open, {BAD, 0, 0, BAD, 0}, EPERM},
	{SYS_userfaultfd, {BAD}, EPERM},
	{SYS_add_key, {BAD, BAD, BAD, BAD, 0}, EPERM},
	{SYS_keyctl, {BAD, 0, 0, 0, 0}, EPERM},
	{SYS_ptrace, {BAD, BAD, 0, 0}, EPERM},
	{SYS_process_vm_readv, {BAD, BAD, 0, BAD, 0}, EPERM},
	{SYS_kcmp, {BAD, BAD, BAD}, EPERM},
	{SYS_open_by_handle_at, {BAD, BAD, BAD}, EPERM},
	{SYS_kexec_load, {BAD, BAD, BAD, BAD}, EPERM},
	{SYS_init_module, {BAD, BAD, BAD}, EPERM},
	{SYS_syslog, {BAD, BAD, BAD}, EPERM},
	{SYS_mbind, {BAD, BAD, BAD, BAD, BAD}, EPERM},
	{SYS_clone3, {BAD, BAD}, ENOSYS},
	{SYS_openat2, {BAD, BAD, BAD, BAD}, ENOSYS},
	{SYS_io_uring_setup, {4, BAD}, ENOSYS},
	{463, {BAD, BAD, BAD, BAD, BAD}, ENOSYS},
	{1000, {0}, ENOSYS},
	{0x40000000 | 39, {0}, ENOSYS},
	{SYS_chmod, {BAD, 04755}, EPERM},
	{SYS_fchmod, {BAD, 02755}, EPERM},
	{SYS_fchmodat, {BAD, BAD, 04755}, EPERM},
	{452, {BAD, BAD, 04755, 0}, EPERM},
	{SYS_creat, {BAD, 04755}, EPERM},
	{SYS_mkdir, {BAD, 02755}, EPERM},
	{SYS_mknodat, {BAD, BAD, S_IFCHR | 0600, 0x103}, EPERM},
	{SYS_openat, {BAD, BAD, O_CREAT | O_WRONLY, 04755}, EPERM},
	{SYS_ioctl, {0, 0x5412, BAD}, EPERM},
	{SYS_ioctl, {0, 0x100005412, BAD}, EPERM},
	{SYS_ioctl, {0, 0x541c, BAD}, EPERM},
	{SYS_prlimit64, {1, 7, BAD, 0}, EPERM},
	{SYS_sched_setaffinity, {1, 8, BAD}, EPERM},
	{SYS_setpriority, {2, 0, 5}, EPERM},
	{SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
	{SYS_socket, {AF_NETLINK, SOCK_RAW, 9}, EPROTONOSUPPORT},
};

static int refused_errno(const struct refused *call)
{
	const long *a = call->args;

	return syscall(call->number, a[0], a[1], a[2], a[3], a[4]) < 0 ? errno : 0;
}

/* Writes each answer to a pipe: after the filter the child only makes calls. */
static void collect_refusals(const struct filter *filter, int ret_errnos[N_OF(refused)])
{
	size_t size = N_OF(refused) * sizeof *ret_errnos;
	int ends[2];
	pid_t pid;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		take_filter(filter);
		for (size_t i = 0; i < N_OF(refused); i++)
			ret_errnos[i] = refused_errno(&refused[i]);
		_exit(fd_write_all(ends[1], ret_errnos, size) < 0);
	}
	fd_close(ends[1]);
	cr_expect_eq(read(ends[0], ret_errnos, size), (ssize_t)size);
	fd_close(ends[0]);
	cr_expect_eq(wait_status(pid), 0);
}

Test(filter_live, refused_calls_have_the_right_errno)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	int errnos[N_OF(refused)];
	struct error err = {0};
	struct filter filter;

	harness_ok(arena_new(&arena, &err), &err);
	filter = make(":default", false, arena);
	collect_refusals(&filter, errnos);
	for (size_t i = 0; i < N_OF(refused); i++)
		cr_expect_eq(errnos[i], refused[i].wanted, "call %ld (row %zu): %s instead of %s", refused[i].number, i,
			error_errno_name(errnos[i]), error_errno_name(refused[i].wanted));
}

Test(filter_live, every_built_in_filter_is_taken_by_the_kernel)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct error err = {0};

	harness_ok(arena_new(&arena, &err), &err);
	for (size_t i = 0; filter_profile_names[i] != NULL; i++)
		for (int nested = 0; nested < 2; nested++) {
			struct filter filter = make(filter_profile_names[i], nested == 1, arena);

			cr_expect_eq(run_script(&filter, "/", "true"), 0, "%s", filter_profile_names[i]);
		}
}

Test(filter_live, entries_of_32_bits_are_killed)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct error err = {0};
	struct filter filter;
	pid_t pid;
	int status;

	harness_ok(arena_new(&arena, &err), &err);
	filter = make(":default", true, arena);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		long number = 20; /* getpid there */

		signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would hide it */
		take_filter(&filter);
		__asm__ volatile("int $0x80" : "+a"(number) : : "memory");
		_exit(0);
	}
	status = wait_status(pid);
	if (status == 128 + SIGSEGV)
		cr_skip("this kernel has no 32-bit entry");
	cr_expect_eq(status, 128 + SIGSYS, "the child ended with %d", status);
}
