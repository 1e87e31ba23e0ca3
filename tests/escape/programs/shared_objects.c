/*
 * System V and POSIX objects that outlive a process: made in one sandbox, looked for in another or on the host.
 *
 *   shared_objects make|find|remove KEY NAME
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "hostile.h"

static int objects(key_t key, const char *name, int flags, int fds[5])
{
	char dotted[80];

	snprintf(dotted, sizeof dotted, "/%s", name);
	fds[0] = shmget(key, 4096, flags ? IPC_CREAT | 0666 : 0);
	fds[1] = msgget(key, flags ? IPC_CREAT | 0666 : 0);
	fds[2] = semget(key, 1, flags ? IPC_CREAT | 0666 : 0);
	fds[3] = shm_open(dotted, flags ? O_CREAT | O_RDWR : O_RDONLY, 0666);
	fds[4] = (int)mq_open(dotted, flags ? O_CREAT | O_RDWR : O_RDONLY, 0666, NULL);
	int made = 0;
	for (int i = 0; i < 5; i++)
		made += fds[i] >= 0;
	return made;
}

static int remove_objects(const int fds[5], const char *name)
{
	char dotted[80];

	snprintf(dotted, sizeof dotted, "/%s", name);
	shmctl(fds[0], IPC_RMID, NULL);
	msgctl(fds[1], IPC_RMID, NULL);
	semctl(fds[2], 0, IPC_RMID);
	shm_unlink(dotted);
	mq_unlink(dotted);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {
		"System V memory", "System V queue", "System V semaphore", "POSIX memory", "POSIX queue"};
	int fds[5];

	need(argc == 4, "make|find|remove KEY NAME");
	key_t key = (key_t)strtol(argv[2], NULL, 0);
	bool make = strcmp(argv[1], "make") == 0;
	int n = objects(key, argv[3], make, fds);
	if (strcmp(argv[1], "remove") == 0)
		return remove_objects(fds, argv[3]);
	if (make) {
		need(n >= 4, "objects of each kind");
		printf("held: made %d kinds (they end with this sandbox)\n", n);
		return 0;
	}
	for (int i = 0; i < 5; i++)
		tried(kinds[i], fds[i] >= 0);
	return verdict();
}
