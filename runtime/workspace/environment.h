/* The variables of a manifest with their values, for whoever is about to start a command. */
#ifndef WORKSPACE_ENVIRONMENT_H
#define WORKSPACE_ENVIRONMENT_H

#include "base/error.h"
#include "runtime/workspace/manifest.h"
#include "runtime/workspace/sources.h"

/* "NAME=VALUE" in the order of the manifest, NULL-terminated; each and the list malloc'ed, freed by environment_free,
 * which wipes them. allowed: the references that the caller lets the manifest take ("fd:3", "env:API_*"; NULL-terminated,
 * may be NULL: none); a file may also lie below the base or a grant. Descriptors are read to their end. */
must_check int environment_resolve(const struct manifest *manifest, const struct sources *sources,
	const char *const *allowed, char ***ret_environment, struct error *err);
void environment_free(char **environment);

#endif
