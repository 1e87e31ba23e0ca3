/*
 * A tree in one table: each node is a part of a name below its parent's number, found by hash. So an archive of very
 * many members costs memory by the bytes of the parts, each once, and not by the length of their paths; and that a name
 * lies below a file is seen on the way down.
 *
 * Threat: names that are made to collide. The hash begins with random bytes.
 */
#include "runtime/workspace/archive/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <wchar.h>
#include <wctype.h>

#include "runtime/workspace/archive/rules.h"

#define FIRST_SLOTS 1024
#define NO_NODE     UINT32_MAX
#define NODES_MAX   (UINT32_MAX / 4)

struct node {
	uint64_t text; /* where its part is in `texts`, NUL-terminated */
	uint32_t parent;
	uint32_t hash;
	enum name_kind kind;
};

struct names {
	bool portable;
	uint64_t seed;
	struct node *nodes;
	uint32_t n_nodes, nodes_room;
	uint32_t *slots; /* numbers of nodes, or NO_NODE */
	uint32_t n_slots;
	char *texts;
	uint64_t n_texts, texts_room;
};

struct names *names_free(struct names *names)
{
	if (names == NULL)
		return NULL;
	free(names->nodes);
	free(names->slots);
	free(names->texts);
	free(names);
	return NULL;
}

static int grow_slots(struct names *names, uint32_t n, struct error *err)
{
	uint32_t *slots = malloc(n * sizeof *slots);

	if (slots == NULL)
		return error_no_memory(err);
	memset(slots, 0xff, n * sizeof *slots);
	for (uint32_t i = 0; i < names->n_nodes; i++) {
		uint32_t at = names->nodes[i].hash & (n - 1);

		while (slots[at] != NO_NODE)
			at = (at + 1) & (n - 1);
		slots[at] = i;
	}
	free(names->slots);
	names->slots = slots;
	names->n_slots = n;
	return 0;
}

int names_new(bool portable, struct names **ret_names, struct error *err)
{
	cleanup_with(names_freep) struct names *names = calloc(1, sizeof *names);

	if (names == NULL)
		return error_no_memory(err);
	names->portable = portable;
	if (getrandom(&names->seed, sizeof names->seed, 0) != (ssize_t)sizeof names->seed)
		return error_set(err, ERROR_INTERNAL, "getrandom", "no random bytes");
	if (grow_slots(names, FIRST_SLOTS, err) < 0)
		return -1;
	*ret_names = steal_ptr(&names);
	return 0;
}

uint64_t names_count(const struct names *names)
{
	return names->n_nodes;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

/* The character at `at` as it counts for comparing; its size in *ret_size. Bytes that are no character are themselves. */
static uint32_t next_folded(const struct names *names, const char *at, size_t size, size_t *ret_size)
{
	mbstate_t state = {0};
	wchar_t character;
	size_t n;

	*ret_size = 1;
	if (!names->portable)
		return (unsigned char)*at;
	n = mbrtowc(&character, at, size, &state);
	if (n == 0 || n > size)
		return 0x80000000u | (unsigned char)*at;
	*ret_size = n;
	return (uint32_t)towlower((wint_t)towupper((wint_t)character));
}

static uint32_t hash_of(const struct names *names, uint32_t parent, const char *part, size_t size)
{
	uint64_t hash = mix(names->seed, parent);
	size_t step;

	for (size_t i = 0; i < size; i += step)
		hash = mix(hash, next_folded(names, part + i, size - i, &step));
	return (uint32_t)(hash ^ (hash >> 32));
}

static bool is_same(const struct names *names, const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t i = 0, j = 0;

	if (!names->portable)
		return a_size == b_size && memcmp(a, b, a_size) == 0;
	while (i < a_size && j < b_size) {
		size_t a_step, b_step;

		if (next_folded(names, a + i, a_size - i, &a_step) != next_folded(names, b + j, b_size - j, &b_step))
			return false;
		i += a_step;
		j += b_step;
	}
	return i == a_size && j == b_size;
}

static uint32_t find(const struct names *names, uint32_t parent, const char *part, size_t size, uint32_t hash)
{
	uint32_t at = hash & (names->n_slots - 1);

	for (; names->slots[at] != NO_NODE; at = (at + 1) & (names->n_slots - 1)) {
		const struct node *node = &names->nodes[names->slots[at]];
		const char *text = names->texts + node->text;

		if (node->hash == hash && node->parent == parent && is_same(names, text, strlen(text), part, size))
			return names->slots[at];
	}
	return NO_NODE;
}

/* Room for one more node and `size` bytes of text. */
static int reserve(struct names *names, size_t size, struct error *err)
{
	if (names->n_nodes == names->nodes_room) {
		uint32_t room = names->nodes_room == 0 ? FIRST_SLOTS : 2 * names->nodes_room;
		struct node *nodes = room < NODES_MAX ? reallocarray(names->nodes, room, sizeof *nodes) : NULL;

		if (nodes == NULL)
			return error_no_memory(err);
		names->nodes = nodes;
		names->nodes_room = room;
	}
	if (names->texts_room - names->n_texts < size) {
		uint64_t room = 2 * (names->texts_room + size);
		char *texts = realloc(names->texts, room);

		if (texts == NULL)
			return error_no_memory(err);
		names->texts = texts;
		names->texts_room = room;
	}
	return names->n_nodes < names->n_slots / 2 ? 0 : grow_slots(names, 2 * names->n_slots, err);
}

static int insert(struct names *names, uint32_t parent, const char *part, size_t size, uint32_t hash,
	enum name_kind kind, struct error *err)
{
	uint32_t at;

	if (reserve(names, size + 1, err) < 0)
		return -1;
	at = hash & (names->n_slots - 1);
	while (names->slots[at] != NO_NODE)
		at = (at + 1) & (names->n_slots - 1);
	names->slots[at] = names->n_nodes;
	names->nodes[names->n_nodes++] =
		(struct node){.text = names->n_texts, .parent = parent, .hash = hash, .kind = kind};
	memcpy(names->texts + names->n_texts, part, size);
	names->texts[names->n_texts + size] = '\0';
	names->n_texts += size + 1;
	return 0;
}

/* The part is there already: whether this can be so. last: it is the member itself, else a directory above it. */
static int meet(struct names *names, uint32_t number, const char *path, const char *part, size_t size, bool last,
	enum name_kind kind, struct error *err)
{
	struct node *node = &names->nodes[number];
	const char *text = names->texts + node->text;
	bool is_directory = node->kind == NAME_IMPLIED || node->kind == NAME_DIRECTORY;

	if (strlen(text) != size || memcmp(text, part, size) != 0)
		return rules_refuse(err, path, "a name that differs from another one (\"%.100s\") in case alone", text);
	if (!is_directory && !last)
		return rules_refuse(err, path, "it lies below a member that is no directory");
	if (!is_directory)
		return rules_refuse(err, path, "there was a member of this name before");
	if (last && kind != NAME_DIRECTORY)
		return rules_refuse(err, path, "it is no directory, and other members lie below it or were it");
	if (last)
		node->kind = NAME_DIRECTORY;
	return 0;
}

int names_add(struct names *names, const char *path, enum name_kind kind, struct error *err)
{
	uint32_t parent = NO_NODE;
	int implied = 0;

	for (const char *at = path; *at != '\0';) {
		size_t size = strcspn(at, "/");
		bool last = at[size] == '\0';
		uint32_t hash = hash_of(names, parent, at, size);
		uint32_t number = find(names, parent, at, size, hash);

		if (number != NO_NODE) {
			if (meet(names, number, path, at, size, last, kind, err) < 0)
				return -1;
		} else {
			number = names->n_nodes;
			if (insert(names, parent, at, size, hash, last ? kind : NAME_IMPLIED, err) < 0)
				return -1;
			implied += !last;
		}
		parent = number;
		at += size + !last;
	}
	return implied;
}
