/*
 * What a member of an archive may be called, and what mode it gets (where a link may lead: link_inside.h). The helper
 * judges by these rules, and its client looks by the same ones at what the helper has left.
 */
#ifndef WORKSPACE_ARCHIVE_RULES_H
#define WORKSPACE_ARCHIVE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define MEMBER_NAME_MAX  4096 /* bytes, the NUL counted, as the kernel does */
#define MEMBER_PART_MAX  255
#define MEMBER_DEPTH_MAX 256

struct member_name {
	char path[MEMBER_NAME_MAX]; /* tidy: no empty and no "." part; "" is the root */
	size_t depth;               /* parts in it */
	bool slash;                 /* it was written with a "/" at its end */
	bool stripped;              /* nothing is left of it: it has no more parts than are to be taken away */
};

/* Takes the first `strip` parts away. -1 with ERROR_WORKSPACE_ARCHIVE_WRITE or, for length and depth, ERROR_LIMIT. */
must_check int rules_judge_name(const char *name, unsigned strip, struct member_name *ret_name, struct error *err);
mode_t rules_file_mode(mode_t mode);
mode_t rules_directory_mode(mode_t mode);

/* The two kinds of refusal, with their contexts. member: as it was read, any bytes. */
int rules_refuse(struct error *err, const char *member, const char *fmt, ...) printf_like(3, 4);
int rules_refuse_limit(struct error *err, const char *limit, unsigned long long most, unsigned long long actual,
	const char *member, const char *what);

#endif
