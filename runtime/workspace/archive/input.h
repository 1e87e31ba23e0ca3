/* One archive, read from a descriptor through libarchive: only the formats and filters that pinfold takes. */
#ifndef WORKSPACE_ARCHIVE_INPUT_H
#define WORKSPACE_ARCHIVE_INPUT_H

#include <archive.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct input;

/* From the beginning of the file; fd is borrowed and seekable. */
must_check int input_open(int fd, struct input **ret_input, struct error *err);
struct input *input_free(struct input *input);
CLEANUP_DEFINE(struct input, input_free)

struct archive *input_archive(const struct input *input);
/* How much of the file has been read; never more than there is, however often it was read. */
uint64_t input_bytes(const struct input *input);
/* "tar" or "zip", and "none", "gzip", ...; once the first header was read. */
const char *input_format(const struct input *input);
const char *input_compression(const struct input *input);
/* Refuses more than one compression around another; once the first header was read. */
must_check int input_check(const struct input *input, struct error *err);
/* What libarchive has refused, as an error about this member (or NULL). */
int input_error(const struct input *input, const char *member, struct error *err);

#endif
