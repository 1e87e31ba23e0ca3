/*
 * Runs when pinfold is built: prints, as a C array, the rtnetlink request that sets IFF_UP on interface 1. The
 * interface of a new network namespace is always lo with index 1, so the request never changes; libmnl composes it
 * here, and the launch, which may not allocate and should load no library it does not need, only sends the bytes.
 */
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
	char buffer[256] = {0};
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *interface;

	header->nlmsg_type = RTM_NEWLINK;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	header->nlmsg_seq = 1;
	interface = mnl_nlmsg_put_extra_header(header, sizeof *interface);
	interface->ifi_family = AF_UNSPEC;
	interface->ifi_index = 1;
	interface->ifi_change = IFF_UP;
	interface->ifi_flags = IFF_UP;

	(void)puts("/* Made by loopback_message.c. */\nstatic const unsigned char loopback_message[] = {");
	for (unsigned i = 0; i < header->nlmsg_len; i++)
		(void)printf("%#04x,%s", (unsigned)(unsigned char)buffer[i], i % 16 == 15 ? "\n" : " ");
	(void)puts("\n};");
	return 0;
}
