/*
 * Memory of a process, three ways.
 *
 *   status        a few counters, 8 us: anonymous and shared pages and swap, without the pages of files
 *   smaps_rollup  walks the page tables: proportional shares, so that forked children that share their parent's pages
 *                 are not counted again
 *   smaps         mapping by mapping: which of the shared pages belong to a tmpfs or a memory file counted elsewhere
 *
 * Fallback: the finer files of a process that is not dumpable may be closed to us. What it has resident beyond shared
 * pages is then taken whole.
 *
 * Threat: a child between vfork and exec shows its parent's memory as its own, proportional shares notwithstanding,
 * because both have one address space. For a parent that is suspended (state D) one child that looks the same is left
 * out: there is exactly one such child, so forked copies cannot hide behind it.
 */
#include "cgroup/watch_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TEXT_SIZE 4096
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

static uint64_t not_shared(const struct watch_process *process)
{
	return process->resident_bytes > process->shared_bytes ? process->resident_bytes - process->shared_bytes : 0;
}

uint64_t watch_memory_upper(const struct watch_tree *tree, const struct watch_process *process)
{
	char text[TEXT_SIZE];
	ssize_t n = watch_tree_read_file(tree, process->pid, "status", text, sizeof text);

	/* A list of groups so long that the figures behind it were cut off, or nothing to read at all. */
	if (n < 0 || (n == sizeof text - 1 && strstr(text, "RssShmem") == NULL))
		return process->resident_bytes;
	return watch_memory_parse_kb(text, "RssAnon") + watch_memory_parse_kb(text, "RssShmem") +
		watch_memory_parse_kb(text, "VmSwap") + watch_memory_parse_kb(text, "HugetlbPages");
}

uint64_t watch_memory_share(const struct watch_tree *tree, const struct watch_process *process)
{
	char text[TEXT_SIZE];

	if (watch_tree_read_file(tree, process->pid, "smaps_rollup", text, sizeof text) < 0)
		return not_shared(process);
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

/* Whether process i is the one child for which its suspended parent waits; `spent` marks parents that had theirs. */
static bool is_vfork_child(const struct watch_tree *tree, size_t i, const uint64_t *shares, bool *spent)
{
	const struct watch_process *parent;
	size_t at = 0;

	if (shares[i] < SAME_SIZE)
		return false;
	parent = find(tree, tree->processes[i].parent, &at);
	if (parent == NULL || parent->state != 'D' || spent[at] || !same_size(shares[i], shares[at]))
		return false;
	spent[at] = true;
	return true;
}

uint64_t watch_memory_shares(struct watch_tree *tree)
{
	cleanup_free uint64_t *shares = calloc(tree->n + 1, sizeof *shares);
	cleanup_free bool *spent = calloc(tree->n + 1, sizeof *spent);
	uint64_t sum = 0;

	watch_tree_read_stats(tree);
	for (size_t i = 0; i < tree->n; i++) {
		uint64_t share = watch_memory_share(tree, &tree->processes[i]);

		sum += share;
		if (shares != NULL)
			shares[i] = share;
	}
	if (shares == NULL || spent == NULL)
		return sum;
	for (size_t i = 0; i < tree->n; i++) {
		if (is_vfork_child(tree, i, shares, spent))
			sum -= shares[i];
	}
	return sum;
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

uint64_t watch_memory_counted_twice(
	const struct watch_tree *tree, const struct watch_process *process, const struct watch_shared *shared)
{
	__attribute__((cleanup(close_file))) FILE *file = NULL;
	cleanup_free char *line = NULL;
	struct mapping mapping = {0};
	char path[48];
	size_t size = 0;
	uint64_t sum = 0;
	int fd;

	(void)snprintf(path, sizeof path, "%d/smaps", (int)process->pid);
	fd = openat(tree->proc_fd, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (file == NULL && fd >= 0)
		(void)close(fd);
	while (file != NULL && getline(&line, &size, file) > 0) {
		if (begins_mapping(line)) {
			sum += mapping_shared(&mapping);
			mapping = (struct mapping){.counted = is_counted_mapping(line, shared)};
		} else if (mapping.counted) {
			mapping.share += watch_memory_parse_kb(line, "Pss") + watch_memory_parse_kb(line, "SwapPss");
			mapping.anonymous += watch_memory_parse_kb(line, "Anonymous");
		}
	}
	return sum + mapping_shared(&mapping);
}
