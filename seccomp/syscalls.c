/*
 * Names and numbers of system calls.
 *
 * The numbers of an architecture never change once given, so a table made at build time is as true as one asked of a
 * library at run time, and costs nothing to load: one string of all names and sorted offsets into it, all of it
 * read-only pages without a relocation.
 */
#include "seccomp/syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "seccomp/syscall_table.h"

static int entry_compare(const void *key, const void *element)
{
	const struct syscall_entry *entry = element;

	return strcmp(key, syscall_text + entry->offset);
}

static const struct syscall_entry *entry_find(const char *name)
{
	return bsearch(name, syscall_entries, syscall_entries_n, sizeof *syscall_entries, entry_compare);
}

const char *syscall_name(unsigned number)
{
	int16_t entry = number < SYSCALL_NUMBERS ? syscall_by_number[number] : -1;

	return entry < 0 ? NULL : syscall_text + syscall_entries[entry].offset;
}

int syscall_number(const char *name)
{
	const struct syscall_entry *entry = entry_find(name);

	return entry == NULL ? -1 : entry->number;
}

bool syscall_is_foreign(const char *name)
{
	const struct syscall_entry *entry = entry_find(name);

	return entry != NULL && entry->number < 0;
}

const char *syscall_nearest(const char *name, struct arena *arena)
{
	const char **words = arena_alloc(arena, (syscall_entries_n + 1) * sizeof *words);
	size_t n = 0;

	if (words == NULL)
		return NULL;
	for (size_t i = 0; i < syscall_entries_n; i++)
		if (syscall_entries[i].number >= 0)
			words[n++] = syscall_text + syscall_entries[i].offset;
	return str_nearest(name, words);
}
