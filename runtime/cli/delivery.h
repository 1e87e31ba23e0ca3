/* --result-file and --result-fd: the result document for a program, besides what people see. */
#ifndef CLI_DELIVERY_H
#define CLI_DELIVERY_H

#include "base/error.h"
#include "runtime/cli/settings.h"

struct delivery {
	int directory_fd; /* of the result file; -1: none is wished */
	const char *name; /* of the file in it */
	int fd;           /* -1: none; borrowed from the caller */
};
#define DELIVERY_INIT                        \
	{                                    \
		.directory_fd = -1, .fd = -1 \
	}
#define cleanup_delivery __attribute__((cleanup(cli_delivery_done)))

/* Before the launch: what could not be delivered afterwards is refused now. */
must_check int cli_delivery_open(struct delivery *delivery, const struct settings *settings, struct error *err);
bool cli_delivery_is_wished(const struct delivery *delivery);
must_check int cli_deliver(const struct delivery *delivery, const char *json, struct error *err);
void cli_delivery_done(struct delivery *delivery);

#endif
