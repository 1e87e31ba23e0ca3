/* One JSON text of a policy, put on top of what is there. */
#ifndef POLICY_LAYER_H
#define POLICY_LAYER_H

#include "base/diag.h"
#include "base/json.h"
#include "runtime/policy/value.h"

/* Where in the document: a member or an element of what lies above; on the stack of the walk, and made into text only
 * when something is to be said about it. */
struct policy_spot {
	const struct policy_spot *above; /* NULL: the top */
	const char *key;                 /* NULL: an element */
	size_t index;
};

struct policy_layer {
	struct policy_settings *settings;
	struct diag *diag;
	const struct json_places *places;
	struct policy_reading reading;
	struct policy_origin origin; /* without a place */
	const char *label;           /* of the text, for messages */
};

/* Every mistake is in layer->diag. */
void policy_layer_read(struct policy_layer *layer, json_t *root);
/* The value of "extends", copied to the arena, or NULL; a wrong one is told. Called before policy_layer_read, which
 * leaves it alone. */
const char *policy_layer_extends(struct policy_layer *layer, const json_t *root);

/* Between layer.c and layer_entries.c. */
void policy_layer_tell(struct policy_layer *layer, const struct policy_spot *spot, const char *fmt, ...)
	printf_like(3, 4);
void policy_layer_put(struct policy_layer *layer, enum policy_field_id id, const struct policy_spot *spot,
	const struct policy_item *item);
static inline struct policy_spot policy_spot_member(const struct policy_spot *above, const char *key)
{
	return (struct policy_spot){.above = above, .key = key};
}
static inline struct policy_spot policy_spot_element(const struct policy_spot *above, size_t index)
{
	return (struct policy_spot){.above = above, .index = index};
}
/* "limits.memory", "filesystem.read[0]": as people write it; "" for the top. */
void policy_spot_name(const struct policy_spot *spot, struct buf *buf);
/* "/limits/memory", "/filesystem/read/0": as JSON pointer. */
void policy_spot_pointer(const struct policy_spot *spot, struct buf *buf);
/* A bind or tmpfs entry; a whole object of variables. */
void policy_layer_read_bind(struct policy_layer *layer, const struct policy_spot *spot, json_t *json);
void policy_layer_read_tmpfs(struct policy_layer *layer, const struct policy_spot *spot, json_t *json);
void policy_layer_read_variables(struct policy_layer *layer, const struct policy_spot *spot, json_t *json);

#endif
