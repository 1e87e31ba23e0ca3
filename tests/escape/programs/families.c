/* Socket families that reach past a network namespace, or into parts of the kernel that a command has no use for. */
#include <sys/socket.h>

#include "hostile.h"

static const struct {
	const char *name;
	int family, type;
} families[] = {
	{"AF_VSOCK", 40, SOCK_STREAM},
	{"AF_ALG", 38, SOCK_SEQPACKET},
	{"AF_PACKET", 17, SOCK_RAW},
	{"AF_BLUETOOTH", 31, SOCK_RAW},
	{"AF_CAN", 29, SOCK_RAW},
	{"AF_XDP", 44, SOCK_RAW},
	{"AF_TIPC", 30, SOCK_SEQPACKET},
	{"AF_KEY", 15, SOCK_RAW},
	{"AF_RDS", 21, SOCK_SEQPACKET},
	{"AF_QIPCRTR", 42, SOCK_DGRAM},
	{"AF_NFC", 39, SOCK_SEQPACKET},
	{"AF_INET raw", AF_INET, SOCK_RAW},
	{"AF_INET6 raw", AF_INET6, SOCK_RAW},
};

int main(void)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (unsigned long garbage = 0; garbage < 2; garbage++) {
			errno = 0;
			long fd = syscall(
				SYS_socket, (garbage << 32) | (unsigned long)families[i].family, families[i].type, 0);

			tried(families[i].name, fd >= 0);
			if (fd >= 0)
				close((int)fd);
		}
	return verdict();
}
