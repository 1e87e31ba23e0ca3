/* pinfold-PID-STARTTIME-N: a directory's name that says which process made it, so that the dead one's can be told. */
#ifndef CGROUP_GROUP_NAME_H
#define CGROUP_GROUP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define GROUP_NAME_MAX 80

struct group_maker {
	pid_t pid;
	uint64_t start_time; /* field 22 of /proc/PID/stat: ticks since boot */
};

must_check int group_maker_self(struct group_maker *ret_maker, struct error *err);
/* False only where no such process runs any more, or its pid is now another's. One that ended and was not waited for is
 * dead, but threads of it may go on: only the lock on its directory tells. */
bool group_maker_lives(struct group_maker maker);
/* State (a letter) and start time in the text of a /proc/PID/stat, whose second field may contain anything. */
bool group_parse_stat(const char *stat, char *ret_state, uint64_t *ret_ticks);
const char *group_name_format(struct group_maker maker, uint64_t n, char *buf, size_t size);
/* Strict: what group_name_format writes, and nothing else. */
bool group_name_parse(const char *name, struct group_maker *ret_maker);

#endif
