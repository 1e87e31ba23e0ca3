/*
 * Progress is for a person who waits: nothing is shown for what is done within a moment, and nothing ever where stderr
 * goes to a file or a program.
 */
#include "runtime/cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/monotime.h"
#include "runtime/cli/console.h"

#define FIRST_NS (500 * NS_PER_MS)
#define EACH_NS  (100 * NS_PER_MS)

static const char erase_line[] = "\r\033[K";

void cli_progress_begin(struct progress *progress, const struct settings *settings)
{
	*progress = (struct progress){
		.wanted = !settings->quiet && isatty(STDERR_FILENO),
		.next_ns = monotime_after_ns(FIRST_NS),
	};
}

void cli_progress_tell(void *userdata, uint64_t files, uint64_t bytes)
{
	struct progress *progress = userdata;
	char line[96];

	if (!progress->wanted || monotime_ns() < progress->next_ns)
		return;
	progress->next_ns = monotime_after_ns(EACH_NS);
	progress->shown = true;
	(void)snprintf(line, sizeof line, "%s%llu files, %.1f MiB", erase_line, (unsigned long long)files,
		(double)bytes / (1 << 20));
	(void)cli_write(STDERR_FILENO, line, strlen(line));
}

void cli_progress_end(struct progress *progress)
{
	if (progress->shown)
		(void)cli_write(STDERR_FILENO, erase_line, strlen(erase_line));
	progress->shown = false;
}
