/* What the watched trees do; they are processes of their own, so nothing is given back. */
#include "tests/unit/memory_acts.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotime.h"
#include "cgroup/watch_memory.h"
#include "cgroup/watch_tree.h"
#include "cgroup/watchdog.h"
#include "tests/unit/fake_init.h"
#include "tests/unit/harness.h"

static void fill(void *memory, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		((volatile char *)memory)[i] = 1;
}

static void *map(int flags, int fd)
{
	void *memory = mmap(NULL, HOG, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (memory == MAP_FAILED)
		_exit(80);
	return memory;
}

void take_private(void)
{
	fill(map(MAP_PRIVATE | MAP_ANONYMOUS, -1), HOG);
}

void take_shared(void)
{
	fill(map(MAP_SHARED | MAP_ANONYMOUS, -1), HOG);
}

static void write_file(int fd)
{
	static char chunk[65536];

	for (size_t done = 0; done < HOG; done += sizeof chunk) {
		if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk)
			_exit(81);
	}
}

void take_written_memfile(void)
{
	write_file(memfd_create("hog", 0));
}

void take_mapped_memfile(void)
{
	int fd = memfd_create("hog", 0);

	if (ftruncate(fd, (off_t)HOG) < 0)
		_exit(82);
	fill(map(MAP_SHARED, fd), HOG);
}

void take_memfile_mapped_only(void)
{
	int fd = memfd_create("hog", 0);

	if (ftruncate(fd, (off_t)HOG) < 0)
		_exit(82);
	fill(map(MAP_SHARED, fd), HOG);
	(void)close(fd);
}

void take_tmpfs(void)
{
	int fd = open("/tmp/hog", O_RDWR | O_CREAT, 0600);

	write_file(fd);
	(void)close(fd);
}

void take_mapped_tmpfs(void)
{
	int fd = open("/tmp/hog", O_RDWR | O_CREAT, 0600);

	if (ftruncate(fd, (off_t)HOG) < 0)
		_exit(82);
	fill(map(MAP_SHARED, fd), HOG);
}

void take_deleted_tmpfs(void)
{
	int fd = open("/tmp/hog", O_RDWR | O_CREAT, 0600);

	if (unlink("/tmp/hog") < 0)
		_exit(83);
	write_file(fd);
}

void take_sysv(void)
{
	int id = shmget(IPC_PRIVATE, HOG, 0600 | IPC_CREAT);
	void *memory = shmat(id, NULL, 0);

	if (memory == (void *)-1)
		_exit(84);
	fill(memory, HOG);
}

void take_detached_sysv(void)
{
	int id = shmget(IPC_PRIVATE, HOG, 0600 | IPC_CREAT);
	void *memory = shmat(id, NULL, 0);

	if (memory == (void *)-1)
		_exit(84);
	fill(memory, HOG);
	if (shmdt(memory) < 0)
		_exit(85);
}

static void fork_copies(void (*each)(void))
{
	int ready[2];
	char c;

	if (pipe(ready) < 0)
		_exit(86);
	for (int i = 0; i < COPIES; i++) {
		if (fake_tree_fork() == 0) {
			if (each != NULL)
				each();
			(void)!write(ready[1], "r", 1);
			for (;;)
				(void)pause();
		}
	}
	for (int i = 0; i < COPIES; i++)
		(void)!read(ready[0], &c, 1);
}

static void take_an_eighth(void)
{
	fill(map(MAP_PRIVATE | MAP_ANONYMOUS, -1), HOG / COPIES);
}

void take_many_small(void)
{
	fork_copies(take_an_eighth);
}

void share_after_fork(void)
{
	take_private();
	fork_copies(NULL);
}

static void map_memfile(void)
{
	fill(map(MAP_SHARED, MEMFILE_FD), HOG);
}

void share_memfile(void)
{
	if (dup2(memfd_create("shared", 0), MEMFILE_FD) < 0 || ftruncate(MEMFILE_FD, (off_t)HOG) < 0)
		_exit(82);
	fork_copies(map_memfile);
}

void map_a_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	volatile char *memory = mmap(NULL, 8 * MIB, PROT_READ, MAP_PRIVATE, fd, 0);
	off_t size = lseek(fd, 0, SEEK_END);

	for (off_t i = 0; i < size && (size_t)i < 8 * MIB; i += 4096)
		(void)memory[i];
}

void reserve(void)
{
	if (mmap(NULL, 20 * HOG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		_exit(87);
}

/* A parent with much memory that waits for its vfork child. */
void share_by_vfork(void)
{
	int ready[2];
	char c;

	if (pipe(ready) < 0)
		_exit(86);
	take_private();
	if (fake_tree_fork() == 0) { /* a copy: its pages are the parent's, until it writes */
		pid_t pid = vfork();

		if (pid == 0) {
			(void)!write(ready[1], "r", 1);
			for (;;)
				(void)pause();
		}
		_exit(0);
	}
	(void)!read(ready[0], &c, 1);
}

/* The same where the child has a copy, all of which is written to: nothing is shared. */
void copy_by_waiting_clone(void)
{
	int ready[2];
	char *memory, c;

	if (pipe(ready) < 0)
		_exit(86);
	memory = mmap(NULL, HOG / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(80);
	if (fake_tree_fork() == 0) {
		fill(memory, HOG / 2);
		if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
			fill(memory, HOG / 2);
			(void)!write(ready[1], "r", 1);
			for (;;)
				(void)pause();
		}
		_exit(0);
	}
	(void)!read(ready[0], &c, 1);
}

#define STACK ((size_t)64 << 10)

static int tell_and_wait(void *ready)
{
	(void)usleep(50000); /* by then the first thread has ended */
	(void)!write(*(int *)ready, "r", 1);
	for (;;)
		(void)pause();
	return 0;
}

/* A process that takes memory, and of which then only the second thread lives. */
static void leave_to_second_thread(void (*take)(void))
{
	static int ready[2];
	static char stack[STACK];
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	char c;

	if (pipe(ready) < 0)
		_exit(86);
	if (fake_tree_fork() != 0) {
		(void)!read(ready[0], &c, 1);
		return;
	}
	take();
	if (clone(tell_and_wait, stack + STACK - 64, flags, &ready[1]) < 0)
		_exit(88);
	(void)syscall(SYS_exit, 0);
}

void outlive_the_first_thread(void)
{
	leave_to_second_thread(take_private);
}

void outlive_with_memfile(void)
{
	leave_to_second_thread(take_written_memfile);
}

void make_semaphores(void)
{
	for (size_t made = 0; made < HOG; made += 16384 * 64) {
		if (semget(IPC_PRIVATE, 16384, 0600) < 0)
			_exit(89);
	}
}

#define FAR  ((uintptr_t)0x200000000000)
#define STEP (2 * MIB)

/* The same page of a file in each of many parts of the address space, which takes no memory but the tables of each. */
void take_page_tables(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	for (size_t i = 0; i < HOG / 4096; i++) {
		/* Not by mmap(3) and reads: AddressSanitizer would touch its shadow of each part. */
		if (syscall(SYS_mmap, FAR + i * STEP, 4096, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE,
			    fd, 0) < 0)
			_exit(90);
	}
}

void send_messages(void)
{
	static const struct {
		long type;
		char text[8192];
	} message = {.type = 1};

	for (int i = 0; i < QUEUES; i++) {
		int queue = msgget(IPC_PRIVATE, 0600);

		while (queue >= 0 && msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) == 0)
			;
	}
}

void burn_cpu(void)
{
	uint64_t end = monotime_ns() + 400 * NS_PER_MS;

	while (monotime_ns() < end)
		;
}

void burn_cpu_in_waited_children(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fake_tree_fork();

		if (pid == 0) {
			burn_cpu();
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
	}
}
