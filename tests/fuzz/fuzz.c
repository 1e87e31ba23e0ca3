/*
 * The end of an assertion is here without criterion's runner and its worker processes: of its functions these four are
 * the ones that its assertions call, and those of a program come before those of a library.
 *
 * The made-up tree lies below PINFOLD_FUZZ_DIRECTORY, so that whoever starts a fuzzer can remove what one that crashed
 * leaves; else below /var/tmp.
 */
#include "tests/fuzz/fuzz.h"

#include <criterion/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cri_asserts_passed_incr(void)
{
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (!stats->passed)
		(void)fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
}

void criterion_abort_test(void)
{
	abort();
}

void criterion_continue_test(void)
{
	abort();
}

uint8_t fuzz_byte(struct fuzz_input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

void fuzz_bytes(struct fuzz_input *input, void *ret_bytes, size_t size)
{
	size_t n = size < input->left ? size : input->left;

	memset(ret_bytes, 0, size);
	if (n > 0)
		memcpy(ret_bytes, input->at, n);
	input->at += n;
	input->left -= n;
}

char *fuzz_text(struct fuzz_input *input)
{
	size_t size = input->left > 0 ? strnlen((const char *)input->at, input->left) : 0;
	char *text = malloc(size + 1);

	cr_assert_not_null(text);
	fuzz_bytes(input, text, size);
	text[size] = '\0';
	(void)fuzz_byte(input);
	return text;
}

void fuzz_expect_json_take(char *text)
{
	json_error_t error;
	json_t *json;

	cr_assert_not_null(text);
	json = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	cr_assert_not_null(json, "%s in %s", error.text, text);
	json_decref(json);
	free(text);
}

static struct world world;

static void remove_world(void)
{
	world_done(&world);
}

const struct world *fuzz_world(void)
{
	const char *directory = getenv("PINFOLD_FUZZ_DIRECTORY");

	if (world.root[0] != '\0')
		return &world;
	world_init(&world, directory != NULL ? directory : "/var/tmp");
	cr_assert_eq(atexit(remove_world), 0);
	return &world;
}

#define HOSTS_MAX 16

const struct host *fuzz_host(struct fuzz_input *input)
{
	static struct host hosts[HOSTS_MAX];
	static size_t n;

	for (; n < HOSTS_MAX && world_hosts[n] != NULL; n++)
		hosts[n] = world_host(world_hosts[n]);
	return &hosts[fuzz_byte(input) % n];
}
