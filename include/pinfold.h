/*
 * pinfold - run a command nobody trusts inside an operating-system boundary, and say truthfully what was enforced.
 *
 * The whole public API. The flow is always the same:
 *
 *   policy (what is asked) + host (what this machine can do) + command
 *        -> report  (what would be enforced, and by which mechanism)       pinfold_check
 *        -> run     (a live, confined process tree)                        pinfold_run_start
 *        -> result  (how it ended, and what was enforced)                  pinfold_run_wait
 *
 * Rules that hold for every function:
 *  - Functions that can fail return 0 (or a positive value where said) on success and -1 on failure. On failure, where
 *    `err` is not NULL, `*err` receives an error object to be freed with pinfold_error_free().
 *  - Out parameters are named ret_* and are written on success only.
 *  - Strings are NUL-terminated UTF-8 (paths and arguments: bytes). Strings returned as `const char *` belong to the
 *    object they were asked of and live as long as it does. Every `*_free` accepts NULL and returns NULL.
 *  - No global state, no signal handler, no exit, nothing printed. The end of a run sends the process a SIGCHLD, as
 * that of any child; a handler and a wait for any child of the program's own do no harm to it.
 *  - Different objects may be used from different threads
 *    at once; one object from one thread at a time, except pinfold_run_cancel(). A host may be shared by all threads.
 */
#ifndef PINFOLD_H
#define PINFOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PINFOLD_API        __attribute__((visibility("default")))
#define PINFOLD_MUST_CHECK __attribute__((warn_unused_result))

typedef struct pinfold_error pinfold_error;
typedef struct pinfold_host pinfold_host;
typedef struct pinfold_policy pinfold_policy;
typedef struct pinfold_command pinfold_command;
typedef struct pinfold_report pinfold_report;
typedef struct pinfold_run pinfold_run;
typedef struct pinfold_result pinfold_result;
typedef struct pinfold_manifest pinfold_manifest;
typedef struct pinfold_extraction pinfold_extraction;

/* The version of the library that is loaded, "MAJOR.MINOR.PATCH". */
PINFOLD_API const char *pinfold_version(void);

/* --- errors --------------------------------------------------------------------------------------------------------
 * code: a stable word (docs/errors.md). message: one line for people, with the path, the kernel's word and the remedy,
 * and the code in parentheses at its end. json: the pinfold.error/1 document. details: zero or more further lines (all
 * mistakes of a policy, one a line, as FILE:LINE:COL: FIELD: TEXT), NULL at the end of the list. */
PINFOLD_API const char *pinfold_error_code(const pinfold_error *error);
PINFOLD_API const char *pinfold_error_message(const pinfold_error *error);
PINFOLD_API const char *pinfold_error_json(pinfold_error *error);
PINFOLD_API const char *pinfold_error_detail(const pinfold_error *error, size_t index);
/* The exit status the command line gives for this error: 125, 2 for a call that cannot be meant, or 1 for a manifest or
 * archive that is refused. */
PINFOLD_API int pinfold_error_exit_status(const pinfold_error *error);
PINFOLD_API pinfold_error *pinfold_error_free(pinfold_error *error);

/* --- host: what this machine can do --------------------------------------------------------------------------------
 * Cheap to make: nothing is probed until it is needed, and then once.
 *
 * Where a policy limits what only a cgroup can hold, the first check or run switches on controllers in the caller's
 * cgroup, and may move the calling process with all its threads: into a group below its own where it is alone in a
 * delegated one (taken back by pinfold_host_free), or out of a login session's scope into a transient scope that is
 * asked of systemd (docs/machines.md). PINFOLD_CGROUP names another place. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_host_new(pinfold_host **ret_host, pinfold_error **err);
PINFOLD_API pinfold_host *pinfold_host_free(pinfold_host *host);

/* --- policy: what is asked -----------------------------------------------------------------------------------------
 * load: a built-in (":read-only", ":workspace-write", ...) or the path of a policy file (JSON with comments).
 * parse: the same from memory; `label` names the text in messages, `directory` is what its relative paths in "extends"
 * are relative to (NULL: the current directory). */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_policy_load(
	const char *name, pinfold_policy **ret_policy, pinfold_error **err);
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_policy_parse(
	const char *text, const char *label, const char *directory, pinfold_policy **ret_policy, pinfold_error **err);
/* Overrides one field, as a command-line flag does. `field` is dotted ("limits.memory", "filesystem.write"); `value` is
 * the field's text form ("512M", "none"); for lists the value is appended, for "process.env.set" it is "NAME=VALUE".
 * For "filesystem.tmpfs" it is "PATH[:SIZE]". `origin` names who said it in messages ("--memory"). */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_policy_set(
	pinfold_policy *policy, const char *field, const char *value, const char *origin, pinfold_error **err);
/* Empties a list field ("process.env.pass"), as --clear-env does. "filesystem.deny" and "filesystem.protect" are refused. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_policy_clear(
	pinfold_policy *policy, const char *field, const char *origin, pinfold_error **err);
/* Checks the whole; every mistake is in the error's details. Every use of a policy does this itself. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_policy_validate(pinfold_policy *policy, pinfold_error **err);
/* The resolved policy with the origin of each value (pinfold.policy/1), as JSON or as lines for people. */
PINFOLD_API const char *pinfold_policy_json(pinfold_policy *policy, pinfold_error **err);
PINFOLD_API const char *pinfold_policy_text(pinfold_policy *policy, pinfold_error **err);
/* The JSON Schema (draft 2020-12) of policies; to be freed with pinfold_string_free(). */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_policy_schema(char **ret_json, pinfold_error **err);
/* The built-ins: name and one-line description by index; NULL past the end. */
PINFOLD_API const char *pinfold_policy_builtin_name(size_t index);
PINFOLD_API const char *pinfold_policy_builtin_summary(size_t index);
PINFOLD_API pinfold_policy *pinfold_policy_free(pinfold_policy *policy);

/* --- command -------------------------------------------------------------------------------------------------------
 * argv is copied; argv[0] must not be empty. Defaults: workspace and directory are the current directory (the directory
 * only where it lies in the workspace), no stdin, output captured. */
enum pinfold_stdin {
	PINFOLD_STDIN_NONE, /* end of file at once */
	PINFOLD_STDIN_FD, /* a descriptor of the caller's, borrowed until the run is started, given to the command; a regular
			     file's bytes are fed instead, from its current offset, so that it cannot be written to */
	PINFOLD_STDIN_DATA /* bytes, copied, fed while the command reads */
};
enum pinfold_output {
	PINFOLD_OUTPUT_CAPTURE, /* kept, head and tail, up to the policy's limits.output a stream */
	PINFOLD_OUTPUT_FD,      /* the caller's descriptors, connected directly; limits.output does not apply */
	PINFOLD_OUTPUT_RELAY, /* passed on to the caller's descriptors by the supervisor, which stops at limits.output */
	PINFOLD_OUTPUT_TTY    /* a private pseudo-terminal, relayed between it and the caller's descriptors */
};
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_new(
	const char *const *argv, pinfold_command **ret_command, pinfold_error **err);
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_set_workspace(
	pinfold_command *command, const char *path, pinfold_error **err);
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_set_directory(
	pinfold_command *command, const char *path, pinfold_error **err);
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_set_stdin(
	pinfold_command *command, enum pinfold_stdin mode, int fd, const void *data, size_t size, pinfold_error **err);
/* fd_out and fd_err are borrowed until the run is freed; -1 for PINFOLD_OUTPUT_CAPTURE. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_set_output(
	pinfold_command *command, enum pinfold_output mode, int fd_out, int fd_err, pinfold_error **err);
/* The environment from which the policy's "pass" takes; default: the calling process's. NULL-terminated "NAME=VALUE";
 * copied. An entry without '=' or with an empty name is refused; of duplicates the last one counts. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_set_environment(
	pinfold_command *command, const char *const *environment, pinfold_error **err);
/* SIGTERM first at a time-out or cancellation, SIGKILL to the tree after this many milliseconds; default 0: at once. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_command_set_kill_after(
	pinfold_command *command, uint64_t milliseconds, pinfold_error **err);
/* Keeps for each run of this command where the time of its launch went: pinfold_run_step(). */
PINFOLD_API void pinfold_command_trace_setup(pinfold_command *command);
PINFOLD_API pinfold_command *pinfold_command_free(pinfold_command *command);

/* --- check: what would be enforced ---------------------------------------------------------------------------------
 * Starts nothing but throw-away probes and changes nothing. `command` may be NULL (the current directory is then the
 * workspace). A policy that cannot be enforced here is not an error: the verdict says so. */
enum pinfold_verdict {
	PINFOLD_ENFORCED,
	PINFOLD_DEGRADED,
	PINFOLD_UNENFORCEABLE
};
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_check(pinfold_host *host, pinfold_policy *policy,
	const pinfold_command *command, pinfold_report **ret_report, pinfold_error **err);
PINFOLD_API enum pinfold_verdict pinfold_report_verdict(const pinfold_report *report);
PINFOLD_API const char *pinfold_report_json(pinfold_report *report); /* pinfold.report/1 */
/* A table for people; color != 0: with terminal colours. */
PINFOLD_API const char *pinfold_report_text(pinfold_report *report, int color);
PINFOLD_API pinfold_report *pinfold_report_free(pinfold_report *report);
/* What run would do, as JSON, without doing it (the plan of `run --dry-run`). */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_plan_json(pinfold_host *host, pinfold_policy *policy,
	const pinfold_command *command, char **ret_json, pinfold_error **err);
/* What a host that starts commands itself needs to run this one by pinfold (pinfold.wrap/1): argv, env, cwd, and the report
 * as `enforcement`. `program` is the absolute path of the pinfold to start. argv names no policy file and no shell of its
 * own; values of variables are in env alone. Standard streams are the host's to give, but for the output mode of the
 * command. `options`: more words for `pinfold run`, NULL-terminated; NULL: none. What cannot be enforced is an error. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_wrap(pinfold_host *host, pinfold_policy *policy,
	const pinfold_command *command, const char *program, const char *const *options, char **ret_json,
	pinfold_error **err);
/* Frees a string handed out through a char ** out parameter. */
PINFOLD_API void pinfold_string_free(char *string);

/* --- run -----------------------------------------------------------------------------------------------------------
 * start returns as soon as the boundary stands and the command is about to be executed; what goes wrong before that is
 * an error, what goes wrong afterwards is in the result. The command dies with this process, not with the thread. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_run_start(pinfold_host *host, pinfold_policy *policy,
	const pinfold_command *command, pinfold_run **ret_run, pinfold_error **err);
/* What a person should know of a run that was started: in best-effort each thing asked that is not enforced, and what
 * of the policy was skipped; by index, NULL past the end. */
PINFOLD_API const char *pinfold_run_warning(const pinfold_run *run, size_t index);
/* The steps of the launch and of its end so far, by time and by index, NULL past the end or where none were asked for:
 * what was done, in a few words (static), and at *ret_ns of CLOCK_MONOTONIC it was. The first is the begin. Names are
 * for people and may change from release to release. */
PINFOLD_API const char *pinfold_run_step(const pinfold_run *run, size_t index, uint64_t *ret_ns);
/* Output as it comes; stream is 1 or 2. Called from within dispatch and wait. Set before the first of these. */
typedef void (*pinfold_output_fn)(void *userdata, int stream, const void *data, size_t size);
PINFOLD_API void pinfold_run_on_output(pinfold_run *run, pinfold_output_fn fn, void *userdata);
/* Events as JSON objects, one a call, without a newline: started, output, sample, limit, violation, exited. */
typedef void (*pinfold_event_fn)(void *userdata, const char *json);
PINFOLD_API void pinfold_run_on_event(pinfold_run *run, pinfold_event_fn fn, void *userdata);
/* Pollable form: wait for POLLIN on the descriptor (it stays the run's), then dispatch, which never blocks.
 * dispatch returns 1 when the run is over and its result is ready, 0 when there is more to come, -1 on failure. */
PINFOLD_API int pinfold_run_fd(const pinfold_run *run);
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_run_dispatch(pinfold_run *run, pinfold_error **err);
/* Blocking form: dispatches until the run is over; the result belongs to the caller. May be called after dispatch
 * returned 1, and once only. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_run_wait(pinfold_run *run, pinfold_result **ret_result, pinfold_error **err);
/* Asks for the end of the run; safe from any thread and from a signal handler; idempotent. */
PINFOLD_API void pinfold_run_cancel(pinfold_run *run);
/* Tells a run with PINFOLD_OUTPUT_TTY the size of the caller's terminal. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_run_resize(
	pinfold_run *run, unsigned rows, unsigned columns, pinfold_error **err);
/* Kills and reaps the whole tree where it still lives. */
PINFOLD_API pinfold_run *pinfold_run_free(pinfold_run *run);

/* --- result --------------------------------------------------------------------------------------------------------*/
enum pinfold_status {
	PINFOLD_EXITED,
	PINFOLD_SIGNALED,
	PINFOLD_TIMED_OUT,
	PINFOLD_CPU_TIME_EXCEEDED,
	PINFOLD_OUT_OF_MEMORY,
	PINFOLD_CANCELLED,
	PINFOLD_SETUP_FAILED /* the command could not be executed: not found, or not executable */
};
PINFOLD_API enum pinfold_status pinfold_result_status(const pinfold_result *result);
PINFOLD_API int pinfold_result_exit_code(const pinfold_result *result); /* -1 where a signal killed it */
PINFOLD_API int pinfold_result_signal(const pinfold_result *result);    /* 0 where it exited */
/* What `pinfold run` exits with: the command's own status, 128+n, 124, 137, 125, 126 or 127 (docs/errors.md). */
PINFOLD_API int pinfold_result_exit_status(const pinfold_result *result);
/* The kept bytes of a stream (1 or 2), not NUL-terminated; kept is their number, total what the command wrote. */
PINFOLD_API const void *pinfold_result_output(
	const pinfold_result *result, int stream, size_t *ret_kept, uint64_t *ret_total);
/* One line for people where there is something to say (a limit, an error, survivors), else NULL. */
PINFOLD_API const char *pinfold_result_note(const pinfold_result *result);
PINFOLD_API const char *pinfold_result_json(pinfold_result *result); /* pinfold.result/1 */
PINFOLD_API pinfold_result *pinfold_result_free(pinfold_result *result);

/* --- workspaces: manifests -----------------------------------------------------------------------------------------
 * A manifest says what a workspace is made of (docs/manifest.md): files of its own, and copies from this machine. Who
 * wrote it need not be trusted: what it may take is said here and nowhere else. load: its base directory, which
 * relative sources are below, is that of the file. parse: the same from memory, without a base directory. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_load(
	const char *path, pinfold_manifest **ret_manifest, pinfold_error **err);
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_parse(
	const void *text, size_t size, const char *label, pinfold_manifest **ret_manifest, pinfold_error **err);
/* "/", and what resolves to it, is refused here and in a grant. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_set_base(
	pinfold_manifest *manifest, const char *directory, pinfold_error **err);
/* What sources may be beside the base directory: "PATH" or "PATH:ro", absolute. The longest grant counts. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_grant(
	pinfold_manifest *manifest, const char *grant, pinfold_error **err);
/* The absolute paths and those in the caller's home of "filesystem.read" (:ro) and "filesystem.write", where they
 * exist; what the policy denies there, secrets included, may not be taken. Patterns are not looked at. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_grant_policy(
	pinfold_manifest *manifest, pinfold_policy *policy, pinfold_error **err);
/* How many entries are copied, fetched or unpacked at a time; at least 1; PINFOLD_JOBS_NONE: as many as there are.
 * Default: 4. */
#define PINFOLD_JOBS_NONE ((unsigned)-1)
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_set_jobs(
	pinfold_manifest *manifest, unsigned jobs, pinfold_error **err);
/* What may be made in all, directories counted as files; at least 1 each; UINT64_MAX: no limit. Default: 1000000, 16 GiB. Beyond: "limit". */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_set_limits(
	pinfold_manifest *manifest, uint64_t files, uint64_t bytes, pinfold_error **err);
/* A descriptor (borrowed, never read) that becomes readable when what is going on is to end early, with the error
 * "cancelled": an eventfd, a signalfd. -1: none. */
PINFOLD_API void pinfold_manifest_set_cancel_fd(pinfold_manifest *manifest, int fd);
/* Told while it is materialized, from any thread, one at a time: how many files and bytes so far. */
typedef void (*pinfold_progress_fn)(void *userdata, uint64_t files, uint64_t bytes);
PINFOLD_API void pinfold_manifest_on_progress(pinfold_manifest *manifest, pinfold_progress_fn fn, void *userdata);
enum pinfold_materialize_flags {
	PINFOLD_MATERIALIZE_DRY_RUN = 1,       /* look, and touch nothing */
	PINFOLD_MATERIALIZE_EPHEMERAL_ONLY = 2 /* only what is ephemeral, made anew; the rest stays as it is */
};
/* Builds all of it in `destination`, a directory that is made where only its last part lacks, or nothing: on failure it
 * is as it was before. ret_json: the receipt (pinfold.receipt/1), freed with pinfold_string_free(). */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_materialize(pinfold_host *host, pinfold_manifest *manifest,
	const char *destination, unsigned flags, char **ret_json, pinfold_error **err);
/* The variables that the manifest asks for its commands, with the values that they have now: "NAME=VALUE",
 * NULL-terminated. Call it when a command is about to start, and free the list at once with pinfold_environment_free(),
 * which wipes it. allowed: the references that the manifest may take ("fd:3", "env:API_*"; NULL-terminated, or NULL:
 * none); a file it may also take where it may copy from. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_environment(
	pinfold_manifest *manifest, const char *const *allowed, char ***ret_environment, pinfold_error **err);
PINFOLD_API void pinfold_environment_free(char **environment);
/* The JSON Schema (draft 2020-12) of manifests; freed with pinfold_string_free(). */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_manifest_schema(char **ret_json, pinfold_error **err);
PINFOLD_API pinfold_manifest *pinfold_manifest_free(pinfold_manifest *manifest);

/* --- workspaces: archives ------------------------------------------------------------------------------------------
 * A tar or zip archive that nobody trusts, taken apart by a program of its own inside a boundary, and refused as a whole
 * where any of it breaks a rule or a limit (docs/archives.md). fd: borrowed; a pipe will do. label names it in messages. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_extraction_new(
	int fd, const char *label, pinfold_extraction **ret_extraction, pinfold_error **err);
/* What a flag of `pinfold extract` says, without its dashes: "max-extracted", "64M". origin names who said it. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_extraction_set(
	pinfold_extraction *extraction, const char *option, const char *value, const char *origin, pinfold_error **err);
/* A descriptor (borrowed, never read) that becomes readable when what is going on is to end early, with the error
 * "cancelled". -1: none. */
PINFOLD_API void pinfold_extraction_set_cancel_fd(pinfold_extraction *extraction, int fd);
/* Told while it is extracted: how many members and bytes so far. */
PINFOLD_API void pinfold_extraction_on_progress(pinfold_extraction *extraction, pinfold_progress_fn fn, void *userdata);
/* All of it into `destination`, a directory that is made where only its last part lacks, or nothing: on failure it is
 * as it was before. ret_json: pinfold.extraction/1, freed with pinfold_string_free(). Once for each extraction. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_extract(pinfold_host *host, pinfold_extraction *extraction,
	const char *destination, char **ret_json, pinfold_error **err);
PINFOLD_API pinfold_extraction *pinfold_extraction_free(pinfold_extraction *extraction);

/* --- upkeep --------------------------------------------------------------------------------------------------------
 * Removes what dead runs left behind (cgroups); never touches a live one. ret_removed: how many things. */
PINFOLD_API PINFOLD_MUST_CHECK int pinfold_gc(size_t *ret_removed, pinfold_error **err);

#ifdef __cplusplus
}
#endif
#endif
