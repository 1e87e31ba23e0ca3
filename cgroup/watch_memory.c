/*
 * Memory of a process, three ways.
 *
 *   status        a few counters, 8 us: anonymous and shared pages and swap, without the pages of files
 *   smaps_rollup  walks the page tables: proportional shares, so that forked children that share their parent's pages
 *                 are not counted again
 *   smaps         mapping by mapping: which of the shared pages belong to a tmpfs or a memory file counted elsewhere
 *
 * Fallback: the finer files of a process that is not dumpable may be closed to us. The counters of its status, which is
 * open to all, are then taken whole.
 *
 * Threat: a child between vfork and exec shows its parent's memory as its own, proportional shares notwithstanding,
 * because both have one address space. One child that looks the same is left out for a parent that waits in a system
 * call that lends its address space: vfork, or clone with CLONE_VM. A clone that waits and copies lends nothing, and
 * where the call cannot be read the child is counted.
 *
 * Threat: page tables are not resident memory, and a program that touches one page of zeros in every 2 MiB has little
 * else. They are read from status, beside all that is measured here.
 */
#include "cgroup/watch_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"

#define TEXT_SIZE 4096
#define CALL_SIZE 256
#define KB        1024u
#define SAME_SIZE (1u << 20)

static void close_file(FILE **file)
{
	if (*file != NULL)
		(void)fclose(*file);
}

uint64_t watch_memory_parse_kb(const char *text, const char *key)
{
	size_t size = strlen(key);

	while (text != NULL && *text != '\0') {
		if (strncmp(text, key, size) == 0 && text[size] == ':')
			return strtoull(text + size + 1, NULL, 10) * KB;
		text = strchr(text, '\n');
		text = text == NULL ? NULL : text + 1;
	}
	return 0;
}

/* Without page tables. */
static uint64_t read_counters(const struct watch_tree *tree, struct watch_process *process)
{
	const char *text = tree->buffer;
	ssize_t n = watch_process_read_file(tree->proc_fd, process, "status", tree->buffer, WATCH_BUFFER_SIZE);

	/* A list of groups so long that the figures behind it were cut off, nothing to read at all, or a thread that
	 * has just ended and left the memory to others. */
	if (strstr(text, "RssShmem") == NULL) {
		if (n < 0 || n == WATCH_BUFFER_SIZE - 1 || process->thread != 0)
			return process->resident_bytes;
		process->table_bytes = 0;
		return 0;
	}
	process->table_bytes = watch_memory_parse_kb(text, "VmPTE");
	return watch_memory_parse_kb(text, "RssAnon") + watch_memory_parse_kb(text, "RssShmem") +
		watch_memory_parse_kb(text, "VmSwap") + watch_memory_parse_kb(text, "HugetlbPages");
}

uint64_t watch_memory_upper(const struct watch_tree *tree, struct watch_process *process)
{
	uint64_t bytes = read_counters(tree, process);

	return bytes + process->table_bytes;
}

void watch_memory_read_tables(struct watch_tree *tree)
{
	for (size_t i = 0; i < tree->n; i++)
		(void)read_counters(tree, &tree->processes[i]);
}

uint64_t watch_memory_share(const struct watch_tree *tree, struct watch_process *process)
{
	char text[TEXT_SIZE];
	ssize_t n = watch_process_read_file(tree->proc_fd, process, "smaps_rollup", text, sizeof text);

	if (n < 0 || (n == 0 && process->thread != 0))
		return read_counters(tree, process);
	return watch_memory_parse_kb(text, "Pss_Anon") + watch_memory_parse_kb(text, "Pss_Shmem") +
		watch_memory_parse_kb(text, "SwapPss") + watch_memory_parse_kb(text, "Private_Hugetlb");
}

static const struct watch_process *find(const struct watch_tree *tree, pid_t pid, size_t *ret_index)
{
	for (size_t i = 0; i < tree->n; i++) {
		if (tree->processes[i].pid == pid) {
			*ret_index = i;
			return &tree->processes[i];
		}
	}
	return NULL;
}

static bool same_size(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < SAME_SIZE;
}

/* Whether a line of /proc/PID/syscall ("NUMBER ARGUMENT ...") is a call that suspends its caller and lends the child
 * its address space. */
static bool lends_memory(const char *call)
{
	unsigned long flags = 0;
	long number = 0;

	if (sscanf(call, "%ld %lx", &number, &flags) != 2)
		return false;
#ifdef SYS_vfork
	if (number == SYS_vfork)
		return true;
#endif
	return number == SYS_clone && (flags & (CLONE_VM | CLONE_VFORK)) == (CLONE_VM | CLONE_VFORK);
}

static bool waits_for_borrower(const struct watch_tree *tree, const struct watch_process *parent)
{
	char text[CALL_SIZE];

	return parent->state == 'D' &&
		watch_process_read_file(tree->proc_fd, parent, "syscall", text, sizeof text) > 0 && lends_memory(text);
}

/* Whether process i is the one child for which its suspended parent waits; `spent` marks parents that had theirs. */
static bool is_vfork_child(const struct watch_tree *tree, size_t i, const uint64_t *shares, bool *spent)
{
	const struct watch_process *parent;
	size_t at = 0;

	if (shares[i] < SAME_SIZE)
		return false;
	parent = find(tree, tree->processes[i].parent, &at);
	if (parent == NULL || spent[at] || !same_size(shares[i], shares[at]) || !waits_for_borrower(tree, parent))
		return false;
	spent[at] = true;
	return true;
}

/* What vfork children seem to have; nothing where that cannot be found out. */
static uint64_t sum_borrowed(const struct watch_tree *tree, const uint64_t *shares)
{
	cleanup_free bool *spent = calloc(tree->n + 1, sizeof *spent);
	uint64_t sum = 0;

	for (size_t i = 0; spent != NULL && i < tree->n; i++) {
		if (is_vfork_child(tree, i, shares, spent))
			sum += shares[i];
	}
	return sum;
}

bool watch_memory_shares(struct watch_tree *tree, uint64_t deadline_ns, uint64_t *ret_bytes)
{
	cleanup_free uint64_t *shares = calloc(tree->n + 1, sizeof *shares);
	uint64_t sum = 0;

	watch_tree_read_stats(tree);
	for (size_t i = 0; i < tree->n; i++) {
		struct watch_process *process = &tree->processes[i];
		uint64_t share = watch_memory_share(tree, process) + process->table_bytes;

		sum += share;
		if (shares != NULL)
			shares[i] = share;
		if (monotime_ns() > deadline_ns)
			return false;
	}
	*ret_bytes = shares == NULL ? sum : sum - sum_borrowed(tree, shares);
	return true;
}

/* A mapping's first line: "START-END PERMS OFFSET MAJOR:MINOR INODE   PATH". */
static bool is_counted_mapping(const char *line, const struct watch_shared *shared)
{
	unsigned major, minor;
	unsigned long inode;
	int used = 0;

	if (sscanf(line, "%*[0-9a-f-] %*s %*x %x:%x %lu %n", &major, &minor, &inode, &used) != 3 || used == 0)
		return false;
	return watch_shared_counts(shared, major, minor, inode, line + used);
}

static bool begins_mapping(const char *line)
{
	return (line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f');
}

/* One mapping's shares, without its private copies of pages. */
struct mapping {
	bool counted;
	uint64_t share, anonymous;
};

static uint64_t mapping_shared(const struct mapping *mapping)
{
	return mapping->counted && mapping->share > mapping->anonymous ? mapping->share - mapping->anonymous : 0;
}

/* Adds up one process; as far as it came where the deadline passed. */
static uint64_t counted_twice(const struct watch_tree *tree, const struct watch_process *process,
	const struct watch_shared *shared, uint64_t deadline_ns)
{
	__attribute__((cleanup(close_file))) FILE *file = NULL;
	cleanup_free char *line = NULL;
	struct mapping mapping = {0};
	size_t size = 0;
	uint64_t sum = 0;
	int fd = watch_process_open(tree->proc_fd, process, "smaps");

	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (file == NULL && fd >= 0)
		(void)close(fd);
	while (file != NULL && getline(&line, &size, file) > 0) {
		if (begins_mapping(line)) {
			sum += mapping_shared(&mapping);
			if (monotime_ns() > deadline_ns)
				return sum;
			mapping = (struct mapping){.counted = is_counted_mapping(line, shared)};
		} else if (mapping.counted) {
			mapping.share += watch_memory_parse_kb(line, "Pss") + watch_memory_parse_kb(line, "SwapPss");
			mapping.anonymous += watch_memory_parse_kb(line, "Anonymous");
		}
	}
	return sum + mapping_shared(&mapping);
}

bool watch_memory_counted_twice(
	const struct watch_tree *tree, const struct watch_shared *shared, uint64_t deadline_ns, uint64_t *ret_bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->n; i++) {
		sum += counted_twice(tree, &tree->processes[i], shared, deadline_ns);
		if (monotime_ns() > deadline_ns)
			return false;
	}
	*ret_bytes = sum;
	return true;
}
