/* One directory descriptor that goes down by names and comes up again, however deep the tree is. */
#ifndef BASE_CLIMBER_H
#define BASE_CLIMBER_H

#include <stddef.h>
#include <sys/types.h>

struct climber_place {
	dev_t dev;
	ino_t ino;
};

struct climber {
	int fd;       /* where it is now; its own; readable where it came down, else only a place (O_PATH) */
	size_t depth; /* 0 where it began */
	struct climber_place *above; /* of each directory that it went through */
	size_t allocated;
};

#define CLIMBER_NOWHERE  \
	{                \
		.fd = -1 \
	}
#define cleanup_climber __attribute__((cleanup(climber_done)))

/* All three: 0, or -1 with errno and the climber where it was. */
int climber_begin(struct climber *climber, int dirfd); /* dirfd is borrowed */
/* name: one component. A symlink is ELOOP or ENOTDIR. */
int climber_down(struct climber *climber, const char *name);
/* Back to where the last climber_down began; ESTALE where the directory above is another one now. */
int climber_up(struct climber *climber);
void climber_done(struct climber *climber);

#endif
