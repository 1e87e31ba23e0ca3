/*
 * What the programs of this folder share. They are clients: they know include/pinfold.h and nothing else of pinfold,
 * are linked with the shared library, and tell TAP. A program is a table of tests:
 *
 *     static const struct test tests[] = {{"says what it does", function}, ...};
 *     int main(void) { return client_main(tests, sizeof tests / sizeof *tests); }
 *
 * CHECK goes on after a failure and may be used in any thread; REQUIRE ends the program. A program that hangs is ended
 * by SIGALRM.
 */
#ifndef TESTS_LIBRARY_CLIENT_H
#define TESTS_LIBRARY_CLIENT_H

#include <pinfold.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*run)(void);
};

int client_main(const struct test *tests, size_t n);
void client_fail(const char *file, int line, const char *condition, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
_Noreturn void client_end(void);
/* The rest of the test is not for this machine or user. */
void client_skip(const char *why);

#define CHECK(condition, ...)                                                         \
	do {                                                                          \
		if (!(condition))                                                     \
			client_fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
	} while (0)
#define REQUIRE(condition, ...)                                                       \
	do {                                                                          \
		if (!(condition)) {                                                   \
			client_fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
			client_end();                                                 \
		}                                                                     \
	} while (0)

/* An empty directory of this program's, removed at its end: the workspace of every command. */
const char *client_workspace(void);
/* A host for all, made once. */
pinfold_host *client_host(void);
/* All of these end the program where pinfold refuses. */
pinfold_policy *client_policy(const char *text);
/* The defaults of the tests: :read-only with a short time limit. */
pinfold_policy *client_default_policy(void);
pinfold_command *client_command(const char *const *argv);
pinfold_command *client_shell(const char *script);
pinfold_run *client_start(pinfold_policy *policy, pinfold_command *command);
pinfold_result *client_wait(pinfold_run *run);
/* Start, wait and free but for the result. */
pinfold_result *client_run(const char *policy, pinfold_command *command);
/* Whether the kept bytes of a stream are these. */
bool client_printed(const pinfold_result *result, int stream, const char *text);
const char *client_reason(pinfold_error *err);

uint64_t client_now_ms(void);
int client_count_fds(void);
int client_count_threads(void);
/* No child at all, not even one that is no concern of wait(2). */
bool client_is_childless(void);

#endif
