#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/harness.h"

TestSuite(fd, .fini = harness_leak_check);

struct pair {
	int a, b;
};

static struct pair new_pair(int type)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){fds[0], fds[1]};
}

static void close_pair(struct pair *pair)
{
	(void)fd_close(pair->a);
	(void)fd_close(pair->b);
}
#define cleanup_pair __attribute__((cleanup(close_pair)))

static bool is_cloexec(int fd)
{
	return fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

Test(fd, close_returns_minus_one_and_keeps_errno)
{
	int before = harness_count_fds(), fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	errno = EXDEV;
	cr_expect_eq(fd_close(fd), -1);
	cr_expect_eq(fd_close(-1), -1);
	cr_expect_eq(errno, EXDEV);
	cr_expect_eq(harness_count_fds(), before);
}

Test(fd, write_all_through_a_small_pipe)
{
	static char sent[300000];
	cleanup_buf struct buf received = {0};
	struct error err;
	int fds[2], status;
	pid_t writer;

	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = (char)(i * 7 + i / 256);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	writer = fork();
	if (writer == 0)
		_exit(fd_write_all(fds[1], sent, sizeof sent) == 0 ? 0 : 1);
	(void)fd_close(fds[1]);
	harness_ok(fd_read_all(fds[0], sizeof sent, &received, &err), &err);
	(void)fd_close(fds[0]);
	cr_assert_eq(received.size, sizeof sent);
	cr_expect_eq(memcmp(received.data, sent, sizeof sent), 0);
	cr_assert_eq(waitpid(writer, &status, 0), writer);
	cr_expect_eq(status, 0);
}

Test(fd, write_all_reports_failure)
{
	cleanup_close int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_expect_eq(fd_write_all(full, "x", 1), -1);
	cr_expect_eq(errno, ENOSPC);
	cr_expect_eq(fd_write_all(full, "", 0), 0);
}

Test(fd, read_all_limits)
{
	cleanup_buf struct buf buf = {0};
	struct error err = {0};
	cleanup_close int exact = fd_memfile("x", "12345", 5, &err);

	harness_ok(exact, &err);
	harness_ok(fd_read_all(exact, 5, &buf, &err), &err);
	cr_expect_str_eq(buf_str(&buf), "12345");
	cr_assert_eq(lseek(exact, 0, SEEK_SET), 0);
	cr_assert_lt(fd_read_all(exact, 4, &buf, &err), 0);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_assert_eq(lseek(exact, 0, SEEK_SET), 0);
	cr_expect_lt(fd_read_all(exact, 0, &buf, &err), 0);
}

Test(fd, read_all_of_an_endless_file_ends)
{
	cleanup_close int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	cleanup_buf struct buf buf = {0};
	struct error err = {0};

	cr_expect_lt(fd_read_all(zero, 100000, &buf, &err), 0);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_leq(buf.size, 100000);
}

Test(fd, read_file)
{
	static const struct {
		const char *path;
		enum error_code code;
		int sys_errno;
	} rows[] = {
		{"/nonexistent/file", ERROR_NOT_FOUND, ENOENT},
		{"/dev/null/file", ERROR_NOT_FOUND, ENOTDIR},
		{"/", ERROR_IO, EISDIR},
		{"", ERROR_NOT_FOUND, ENOENT},
	};
	cleanup_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf buf = {0};
	struct error err = {0};

	harness_ok(fd_read_file(proc, "self/comm", 100, &buf, &err), &err);
	cr_expect_not_null(strstr(buf_str(&buf), "test_fd"));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_lt(fd_read_file(AT_FDCWD, rows[i].path, 100, &buf, &err), 0);
		cr_expect_eq(err.code, rows[i].code, "%s: %s", rows[i].path, err.text);
		cr_expect_eq(err.sys_errno, rows[i].sys_errno);
	}
}

Test(fd, memfile_cannot_be_changed)
{
	struct error err;
	cleanup_close int fd = fd_memfile("sealed", "content", 7, &err);
	cleanup_close int reopened = -1;
	char path[64], text[16] = "";

	harness_ok(fd, &err);
	cr_expect(is_cloexec(fd));
	cr_expect_eq(read(fd, text, sizeof text), 7, "it stands at its beginning");
	cr_expect_str_eq(text, "content");
	cr_expect_eq(write(fd, "x", 1), -1);
	cr_expect_eq(ftruncate(fd, 3), -1);
	cr_expect_eq(ftruncate(fd, 30), -1);
	cr_expect_eq(mmap(NULL, 7, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	cr_expect_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	reopened = open(path, O_RDWR | O_CLOEXEC);
	cr_expect(reopened < 0 || write(reopened, "x", 1) == -1);
}

Test(fd, memfile_may_be_empty)
{
	struct error err;
	cleanup_close int fd = fd_memfile("empty", NULL, 0, &err);
	char c;

	harness_ok(fd, &err);
	cr_expect_eq(read(fd, &c, 1), 0);
}

Test(fd, passes_descriptors)
{
	cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);
	const int sent[2] = {STDIN_FILENO, pair.a};
	int before = harness_count_fds(), fds[4] = {-1, -1, -1, -1};
	size_t n_fds = 99;
	char text[16];

	cr_assert_eq(fd_send(pair.a, "hello", 5, sent, 2), 0);
	cr_assert_eq(fd_receive(pair.b, text, sizeof text, fds, 4, &n_fds, 0), 5);
	cr_expect_arr_eq(text, "hello", 5);
	cr_assert_eq(n_fds, 2);
	cr_expect(same_file(fds[1], pair.a));
	cr_expect(is_cloexec(fds[0]));
	cr_expect(is_cloexec(fds[1]));
	cr_expect_eq(fds[2], -1);
	(void)fd_close(fds[0]);
	(void)fd_close(fds[1]);
	cr_expect_eq(harness_count_fds(), before);
}

Test(fd, passes_as_many_as_promised)
{
	cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);
	int before = harness_count_fds(), sent[FD_SEND_MAX + 1], fds[FD_SEND_MAX];
	size_t n_fds = 0;
	char c;

	for (size_t i = 0; i <= FD_SEND_MAX; i++)
		sent[i] = STDIN_FILENO;
	cr_expect_eq(fd_send(pair.a, "x", 1, sent, FD_SEND_MAX + 1), -1);
	cr_expect_eq(errno, EINVAL);
	cr_assert_eq(fd_send(pair.a, "x", 1, sent, FD_SEND_MAX), 0);
	cr_assert_eq(fd_receive(pair.b, &c, 1, fds, FD_SEND_MAX, &n_fds, 0), 1);
	cr_assert_eq(n_fds, FD_SEND_MAX);
	for (size_t i = 0; i < n_fds; i++)
		(void)fd_close(fds[i]);
	cr_expect_eq(harness_count_fds(), before);
}

Test(fd, receives_messages_without_descriptors)
{
	cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);
	size_t n_fds = 99;
	char text[16];

	cr_assert_eq(fd_send(pair.a, "one", 3, NULL, 0), 0);
	cr_assert_eq(fd_send(pair.a, "two!", 4, NULL, 0), 0);
	cr_expect_eq(fd_receive(pair.b, text, sizeof text, NULL, 0, &n_fds, 0), 3);
	cr_expect_eq(n_fds, 0);
	cr_expect_eq(fd_receive(pair.b, text, sizeof text, NULL, 0, NULL, 0), 4);
	cr_expect_eq(fd_receive(pair.b, text, sizeof text, NULL, 0, NULL, MSG_DONTWAIT), -1);
	cr_expect_eq(errno, EAGAIN);
	(void)fd_close(pair.a);
	pair.a = -1;
	cr_expect_eq(fd_receive(pair.b, text, sizeof text, NULL, 0, &n_fds, 0), 0);
}

Test(fd, send_refuses_what_reads_as_the_end)
{
	cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);

	cr_expect_eq(fd_send(pair.a, "", 0, NULL, 0), -1);
	cr_expect_eq(errno, EINVAL);
	(void)fd_close(pair.b);
	pair.b = -1;
	cr_expect_eq(fd_send(pair.a, "x", 1, NULL, 0), -1, "and no SIGPIPE");
	cr_expect_eq(errno, EPIPE);
}

/* What a hostile sender can do beyond fd_send: any number of descriptors the kernel takes, with any data. */
static void send_raw(int sock, const void *data, size_t size, size_t n_fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[253] = {0};

	control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	message.msg_control = n_fds > 0 ? &control : NULL;
	message.msg_controllen = n_fds > 0 ? CMSG_SPACE(n_fds * sizeof(int)) : 0;
	cr_assert_eq(sendmsg(sock, &message, MSG_NOSIGNAL), (ssize_t)size);
}

Test(fd, receive_closes_all_of_a_message_it_refuses)
{
	static const struct {
		size_t sent_size, sent_fds, max_size, max_fds;
		int sys_errno;
	} rows[] = {
		{1, 3, 10, 2, EMSGSIZE},
		{1, 1, 10, 0, EMSGSIZE},
		{1, 253, 10, 4, EMSGSIZE},
		{1, 253, 10, 252, EMSGSIZE},
		{20, 1, 10, 4, EMSGSIZE},
		{20, 0, 10, 4, EMSGSIZE},
		{0, 1, 10, 4, EBADMSG},
	};
	static const char data[32] = "abc";

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);
		int before = harness_count_fds(), fds[253] = {-7};
		size_t n_fds = 99;
		char received[32];

		send_raw(pair.a, data, rows[i].sent_size, rows[i].sent_fds);
		errno = 0;
		cr_expect_eq(fd_receive(pair.b, received, rows[i].max_size, fds, rows[i].max_fds, &n_fds, 0), -1);
		cr_expect_eq(errno, rows[i].sys_errno, "row %zu: %s", i, strerror(errno));
		cr_expect_eq(harness_count_fds(), before, "row %zu leaves descriptors open", i);
		cr_expect(n_fds == 99 && fds[0] == -7, "row %zu writes on failure", i);
	}
}

/* Short of descriptors, the kernel hands over some and says so by MSG_CTRUNC. */
Test(fd, receive_closes_what_came_when_numbers_run_out)
{
	cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);
	int before = harness_count_fds(), fds[10];
	struct rlimit limit = {.rlim_max = 4096};
	size_t n_fds = 99;
	char c;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	send_raw(pair.a, "x", 1, 10);
	limit.rlim_cur = (rlim_t)dup(0) + 3; /* at most three numbers are free */
	(void)fd_close((int)limit.rlim_cur - 3);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(fd_receive(pair.b, &c, 1, fds, 10, &n_fds, 0), -1);
	cr_expect_eq(errno, EMSGSIZE);
	cr_expect_eq(n_fds, 99);
	limit.rlim_cur = limit.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(harness_count_fds(), before);
}

Test(fd, receive_passes_over_other_control_messages)
{
	cleanup_pair struct pair pair = new_pair(SOCK_SEQPACKET);
	const int on = 1, sent = STDIN_FILENO;
	size_t n_fds = 0;
	int received = -1;
	char c;

	cr_assert_eq(setsockopt(pair.b, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
	cr_assert_eq(fd_send(pair.a, "x", 1, &sent, 1), 0);
	cr_expect_eq(fd_receive(pair.b, &c, 1, &received, 1, &n_fds, 0), 1);
	cr_expect_eq(n_fds, 1);
	cr_expect(is_cloexec(received));
	(void)fd_close(received);
}

Test(fd, set_nonblock)
{
	cleanup_pair struct pair pair = new_pair(SOCK_STREAM);
	struct error err = {0};

	harness_ok(fd_set_nonblock(pair.a, true, &err), &err);
	cr_expect(fcntl(pair.a, F_GETFL) & O_NONBLOCK);
	harness_ok(fd_set_nonblock(pair.a, false, &err), &err);
	cr_expect_not(fcntl(pair.a, F_GETFL) & O_NONBLOCK);
	cr_expect_lt(fd_set_nonblock(-1, true, &err), 0);
	cr_expect_eq(err.sys_errno, EBADF);
}

/* In a child, whose own standard descriptors can be spared. The status has a bit for each one that is wrong. */
static int stdio_after_closing(unsigned closed)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		int wrong = 0, fd;

		for (fd = 0; fd <= 2; fd++)
			closed >> fd & 1 ? (void)close(fd) : (void)0;
		if (fd_ensure_stdio() < 0)
			_exit(8);
		for (fd = 0; fd <= 2; fd++)
			wrong |= (fcntl(fd, F_GETFD) == 0 ? 0 : 1) << fd;
		_exit(wrong);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return status;
}

Test(fd, ensure_stdio_fills_every_hole)
{
	int before = harness_count_fds();

	for (unsigned closed = 0; closed < 8; closed++)
		cr_expect_eq(stdio_after_closing(closed), 0, "with mask %u closed", closed);
	cr_expect_eq(fd_ensure_stdio(), 0);
	cr_expect_eq(harness_count_fds(), before);
}
