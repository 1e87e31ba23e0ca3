/* The set of names that an archive has had so far, as the tree that they make. */
#ifndef WORKSPACE_ARCHIVE_NAMES_H
#define WORKSPACE_ARCHIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

enum name_kind {
	NAME_IMPLIED, /* a directory that no member is, but that members are in */
	NAME_DIRECTORY,
	NAME_FILE,
	NAME_LINK
};

struct names;

/* portable: names that are equal after case folding are the same. */
must_check int names_new(bool portable, struct names **ret_names, struct error *err);
struct names *names_free(struct names *names);
CLEANUP_DEFINE(struct names, names_free)

/* Adds a tidy path ("a/b"). Returns how many directories it implies that were not there, or -1: refused, since it is
 * there already as something else than a directory, or lies below what is none. */
must_check int names_add(struct names *names, const char *path, enum name_kind kind, struct error *err);
uint64_t names_count(const struct names *names); /* implied ones too */

#endif
