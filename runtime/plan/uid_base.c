/*
 * Where the host uids of sandboxes started by root begin: base + the pid of each one's init, so from the base on for as
 * many as there can be pids. Nobody may have one of these uids, or a sandbox would be that user for the host's files
 * and processes. The default lies above what systemd gives to containers; another one is held against the users of this
 * machine. What a directory service gives out is not asked: it may be slow, and need the network.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/plan/planner.h"

#define PIDS_MAX         (1u << 22) /* the kernel's PID_MAX_LIMIT */
#define UID_BASE_DEFAULT 0x70000000u
#define UID_BASE_MIN     65536u                   /* below are the uids of people and services */
#define UID_BASE_MAX     (0xffff0000u - PIDS_MAX) /* base + the largest pid stays a valid uid */
#define PASSWD_MAX       (16u << 20)

/* The third field of a line "name:password:uid:...": false where it is none. */
static bool uid_of_line(const char *line, uint64_t *ret_uid)
{
	const char *end = strchrnul(line, '\n');
	const char *at = line;
	char *after;

	for (int i = 0; i < 2; i++) {
		at = memchr(at, ':', (size_t)(end - at));
		if (at++ == NULL)
			return false;
	}
	*ret_uid = strtoull(at, &after, 10);
	return after > at && after < end && *after == ':';
}

static int check_nobody_has_one(uint64_t base, struct error *err)
{
	cleanup_buf struct buf passwd = {0};
	struct error unread = {0};

	if (fd_read_file(AT_FDCWD, "/etc/passwd", PASSWD_MAX, &passwd, &unread) < 0) {
		if (unread.code == ERROR_NOT_FOUND)
			return 0; /* there are no users */
		*err = unread;
		return error_prefix(err, "PINFOLD_UID_BASE");
	}
	for (const char *line = buf_str(&passwd); line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');
		uint64_t uid;

		if (uid_of_line(line, &uid) && uid >= base && uid <= base + PIDS_MAX)
			return error_set(err, ERROR_POLICY_INVALID, "PINFOLD_UID_BASE",
				"PINFOLD_UID_BASE: a user of this machine has the uid %llu, which is in the range from there",
				(unsigned long long)uid);
		line = end == NULL ? NULL : end + 1;
	}
	return 0;
}

int planner_uid_base(uid_t *ret_base, struct error *err)
{
	const char *said = getenv("PINFOLD_UID_BASE");
	struct error reason = {0};
	uint64_t base;

	*ret_base = UID_BASE_DEFAULT;
	if (said == NULL || *said == '\0')
		return 0;
	if (str_parse_u64(said, UID_BASE_MIN, UID_BASE_MAX, &base, &reason) < 0)
		return error_set(err, ERROR_POLICY_INVALID, "PINFOLD_UID_BASE", "PINFOLD_UID_BASE: %s", reason.text);
	if (check_nobody_has_one(base, err) < 0)
		return -1;
	*ret_base = (uid_t)base;
	return 0;
}
