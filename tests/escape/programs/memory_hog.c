/*
 * Takes memory of one kind until it is refused or dead, and holds it.
 *
 *   memory_hog anonymous|shared|memfd|tmpfs|sysv|children|stack MIB
 *
 * ESCAPED means: all of it was touched, and a second later it was still held.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "hostile.h"

#define MIB (1UL << 20)

static bool touch(char *memory, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		((volatile char *)memory)[i] = 1;
	return true;
}

static bool take_mapping(size_t size, int flags, int fd)
{
	for (size_t done = 0; done < size; done += 8 * MIB) {
		char *memory = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, flags, fd, (off_t)(fd < 0 ? 0 : done));

		if (memory == MAP_FAILED)
			return false;
		touch(memory, 8 * MIB);
	}
	return true;
}

static bool take_anonymous(size_t size)
{
	return take_mapping(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static bool take_shared(size_t size)
{
	return take_mapping(size, MAP_SHARED | MAP_ANONYMOUS, -1);
}

/* Written, never mapped: no process's resident size shows it. */
static bool take_file(int fd, size_t size)
{
	static char block[MIB];

	if (fd < 0)
		return false;
	memset(block, 1, sizeof block);
	for (size_t done = 0; done < size; done += sizeof block)
		if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
			return false;
	return true;
}

static bool take_memfd(size_t size)
{
	return take_file(memfd_create("hog", MFD_CLOEXEC), size);
}

static bool take_tmpfs(size_t size)
{
	return take_file(open("/tmp/hog", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), size);
}

static bool take_sysv(size_t size)
{
	for (size_t done = 0; done < size; done += 8 * MIB) {
		int id = shmget(IPC_PRIVATE, 8 * MIB, IPC_CREAT | 0600);
		char *memory = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (memory == (char *)-1)
			return false;
		touch(memory, 8 * MIB);
		shmdt(memory); /* nobody maps it now, and it is still there */
	}
	return true;
}

/* Twenty that are each small enough. */
static bool take_children(size_t size)
{
	int pipes[2];
	char byte;
	ssize_t n = 0;

	need(pipe(pipes) == 0, "pipe");
	for (int i = 0; i < 20; i++) {
		if (fork() != 0)
			continue;
		if (take_anonymous(size / 20) && write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	for (int i = 0; i < 20; i++)
		n += read(pipes[0], &byte, 1) == 1;
	return n == 20;
}

__attribute__((noinline)) static bool take_stack(size_t size)
{
	volatile char frame[8 * 1024];

	for (size_t i = 0; i < sizeof frame; i += 1024)
		frame[i] = 1;
	if (size <= sizeof frame)
		return true;
	return take_stack(size - sizeof frame) && frame[0] == 1;
}

static const struct {
	const char *name;
	bool (*take)(size_t size);
} kinds[] = {
	{"anonymous", take_anonymous},
	{"shared", take_shared},
	{"memfd", take_memfd},
	{"tmpfs", take_tmpfs},
	{"sysv", take_sysv},
	{"children", take_children},
	{"stack", take_stack},
};

int main(int argc, char **argv)
{
	need(argc == 3, "KIND MIB");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		bool all = kinds[i].take(strtoul(argv[2], NULL, 10) * MIB);
		int reason = errno;
		if (all)
			sleep(1);
		errno = reason;
		tried(argv[1], all);
		return verdict();
	}
	need(false, "which kind?");
	return 3;
}
