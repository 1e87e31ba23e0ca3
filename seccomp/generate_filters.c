/*
 * Build-time program: compiles the built-in profiles and writes them as C source to the file given.
 *
 * It is linked with the very compiler that pinfold uses at plan time, so an embedded filter and a fresh one are the
 * same bytes; a test compares them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "seccomp/compile.h"

static _Noreturn void fail(const struct error *err)
{
	char text[640];

	fprintf(stderr, "generate_filters: %s\n", error_message(err, text, sizeof text));
	exit(1);
}

static void filter_write(FILE *out, size_t index, const struct filter *filter)
{
	fprintf(out, "static const struct sock_filter filter_%zu[] = {\n", index);
	for (size_t i = 0; i < filter->n; i++)
		fprintf(out, "\t{0x%02x, %u, %u, 0x%08x},\n", filter->instructions[i].code, filter->instructions[i].jt,
			filter->instructions[i].jf, filter->instructions[i].k);
	fprintf(out, "};\n");
}

/* Returns whether it lets user namespaces be made. */
static bool builtin_write(FILE *out, size_t index, const struct filter_request *request)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	cleanup_diag struct diag diag = {0};
	const struct filter_plan *plan;
	struct filter filter;
	struct error err = {0};

	if (arena_new(&arena, &err) < 0 || filter_plan_new(request, arena, &plan, &diag, &err) < 0 ||
		filter_compile(plan, arena, &filter, &err) < 0)
		fail(&err);
	filter_write(out, index, &filter);
	return filter.user_namespaces;
}

/* Each profile twice: without and with nested namespaces. None forbids the start of a program. */
#define BUILTINS_MAX 16

static void builtins_write(FILE *out)
{
	bool user_namespaces[BUILTINS_MAX];
	size_t n = 0;

	fprintf(out, "/* Written by generate_filters. */\n#include \"seccomp/builtin.h\"\n\n");
	for (; n < BUILTINS_MAX && filter_profile_names[n / 2] != NULL; n++)
		user_namespaces[n] = builtin_write(out, n,
			&(struct filter_request){.profile = filter_profile_names[n / 2], .nested_namespaces = n % 2 == 1});
	fprintf(out, "\nconst struct builtin_filter builtin_filters[] = {\n");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "\t{\"%s\", %s, {filter_%zu, sizeof filter_%zu / sizeof *filter_%zu, %s, false}},\n",
			filter_profile_names[i / 2], i % 2 == 1 ? "true" : "false", i, i, i,
			user_namespaces[i] ? "true" : "false");
	fprintf(out, "};\nconst size_t builtin_filters_n = %zu;\n", n);
}

int main(int argc, char **argv)
{
	FILE *out = argc == 2 ? fopen(argv[1], "we") : NULL;

	if (out == NULL) {
		fprintf(stderr, "usage: generate_filters FILE\n");
		return 1;
	}
	builtins_write(out);
	return fclose(out) == 0 ? 0 : 1;
}
