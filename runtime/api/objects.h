/* The public handles from within. */
#ifndef API_OBJECTS_H
#define API_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/error.h"
#include "include/pinfold.h"
#include "runtime/host/host.h"
#include "runtime/plan/plan.h"
#include "runtime/policy/document.h"
#include "runtime/supervise/supervisor.h"

struct pinfold_error {
	struct error error;
	char *message;
	char *json;
	char **details; /* NULL-terminated, or NULL */
	size_t n_details;
};

struct pinfold_host {
	pthread_mutex_t lock; /* probing happens once, whoever comes first */
	struct host host;
	char *workspace; /* for which FACT_IDMAPPED_MOUNT was tried */
};

struct pinfold_policy {
	struct policy_document *document;
	char *json, *text; /* handed out last */
};

struct pinfold_command {
	atomic_uint references; /* the caller's, and one for each run that still feeds from it */
	void *mapped;           /* a regular file given as stdin, or NULL */
	size_t mapped_size;
	struct arena *arena;
	struct command command;
	bool traced;
};

struct pinfold_report {
	struct plan *plan;
	char *json, *text;
};

struct pinfold_run {
	pinfold_command *command; /* holds what is fed to the command's stdin */
	struct plan *plan;
	struct supervisor *supervisor;
	struct supervisor_hooks hooks;
	const char **warnings; /* in the plan's arena */
	size_t n_warnings;
	int cancel_fd; /* a duplicate of its own: another thread may cancel while this one takes the result */
	bool over;
	struct steps record;
	struct steps *steps; /* &record, or NULL */
};

struct pinfold_result {
	struct plan *plan;
	struct supervisor *supervisor; /* owner of the outcome */
	const struct outcome *outcome;
	char *json, *note;
};

/* Turns a failure into the caller's error object: the errors of diag become its details. Returns -1. */
int api_fail(pinfold_error **err, const char *op, const struct error *error, const struct diag *diag);
/* The host is probed under its lock. steps: of the run that is to come, or NULL. */
must_check int api_plan(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, bool checked,
	struct steps *steps, struct plan **ret_plan, struct diag *diag, struct error *err);

/* One more owner; pinfold_command_free() ends it. */
pinfold_command *api_command_hold(const pinfold_command *command);

#endif
