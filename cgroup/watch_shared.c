/*
 * Shared memory that no process need have mapped: a file in a tmpfs, a memory file that is only written to, a detached
 * SysV segment.
 *
 * The first and the last are one system call. Memory files have to be searched for among all descriptors of the tree,
 * which is dear, so it is done when it could matter: the kernel tells in a microsecond how much shared memory the
 * machine has altogether, and by as much as that has grown since the last search a memory file may have grown. Others
 * may give shared memory back at the same time; therefore the search is repeated after a while in any case.
 *
 * Threat: a tree with very many open descriptors makes the search slow; it ends at a number of them and after a time.
 * Descriptors of a process that is not dumpable are closed to an ordinary user. What such a search did not see is not
 * nothing: it may be all the shared memory of the machine, and that is what is taken for it.
 *
 * A process that has ended has no descriptors, and one that is ending gives them back right after its memory, which may
 * take long. The kernel gives the directories of both to root, so that they look closed. What the latter may still hold
 * was there at the last search that saw all, or shows as growth since then.
 * Threat: one that never comes to its end. After a second it is like any other that is closed.
 *
 * Threat: SysV semaphores and messages are kernel memory that no process has: 64 bytes a semaphore, two more for each
 * task that may want to undo it, and a message as it is rounded up by the allocator.
 *
 * A memory file in flight over a socket, or held by a mapping that was given back page by page, is not found
 * (docs/threat-model.md).
 */
#include "cgroup/watch_shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"

#define SCAN_AGE_NS      (250 * NS_PER_MS)
#define ENDING_NS        NS_PER_S
#define DESCRIPTORS_MAX  32768
#define SYSVIPC_MAX      (16u << 20)
#define STAT_SIZE        1024
#define BLOCK_BYTES      512
#define SYSV_RSS_COLUMN  14
#define SYSV_SWAP_COLUMN 15
#define SEM_COUNT_COLUMN 3
#define SEM_BYTES        64
#define SEM_UNDO_BYTES   2
#define MSG_BYTES_COLUMN 3
#define MSG_COUNT_COLUMN 4
#define MSG_BYTES        64
#define MSG_ROUNDING     2
#define SYSV_BYTES       512 /* an array or a queue itself */

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static bool has_device(const struct watch_shared *shared, uint64_t device)
{
	for (size_t i = 0; i < shared->n_tmpfs; i++) {
		if (shared->tmpfs_devices[i] == device)
			return true;
	}
	return false;
}

int watch_shared_init(struct watch_shared *shared, const int *tmpfs_fds, size_t n_tmpfs_fds,
	const struct watch_sysv *sysv, struct error *err)
{
	*shared = (struct watch_shared){.sysv = *sysv};
	for (size_t i = 0; i < n_tmpfs_fds; i++) {
		struct stat st;

		if (fstat(tmpfs_fds[i], &st) < 0)
			return error_set_errno(err, ERROR_IO, errno, "watchdog", "cannot look at a tmpfs of the sandbox");
		if (has_device(shared, st.st_dev))
			continue;
		if (shared->n_tmpfs == WATCH_TMPFS_MAX)
			return error_set(err, ERROR_LIMIT, "watchdog", "more than %d tmpfs mounts", WATCH_TMPFS_MAX);
		shared->tmpfs_devices[shared->n_tmpfs] = st.st_dev;
		shared->tmpfs_fds[shared->n_tmpfs++] = tmpfs_fds[i];
	}
	return 0;
}

void watch_shared_done(struct watch_shared *shared)
{
	free(shared->memfiles);
	*shared = (struct watch_shared){.sysv = {-1, -1, -1}};
}

static uint64_t system_shared_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? (uint64_t)info.sharedram * info.mem_unit : 0;
}

bool watch_shared_swap_is_used(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 && info.totalswap != info.freeswap;
}

static uint64_t tmpfs_bytes(const struct watch_shared *shared)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shared->n_tmpfs; i++) {
		struct statfs fs;

		if (fstatfs(shared->tmpfs_fds[i], &fs) == 0 && fs.f_blocks > fs.f_bfree)
			sum += (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	}
	return sum;
}

static uint64_t column(const char *line, unsigned index)
{
	char *end;

	for (;;) {
		unsigned long long value = strtoull(line, &end, 10);

		if (end == line)
			return 0;
		if (index-- == 0)
			return value;
		line = end;
	}
}

static uint64_t segment_bytes(const char *line, uint64_t tasks)
{
	(void)tasks;
	return column(line, SYSV_RSS_COLUMN) + column(line, SYSV_SWAP_COLUMN);
}

static uint64_t semaphore_bytes(const char *line, uint64_t tasks)
{
	return column(line, SEM_COUNT_COLUMN) * (SEM_BYTES + SEM_UNDO_BYTES * tasks) + SYSV_BYTES;
}

static uint64_t queue_bytes(const char *line, uint64_t tasks)
{
	(void)tasks;
	return (column(line, MSG_BYTES_COLUMN) + column(line, MSG_COUNT_COLUMN) * MSG_BYTES) * MSG_ROUNDING + SYSV_BYTES;
}

/* Adds up the lines of one file below its headings. */
static uint64_t sum_lines(struct watch_shared *shared, int fd, uint64_t (*each)(const char *, uint64_t), uint64_t tasks)
{
	cleanup_buf struct buf text = {0};
	uint64_t sum = 0;
	const char *line;

	if (fd < 0)
		return 0;
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, SYSVIPC_MAX, &text, NULL) < 0) {
		shared->hidden = WATCH_HIDDEN_SYSV;
		return 0;
	}
	line = strchr(buf_str(&text), '\n');
	while (line != NULL && line[1] != '\0') {
		sum += each(line + 1, tasks);
		line = strchr(line + 1, '\n');
	}
	return sum;
}

static uint64_t sysv_bytes(struct watch_shared *shared, uint64_t tasks)
{
	return sum_lines(shared, shared->sysv.shm_fd, segment_bytes, tasks) +
		sum_lines(shared, shared->sysv.sem_fd, semaphore_bytes, tasks) +
		sum_lines(shared, shared->sysv.msg_fd, queue_bytes, tasks);
}

uint64_t watch_shared_bytes(struct watch_shared *shared, uint64_t tasks)
{
	return tmpfs_bytes(shared) + sysv_bytes(shared, tasks) + shared->memfile_bytes;
}

uint64_t watch_shared_growth(const struct watch_shared *shared)
{
	uint64_t now = system_shared_bytes();

	return now > shared->system_bytes ? now - shared->system_bytes : 0;
}

bool watch_shared_scan_is_due(const struct watch_shared *shared)
{
	return !shared->scanned ||
		(monotime_ns() - shared->scanned_ns > SCAN_AGE_NS && system_shared_bytes() != shared->system_bytes);
}

static int add_memfile(struct watch_shared *shared, const struct stat *st, struct error *err)
{
	if (shared->n_memfiles == shared->allocated) {
		size_t wanted = shared->allocated == 0 ? 16 : shared->allocated * 2;
		struct watch_memfile *grown = reallocarray(shared->memfiles, wanted, sizeof *grown);

		if (grown == NULL)
			return error_no_memory(err);
		shared->memfiles = grown;
		shared->allocated = wanted;
	}
	shared->memfiles[shared->n_memfiles++] =
		(struct watch_memfile){st->st_dev, st->st_ino, (uint64_t)st->st_blocks * BLOCK_BYTES};
	return 0;
}

/* How long a search may be. */
struct budget {
	size_t descriptors;
	uint64_t deadline_ns;
};

static void hide(struct watch_shared *shared, enum watch_hidden hidden, pid_t pid)
{
	if (hidden == WATCH_HIDDEN_NOTHING || (hidden == WATCH_HIDDEN_ENDING && shared->hidden != WATCH_HIDDEN_NOTHING))
		return;
	shared->hidden = hidden;
	shared->hidden_pid = pid;
}

/* Asked after the refusal. A first thread that has ended speaks for the others no more: the next look finds one. */
static enum watch_hidden why_closed(const struct watch_tree *tree, struct watch_process *process)
{
	struct watch_process now = {0};
	char text[STAT_SIZE];
	ssize_t n = watch_process_read_file(tree->proc_fd, process, "stat", text, sizeof text);

	if (n == 0)
		return WATCH_HIDDEN_NOTHING;
	if (n < 0 || !watch_process_parse_stat(text, &now) || !now.is_ending)
		return WATCH_HIDDEN_CLOSED;
	if ((now.state == 'Z' || now.state == 'X') && now.tasks == 1)
		return WATCH_HIDDEN_NOTHING;
	if (process->ending_ns == 0)
		process->ending_ns = monotime_ns();
	return monotime_ns() - process->ending_ns > ENDING_NS ? WATCH_HIDDEN_CLOSED : WATCH_HIDDEN_ENDING;
}

/* One name in a /proc/PID/fd. */
static int look_at_descriptor(struct watch_shared *shared, const struct watch_tree *tree, struct watch_process *process,
	int dirfd, const char *name, struct error *err)
{
	static const char prefix[] = "/memfd:";
	char target[sizeof prefix];
	ssize_t n = readlinkat(dirfd, name, target, sizeof target);
	struct stat st;

	if (n >= 0 && (n < (ssize_t)sizeof prefix - 1 || memcmp(target, prefix, sizeof prefix - 1) != 0))
		return 0;
	if (n >= 0 && fstatat(dirfd, name, &st, 0) == 0)
		return add_memfile(shared, &st, err);
	if (!watch_process_has_vanished(errno)) /* else closed meanwhile */
		hide(shared, why_closed(tree, process), process->pid);
	return 0;
}

static DIR *open_descriptors(const struct watch_tree *tree, const struct watch_process *process)
{
	cleanup_close int fd = watch_process_open(tree->proc_fd, process, "fd");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir != NULL)
		(void)steal_fd(&fd);
	return dir;
}

static int scan_process(struct watch_shared *shared, const struct watch_tree *tree, struct watch_process *process,
	struct budget *budget, struct error *err)
{
	__attribute__((cleanup(close_dir))) DIR *dir = open_descriptors(tree, process);
	struct dirent *entry;

	if (dir == NULL) {
		if (!watch_process_has_vanished(errno))
			hide(shared, why_closed(tree, process), process->pid);
		return 0;
	}
	process->ending_ns = 0;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (budget->descriptors == 0 || monotime_ns() > budget->deadline_ns) {
			hide(shared, WATCH_HIDDEN_MANY, process->pid);
			return 0;
		}
		budget->descriptors--;
		if (look_at_descriptor(shared, tree, process, dirfd(dir), entry->d_name, err) < 0)
			return -1;
	}
	return 0;
}

static int compare_memfiles(const void *a, const void *b)
{
	const struct watch_memfile *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

/* Each file once, however many descriptors there are for it. */
static void count_memfiles(struct watch_shared *shared)
{
	size_t n = 0;

	shared->memfile_bytes = 0;
	if (shared->n_memfiles > 0)
		qsort(shared->memfiles, shared->n_memfiles, sizeof *shared->memfiles, compare_memfiles);
	for (size_t i = 0; i < shared->n_memfiles; i++) {
		if (n > 0 && compare_memfiles(&shared->memfiles[i], &shared->memfiles[n - 1]) == 0)
			continue;
		shared->memfiles[n++] = shared->memfiles[i];
		shared->memfile_bytes += shared->memfiles[i].bytes;
	}
	shared->n_memfiles = n;
}

static uint64_t difference(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

int watch_shared_scan(struct watch_shared *shared, struct watch_tree *tree, uint64_t deadline_ns, struct error *err)
{
	struct budget budget = {DESCRIPTORS_MAX, deadline_ns};

	shared->n_memfiles = 0;
	shared->hidden = WATCH_HIDDEN_NOTHING;
	/* Before the search, so that what is written during it shows as growth. */
	shared->system_bytes = system_shared_bytes();
	for (size_t i = 0; i < tree->n; i++) {
		if (scan_process(shared, tree, &tree->processes[i], &budget, err) < 0)
			return -1;
	}
	count_memfiles(shared);
	if (shared->hidden == WATCH_HIDDEN_NOTHING)
		shared->others_bytes = difference(shared->system_bytes, tmpfs_bytes(shared) + shared->memfile_bytes);
	shared->scanned = true;
	shared->scanned_ns = monotime_ns();
	return 0;
}

uint64_t watch_shared_hidden_bytes(const struct watch_shared *shared)
{
	uint64_t seen;

	if (shared->hidden == WATCH_HIDDEN_NOTHING)
		return 0;
	seen = tmpfs_bytes(shared) + shared->memfile_bytes;
	if (shared->hidden == WATCH_HIDDEN_ENDING)
		return difference(system_shared_bytes(), shared->others_bytes + seen);
	if (shared->hidden == WATCH_HIDDEN_SYSV || watch_shared_swap_is_used())
		return UINT64_MAX;
	return difference(system_shared_bytes(), seen);
}

int watch_shared_set_error(const struct watch_shared *shared, struct error *err)
{
	switch (shared->hidden) {
	case WATCH_HIDDEN_ENDING:
		return error_set(err, ERROR_LIMIT, "watchdog",
			"the memory limit cannot be held: shared memory grew while process %d was ending, the descriptors of which "
			"cannot be looked at",
			(int)shared->hidden_pid);
	case WATCH_HIDDEN_MANY:
		return error_set(err, ERROR_LIMIT, "watchdog",
			"the memory limit cannot be held: the processes have more open descriptors than can be looked at");
	case WATCH_HIDDEN_CLOSED:
		(void)error_set(err, ERROR_LIMIT, "watchdog",
			"the memory limit cannot be held: the descriptors of process %d are closed to pinfold",
			(int)shared->hidden_pid);
		error_set_fix(err, "a program that may be executed but not read is one reason");
		return -1;
	case WATCH_HIDDEN_SYSV:
		return error_set(err, ERROR_LIMIT, "watchdog",
			"the memory limit cannot be held: there is too much SysV IPC to be read");
	case WATCH_HIDDEN_NOTHING: break;
	}
	return error_set(err, ERROR_INTERNAL, "watchdog", "nothing is hidden");
}

static bool is_memfile(const struct watch_shared *shared, uint64_t device, uint64_t inode)
{
	const struct watch_memfile key = {.device = device, .inode = inode};

	return shared->n_memfiles > 0 &&
		bsearch(&key, shared->memfiles, shared->n_memfiles, sizeof key, compare_memfiles) != NULL;
}

bool watch_shared_counts(
	const struct watch_shared *shared, unsigned major, unsigned minor, uint64_t inode, const char *path)
{
	uint64_t device = makedev(major, minor);

	if (has_device(shared, device) || is_memfile(shared, device, inode))
		return true;
	return shared->sysv.shm_fd >= 0 && strncmp(path, "/SYSV", 5) == 0;
}
