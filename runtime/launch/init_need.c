/*
 * The kernel has one errno for a program that is not there and for a program whose interpreter is not there, and the
 * same for those that may not be executed. The difference is found out afterwards, with the command's rights and inside
 * its boundary, by reading the file's head as the kernel does: a first line that begins with #!, or the PT_INTERP of an
 * ELF program.
 *
 * Threat: the file is the command's, and may be changed meanwhile. What is read here decides words and nothing else,
 * and every offset is checked against what was read.
 */
#include "runtime/launch/init_need.h"

#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <stdbool.h>

#include "runtime/launch/init_sys.h"

#define HEAD_BYTES        4096
#define SCRIPT_LINE_BYTES 255 /* how much of it the kernel reads */
#define INTERPRETERS_MAX  5   /* as many as the kernel follows */
#define MODE_EXISTS       0
#define MODE_EXECUTABLE   1

struct head {
	char bytes[HEAD_BYTES] __attribute__((aligned(8)));
	unsigned long size;
};

static bool read_head(int directory, const char *path, struct head *head)
{
	long fd = init_call(__NR_openat, directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	long n = fd < 0 ? fd : init_call(__NR_read, fd, head->bytes, sizeof head->bytes);

	if (fd >= 0)
		(void)init_call(__NR_close, fd);
	head->size = n > 0 ? (unsigned long)n : 0;
	return n > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* [from, to) as a string, if it fits and is not empty. */
static bool copy_name(const struct head *head, unsigned long from, unsigned long to, char *ret_name, unsigned long size)
{
	unsigned long n = to - from;

	if (n == 0 || n >= size)
		return false;
	for (unsigned long i = 0; i < n; i++)
		ret_name[i] = head->bytes[from + i];
	ret_name[n] = '\0';
	return true;
}

static bool interpreter_of(const struct head *head, char *ret_name, unsigned long size)
{
	unsigned long end = head->size < SCRIPT_LINE_BYTES ? head->size : SCRIPT_LINE_BYTES;
	unsigned long from = 2, to;

	if (end < 2 || head->bytes[0] != '#' || head->bytes[1] != '!')
		return false;
	while (from < end && is_blank(head->bytes[from]))
		from++;
	to = from;
	while (to < end && !is_blank(head->bytes[to]) && head->bytes[to] != '\n' && head->bytes[to] != '\0')
		to++;
	if (to == SCRIPT_LINE_BYTES) /* cut off: the kernel refuses to guess the rest */
		return false;
	return copy_name(head, from, to, ret_name, size);
}

static bool loader_of(const struct head *head, char *ret_name, unsigned long size)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head->bytes;
	const Elf64_Phdr *parts;

	if (head->size < sizeof *elf || elf->e_ident[EI_MAG0] != ELFMAG0 || elf->e_ident[EI_MAG1] != ELFMAG1 ||
		elf->e_ident[EI_MAG2] != ELFMAG2 || elf->e_ident[EI_MAG3] != ELFMAG3 ||
		elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof *parts)
		return false;
	if (elf->e_phoff % 8 != 0 || elf->e_phoff > head->size ||
		elf->e_phnum > (head->size - elf->e_phoff) / sizeof *parts)
		return false;
	parts = (const Elf64_Phdr *)(const void *)(head->bytes + elf->e_phoff);
	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		if (parts[i].p_type != PT_INTERP)
			continue;
		if (parts[i].p_filesz == 0 || parts[i].p_offset > head->size ||
			parts[i].p_filesz > head->size - parts[i].p_offset)
			return false;
		return copy_name(head, parts[i].p_offset, parts[i].p_offset + parts[i].p_filesz - 1, ret_name, size);
	}
	return false;
}

/* Whether the kernel may have refused the interpreter rather than the script. */
static bool is_refused(int directory, const char *name)
{
	long fd = init_call(__NR_openat, directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd >= 0)
		(void)init_call(__NR_close, fd);
	return fd >= 0 || init_call(__NR_faccessat, directory, name, MODE_EXECUTABLE) != 0;
}

/* One step: what the file at path needs; ret_name is left alone where that is nothing. */
static enum init_need find_need(int directory, const char *path, int sys_errno, char *ret_name, unsigned long size)
{
	struct head head;
	int mode = sys_errno == ENOENT ? MODE_EXISTS : MODE_EXECUTABLE;

	if (init_call(__NR_faccessat, directory, path, mode) != 0 || !read_head(directory, path, &head))
		return INIT_NEED_NONE;
	if (interpreter_of(&head, ret_name, size))
		return INIT_NEED_INTERPRETER;
	return sys_errno != ENOEXEC && loader_of(&head, ret_name, size) ? INIT_NEED_LOADER : INIT_NEED_NONE;
}

/* What is missing may be so at the end of a chain: an interpreter that is a script, or has a loader. */
enum init_need init_need_of(int directory, const char *path, int sys_errno, char *ret_name, unsigned long size)
{
	enum init_need need = INIT_NEED_NONE, next;

	if (sys_errno != ENOENT && sys_errno != EACCES && sys_errno != ENOEXEC && sys_errno != ELOOP &&
		sys_errno != ELIBBAD)
		return INIT_NEED_NONE;
	for (int depth = 0; depth < INTERPRETERS_MAX; depth++) {
		next = find_need(directory, path, sys_errno, ret_name, size);
		if (next == INIT_NEED_NONE)
			break;
		need = next;
		path = ret_name;
		if (sys_errno == ELOOP)
			break;
	}
	return sys_errno == EACCES && need != INIT_NEED_NONE && !is_refused(directory, ret_name) ? INIT_NEED_NONE : need;
}
