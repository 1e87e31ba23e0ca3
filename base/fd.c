/*
 * Descriptors: whole reads and writes, sealed memory files, passing over a socket.
 *
 * Two kinds of caller. The parent side reports through struct error and may allocate. The functions that say only
 * "errno" are also used between fork and exec, so they neither allocate nor lock.
 *
 * Threat: fd_receive trusts nothing of the sender, who may be a compromised child. It leaves room for as many
 * descriptors as the kernel lets one message carry, so that nothing is cut off unseen; whatever arrives beyond what the
 * caller expects is closed together with the rest, since a message that breaks the protocol has no trustworthy part.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/quiet_write.h"

#define SCM_FDS_MAX 253 /* SCM_MAX_FD of the kernel, which no header exports */
#define READ_CHUNK  8192

/* Aligned as CMSG_FIRSTHDR wants it. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(SCM_FDS_MAX * sizeof(int))];
};

int fd_close(int fd)
{
	cleanup_close_fd(&fd);
	return -1;
}

int fd_write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static ssize_t read_some(int fd, void *data, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, data, size);
	} while (n < 0 && errno == EINTR);
	return n;
}

int fd_read_all(int fd, size_t max, struct buf *buf, struct error *err)
{
	char chunk[READ_CHUNK];
	size_t total = 0;
	ssize_t n;

	while ((n = read_some(fd, chunk, sizeof chunk)) > 0) {
		if ((size_t)n > max - total)
			return error_set(err, ERROR_LIMIT, "read", "longer than %zu bytes", max);
		buf_append(buf, chunk, (size_t)n);
		total += (size_t)n;
	}
	if (n < 0)
		return error_set_errno(err, ERROR_IO, errno, "read", "cannot read");
	return buf_check(buf, err);
}

static enum error_code open_error_code(int sys_errno)
{
	switch (sys_errno) {
	case ENOENT:
	case ENOTDIR: return ERROR_NOT_FOUND;
	case EACCES:
	case EPERM: return ERROR_PERMISSION_DENIED;
	default: return ERROR_IO;
	}
}

int fd_read_file(int dirfd, const char *path, size_t max, struct buf *buf, struct error *err)
{
	cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_set_errno(err, open_error_code(errno), errno, "open", "cannot open %s", path);
	if (fd_read_all(fd, max, buf, err) < 0)
		return error_prefix(err, "%s", path);
	return 0;
}

/* Fallback: where vm.memfd_noexec is 2 the kernel wants to hear that the file will never be executed (Linux 6.3). */
static int memfile_create(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
	if (fd < 0 && errno == EACCES)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	return fd;
}

/* A memory file has a size as any other: the caller's own RLIMIT_FSIZE holds for it. */
static int memfile_fill(int fd, const char *name, const char *data, size_t size, struct error *err)
{
	while (size > 0) {
		ssize_t n = quiet_write(fd, data, size);

		if (n < 0) {
			int sys_errno = errno;

			(void)error_set_errno(
				err, ERROR_IO, sys_errno, "write memory file", "cannot fill memory file %s", name);
			if (sys_errno == EFBIG)
				error_set_fix(err, "raise the limit of the size of a file that holds here (ulimit -f)");
			return -1;
		}
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

int fd_memfile(const char *name, const void *data, size_t size, struct error *err)
{
	cleanup_close int fd = memfile_create(name);

	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "memfd_create", "cannot make memory file %s", name);
	if (memfile_fill(fd, name, data, size, err) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set_errno(err, ERROR_IO, errno, "lseek", "cannot rewind memory file %s", name);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return error_set_errno(err, ERROR_IO, errno, "seal memory file", "cannot seal memory file %s", name);
	return steal_fd(&fd);
}

/* An empty datagram would read as the end of the connection on the other side. */
int fd_send(int sock, const void *data, size_t size, const int *fds, size_t n_fds)
{
	union control control = {0};
	struct iovec iov = {.iov_base = (void *)data, .iov_len = size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (size == 0 || n_fds > FD_SEND_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (n_fds > 0) {
		struct cmsghdr *header = &control.align;

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof *fds);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(n_fds * sizeof *fds);
		memcpy(CMSG_DATA(header), fds, n_fds * sizeof *fds);
	}
	do {
		n = sendmsg(sock, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n != size) {
		errno = EMSGSIZE;
		return -1;
	}
	return n < 0 ? -1 : 0;
}

/*
 * Descriptors that nobody but the queue of their own socket holds are closed by the kernel's collector of such circles
 * (unix(7), af_unix's garbage collector), on a thread of its own; older kernels collect in the close below, which then
 * takes as long as ever.
 */
void fd_close_aside(int *const *fds, size_t n)
{
	const char nothing = 0;
	int circle[FD_SEND_MAX];
	size_t held = 0;
	int ends[2];

	for (size_t i = 0; i < n; i++) {
		if (*fds[i] >= 0)
			circle[held++] = *fds[i];
	}
	if (held > 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0) {
		circle[held++] = ends[1];
		(void)fd_send(ends[0], &nothing, sizeof nothing, circle, held); /* refused: then closed as ever, below */
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	for (size_t i = 0; i < n; i++)
		cleanup_close_fd(fds[i]);
}

/* Collects every descriptor of the message. No message can hold more than the control buffer has room for. */
static size_t take_descriptors(struct msghdr *message, int fds[SCM_FDS_MAX])
{
	struct cmsghdr *header;
	size_t n = 0;

	for (header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
		size_t bytes = header->cmsg_len - CMSG_LEN(0);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds + n, CMSG_DATA(header), bytes);
		n += bytes / sizeof *fds;
	}
	return n;
}

static long refuse(const int *fds, size_t n, int sys_errno)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)fd_close(fds[i]);
	errno = sys_errno;
	return -1;
}

long fd_receive(int sock, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_n_fds, int flags)
{
	union control control;
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	int arrived[SCM_FDS_MAX];
	size_t n_arrived;
	ssize_t n;

	do {
		n = recvmsg(sock, &message, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	n_arrived = take_descriptors(&message, arrived);
	if (n_arrived > max_fds || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return refuse(arrived, n_arrived, EMSGSIZE);
	if (n == 0 && n_arrived > 0)
		return refuse(arrived, n_arrived, EBADMSG);
	if (n_arrived > 0)
		memcpy(fds, arrived, n_arrived * sizeof *fds);
	if (ret_n_fds != NULL)
		*ret_n_fds = n_arrived;
	return n;
}

int fd_set_nonblock(int fd, bool on, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		flags = fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
	if (flags < 0)
		return error_set_errno(err, ERROR_IO, errno, "fcntl", "cannot change descriptor %d", fd);
	return 0;
}

/* open gives the lowest free number, so each hole among 0, 1 and 2 is filled in turn. */
int fd_ensure_stdio(void)
{
	int fd;

	do {
		/* Inherited on purpose: these three are for the next program too. NOLINTNEXTLINE(android-cloexec-open) */
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -1;
	} while (fd <= STDERR_FILENO);
	(void)fd_close(fd);
	return 0;
}
