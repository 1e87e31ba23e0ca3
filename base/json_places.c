/*
 * The map from JSON pointers to places.
 *
 * A flat array of nodes, each with the id of its parent and its own key, sorted by (parent, key) and searched by
 * halves, one step a pointer component. Threat: a text of a megabyte can hold a key of half a megabyte above a hundred
 * thousand elements, so whole pointers are never stored; and it can be made of keys that collide in any unseeded hash,
 * so there is no hash. The sort also brings duplicate keys together, which are the reason why two readers of one policy
 * could disagree.
 */
#include "base/json_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

struct node {
	uint32_t parent;
	uint32_t id; /* in the order of the text */
	size_t key_offset;
	size_t key_size;
	const char *key; /* set when the key buffer has stopped moving */
	struct json_place place;
	unsigned first_line; /* a duplicate: where the first one is; else 0 */
};

struct json_places {
	struct json_place root;
	struct node *nodes; /* without the root */
	size_t n, allocated;
	struct buf keys;
	size_t key_start;
	bool failed;
};

struct json_places *json_places_new(void)
{
	return calloc(1, sizeof(struct json_places));
}

struct json_places *json_places_free(struct json_places *places)
{
	if (places == NULL)
		return NULL;
	buf_done(&places->keys);
	free(places->nodes);
	free(places);
	return NULL;
}

struct buf *json_places_key(struct json_places *places)
{
	return &places->keys;
}

void json_places_set_root(struct json_places *places, struct json_place place)
{
	places->root = place;
}

static bool make_room(struct json_places *places)
{
	size_t wanted = places->allocated == 0 ? 64 : places->allocated * 2;
	struct node *grown;

	if (places->n < places->allocated)
		return true;
	grown = reallocarray(places->nodes, wanted, sizeof *grown);
	if (grown == NULL)
		return false;
	places->nodes = grown;
	places->allocated = wanted;
	return true;
}

uint32_t json_places_add(struct json_places *places, uint32_t parent, struct json_place place)
{
	if (!make_room(places)) {
		places->failed = true;
		return JSON_PLACES_ROOT;
	}
	places->nodes[places->n] = (struct node){
		.parent = parent,
		.id = (uint32_t)(places->n + 1),
		.key_offset = places->key_start,
		.key_size = places->keys.size - places->key_start,
		.place = place,
	};
	buf_append_char(&places->keys, '\0');
	places->key_start = places->keys.size;
	return (uint32_t)++places->n;
}

static int compare_keys(const struct node *a, const struct node *b)
{
	size_t shorter = a->key_size < b->key_size ? a->key_size : b->key_size;
	int order;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	order = shorter == 0 ? 0 : memcmp(a->key, b->key, shorter);
	if (order != 0)
		return order;
	return a->key_size == b->key_size ? 0 : a->key_size < b->key_size ? -1 : 1;
}

static int by_key(const void *a, const void *b)
{
	const struct node *left = a;
	const struct node *right = b;
	int order = compare_keys(left, right);

	if (order != 0)
		return order;
	return left->id < right->id ? -1 : left->id > right->id;
}

static int by_id(const void *a, const void *b)
{
	const struct node *left = a;
	const struct node *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

static bool mark_duplicates(struct json_places *places)
{
	bool found = false;

	for (size_t i = 1; i < places->n; i++) {
		struct node *before = &places->nodes[i - 1];
		struct node *node = &places->nodes[i];

		if (compare_keys(before, node) != 0)
			continue;
		node->first_line = before->first_line != 0 ? before->first_line : before->place.line;
		found = true;
	}
	return found;
}

static void tell_duplicates(struct json_places *places, const char *label, struct diag *diag)
{
	char key[80];

	qsort(places->nodes, places->n, sizeof *places->nodes, by_id);
	for (size_t i = 0; i < places->n; i++) {
		const struct node *node = &places->nodes[i];

		if (node->first_line != 0)
			diag_error(diag, "%s:%u:%u: duplicate key \"%s\", first on line %u", label, node->place.line,
				node->place.column, str_printable(node->key, key, sizeof key), node->first_line);
	}
	qsort(places->nodes, places->n, sizeof *places->nodes, by_key);
}

/* Of equal keys only the last stays, as it is the one whose value the parsed tree holds. */
static void drop_duplicates(struct json_places *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->n; i++) {
		if (i + 1 < places->n && compare_keys(&places->nodes[i], &places->nodes[i + 1]) == 0)
			continue;
		places->nodes[kept++] = places->nodes[i];
	}
	places->n = kept;
}

int json_places_close(struct json_places *places, const char *label, struct diag *diag)
{
	if (places->failed || places->keys.failed)
		return -1;
	for (size_t i = 0; i < places->n; i++)
		places->nodes[i].key = buf_str(&places->keys) + places->nodes[i].key_offset;
	if (places->n > 1)
		qsort(places->nodes, places->n, sizeof *places->nodes, by_key);
	if (mark_duplicates(places)) {
		tell_duplicates(places, label, diag);
		drop_duplicates(places);
	}
	return 0;
}

static const struct node *find_child(const struct json_places *places, uint32_t parent, const char *key, size_t size)
{
	struct node wanted = {.parent = parent, .key = key, .key_size = size};
	size_t low = 0;
	size_t high = places->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_keys(&wanted, &places->nodes[middle]);

		if (order == 0)
			return &places->nodes[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Appends one pointer component, without its escapes; returns what follows it ('/' or the end). */
static const char *unescape_component(const char *pointer, struct buf *component)
{
	for (; *pointer != '\0' && *pointer != '/'; pointer++) {
		char c = *pointer;

		if (c == '~' && (pointer[1] == '0' || pointer[1] == '1'))
			c = *++pointer == '0' ? '~' : '/';
		buf_append_char(component, c);
	}
	return pointer;
}

struct json_place json_places_find(const struct json_places *places, const char *pointer)
{
	struct json_place place = places != NULL ? places->root : (struct json_place){};
	uint32_t parent = JSON_PLACES_ROOT;
	cleanup_buf struct buf component = {};

	while (places != NULL && *pointer == '/') {
		const struct node *node;

		buf_reset(&component);
		pointer = unescape_component(pointer + 1, &component);
		node = find_child(places, parent, buf_str(&component), component.size);
		if (node == NULL || component.failed)
			return (struct json_place){};
		place = node->place;
		parent = node->id;
	}
	return place;
}
