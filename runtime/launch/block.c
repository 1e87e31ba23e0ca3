/*
 * What init gets is flat: a header with offsets and the data behind it. Environment values and arguments travel in this
 * block and not on init's own command line or environment, which others can see.
 */
#include "runtime/launch/block.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/launch/init_message.h"

#define BLOCK_BYTES_MAX   (64u << 20)
#define DEADLINE_SLACK_NS (2 * NS_PER_S) /* the supervisor comes first, where it runs */
#define COMMAND_UMASK     022

extern const char _binary_pinfold_init_start[];
extern const char _binary_pinfold_init_end[];

static uint32_t put(struct buf *buf, const void *data, size_t size)
{
	static const char zeros[8];
	uint32_t at;

	buf_append(buf, zeros, (8 - buf->size % 8) % 8);
	at = (uint32_t)buf->size;
	buf_append(buf, data, size);
	return at;
}

static uint32_t put_string(struct buf *buf, const char *s)
{
	return put(buf, s, strlen(s) + 1);
}

static uint32_t put_strings(struct buf *buf, char *const *strings, uint32_t *ret_n)
{
	uint32_t at = put(buf, "", 0);
	uint32_t n = 0;

	for (; strings[n] != NULL; n++)
		buf_append(buf, strings[n], strlen(strings[n]) + 1);
	*ret_n = n;
	return at;
}

static uint32_t put_rlimits(struct buf *buf, const struct plan *plan)
{
	uint32_t at = put(buf, "", 0);

	for (size_t i = 0; i < plan->n_rlimits; i++) {
		struct init_rlimit limit = {
			.resource = plan->rlimits[i].resource,
			.soft = plan->rlimits[i].value.rlim_cur,
			.hard = plan->rlimits[i].value.rlim_max,
		};

		buf_append(buf, &limit, sizeof limit);
	}
	return at;
}

static uint64_t deadline(const struct plan *plan)
{
	uint64_t at;

	if (plan->wall_ns == LIMIT_NONE)
		return 0;
	at = monotime_after_ns(plan->wall_ns);
	if (at > UINT64_MAX - plan->kill_after_ns - DEADLINE_SLACK_NS)
		return 0;
	return at + plan->kill_after_ns + DEADLINE_SLACK_NS;
}

int block_new(const struct plan *plan, struct error *err)
{
	struct init_block header = {.tty = plan->output == PLAN_OUTPUT_TTY,
		.umask = COMMAND_UMASK,
		.subreaper = !plan_is_confined(plan),
		.group = !plan_is_confined(plan) && plan->cgroup_base != NULL};
	cleanup_buf struct buf buf = {0};

	buf_append(&buf, &header, sizeof header);
	header.argv = put_strings(&buf, plan->argv, &header.n_argv);
	header.environment = put_strings(&buf, plan->environment, &header.n_environment);
	header.path = put_string(&buf, plan->path);
	header.directory = put_string(&buf, plan->directory);
	header.n_filter = (uint32_t)plan->filter.n;
	header.filter = put(&buf, plan->filter.instructions, plan->filter.n * sizeof *plan->filter.instructions);
	header.n_rlimits = (uint32_t)plan->n_rlimits;
	header.rlimits = put_rlimits(&buf, plan);
	header.deadline_ns = deadline(plan);
	header.landlock = landlock_is_asked(&plan->landlock);
	header.size = (uint32_t)buf.size;
	if (buf_check(&buf, err) < 0)
		return -1;
	if (buf.size > BLOCK_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "init block", "arguments and environment are larger than 64 MiB");
	memcpy(buf.data, &header, sizeof header);
	return fd_memfile("pinfold-block", buf.data, buf.size, err);
}

int block_init_image(struct error *err)
{
	size_t size = (size_t)(_binary_pinfold_init_end - _binary_pinfold_init_start);
	int fd = fd_memfile("pinfold-init", _binary_pinfold_init_start, size, err);

	if (fd < 0)
		return error_prefix(err, "the init program");
	return fd;
}
