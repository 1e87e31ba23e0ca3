/*
 * Build-time program: writes the table of system call names and numbers as C source to the file given.
 *
 * libseccomp knows names and numbers of every architecture; asking it here means that pinfold itself does not load it:
 * for a program that lives for a millisecond, one more library at start is felt. What is newer than the library is in
 * `newer` below; where a later library knows such a call too, both must agree or the build stops. Names that only other
 * architectures have are kept without a number, so that a profile written for many machines is told apart from a typo.
 */
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seccomp/syscalls.h"

#define NAMES_MAX 2048
#define NAME_SIZE 40

struct name {
	char text[NAME_SIZE];
	int number;
};

struct names {
	struct name entries[NAMES_MAX];
	size_t n;
};

static const struct {
	const char *name;
	int number;
} newer[] = {
	{"uretprobe", 335},
	{"uprobe", 336},
	{"cachestat", 451},
	{"fchmodat2", 452},
	{"map_shadow_stack", 453},
	{"futex_wake", 454},
	{"futex_wait", 455},
	{"futex_requeue", 456},
	{"statmount", 457},
	{"listmount", 458},
	{"lsm_get_self_attr", 459},
	{"lsm_set_self_attr", 460},
	{"lsm_list_modules", 461},
	{"mseal", 462},
	{"setxattrat", 463},
	{"getxattrat", 464},
	{"listxattrat", 465},
	{"removexattrat", 466},
	{"open_tree_attr", 467},
	{"file_getattr", 468},
	{"file_setattr", 469},
	{"riscv_hwprobe", -1},
};

static const uint32_t other_architectures[] = {SCMP_ARCH_X86, SCMP_ARCH_ARM, SCMP_ARCH_AARCH64, SCMP_ARCH_MIPS,
	SCMP_ARCH_MIPS64, SCMP_ARCH_MIPS64N32, SCMP_ARCH_PPC, SCMP_ARCH_PPC64LE, SCMP_ARCH_S390, SCMP_ARCH_S390X,
	SCMP_ARCH_PARISC, SCMP_ARCH_RISCV64};

static _Noreturn void fail(const char *what, const char *name)
{
	fprintf(stderr, "generate_syscalls: %s: %s\n", what, name);
	exit(1);
}

static struct name *names_find(struct names *names, const char *text)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->entries[i].text, text) == 0)
			return &names->entries[i];
	return NULL;
}

static void names_add(struct names *names, const char *text, int number)
{
	struct name *known = names_find(names, text);

	if (known != NULL) {
		if (number >= 0 && known->number != number)
			fail("two numbers for one name", text);
		return;
	}
	if (names->n == NAMES_MAX || strlen(text) >= NAME_SIZE)
		fail("the table is too small", text);
	snprintf(names->entries[names->n].text, NAME_SIZE, "%s", text);
	names->entries[names->n++].number = number;
}

/* MIPS numbers begin at 4000, 5000 and 6000; all others are below 512. */
static void names_collect(struct names *names, uint32_t architecture, bool native)
{
	int end = native ? SYSCALL_NUMBERS : 6512;

	for (int number = 0; number < end; number++) {
		char *text = seccomp_syscall_resolve_num_arch(architecture, number);

		if (text != NULL)
			names_add(names, text, native ? number : -1);
		free(text);
	}
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static int names_index(const struct names *names, int number)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->entries[i].number == number)
			return (int)i;
	return -1;
}

static void numbers_write(const struct names *names, FILE *out)
{
	fprintf(out, "const int16_t syscall_by_number[] = {\n");
	for (int number = 0; number < SYSCALL_NUMBERS; number++)
		fprintf(out, "\t%d,\n", names_index(names, number));
	fprintf(out, "};\n");
}

static void names_write(const struct names *names, FILE *out)
{
	size_t offset = 0;

	fprintf(out, "/* Written by generate_syscalls. */\n#include \"seccomp/syscall_table.h\"\n\n");
	fprintf(out, "const char syscall_text[] =\n");
	for (size_t i = 0; i < names->n; i++)
		fprintf(out, "\t\"%s\\0\"\n", names->entries[i].text);
	fprintf(out, "\t;\n\nconst struct syscall_entry syscall_entries[] = {\n");
	for (size_t i = 0; i < names->n; i++) {
		fprintf(out, "\t{%zu, %d},\n", offset, names->entries[i].number);
		offset += strlen(names->entries[i].text) + 1;
	}
	fprintf(out, "};\nconst size_t syscall_entries_n = %zu;\n\n", names->n);
	if (offset > UINT16_MAX)
		fail("too much text for 16-bit offsets", "syscall_text");
}

int main(int argc, char **argv)
{
	static struct names names;
	FILE *out;

	if (argc != 2)
		fail("usage", "generate_syscalls FILE");
	names_collect(&names, SCMP_ARCH_X86_64, true);
	for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
		names_add(&names, newer[i].name, newer[i].number);
	for (size_t i = 0; i < sizeof other_architectures / sizeof *other_architectures; i++)
		names_collect(&names, other_architectures[i], false);
	qsort(names.entries, names.n, sizeof *names.entries, name_compare);
	out = fopen(argv[1], "we");
	if (out == NULL)
		fail("cannot write", argv[1]);
	names_write(&names, out);
	numbers_write(&names, out);
	if (fclose(out) != 0)
		fail("cannot write", argv[1]);
	return 0;
}
