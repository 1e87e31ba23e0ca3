/*
 * Without this, 127.0.0.1 is unreachable in a new network namespace and everything that talks to itself breaks.
 * The request was composed at build time (loopback_message.c).
 */
#include "ns/loopback.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ns/loopback_message.h"

int loopback_up(struct error *err)
{
	cleanup_close int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[128];
	} answer = {0};
	ssize_t n;

	if (sock < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "netlink socket", "loopback cannot be brought up");
	n = send(sock, loopback_message, sizeof loopback_message, 0);
	if (n == (ssize_t)sizeof loopback_message)
		n = recv(sock, &answer, sizeof answer, 0);
	if (n < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "netlink", "loopback cannot be brought up");
	if ((size_t)n < sizeof answer.header + sizeof answer.error || answer.header.nlmsg_type != NLMSG_ERROR)
		return error_set_errno(err, ERROR_UNENFORCEABLE, EPROTO, "netlink", "loopback cannot be brought up");
	if (answer.error.error != 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, -answer.error.error, "RTM_NEWLINK", "loopback cannot be brought up");
	return 0;
}
