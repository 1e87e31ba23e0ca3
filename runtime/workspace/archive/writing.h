/* The second pass's hand: makes what was judged, in the current directory. */
#ifndef WORKSPACE_ARCHIVE_WRITING_H
#define WORKSPACE_ARCHIVE_WRITING_H

#include "base/arena.h"
#include "runtime/workspace/archive/pass.h"

struct writing_link;

struct writing {
	struct arena *arena;
	int directory_fd;           /* borrowed: where it all goes */
	int file_fd;                /* the file that is being written, or -1 */
	struct writing_link *links; /* made at the end */
	size_t n_links;
	void (*progress)(uint64_t members, uint64_t bytes);
};

must_check int writing_init(
	struct writing *writing, int directory_fd, void (*progress)(uint64_t, uint64_t), struct error *err);
void writing_done(struct writing *writing);
#define cleanup_writing __attribute__((cleanup(writing_done)))

struct pass_sink writing_sink(struct writing *writing);
/* Once the pass is over: the links. */
must_check int writing_finish(struct writing *writing, struct error *err);

#endif
