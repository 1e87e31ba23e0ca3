/* One JSON text of a policy, put on top of what is there. */
#ifndef POLICY_LAYER_H
#define POLICY_LAYER_H

#include "base/diag.h"
#include "base/json.h"
#include "base/json_spot.h"
#include "runtime/policy/value.h"

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
void policy_layer_tell(struct policy_layer *layer, const struct json_spot *spot, const char *fmt, ...) printf_like(3, 4);
void policy_layer_put(struct policy_layer *layer, enum policy_field_id id, const struct json_spot *spot,
	const struct policy_item *item);
/* A bind or tmpfs entry; a whole object of variables. */
void policy_layer_read_bind(struct policy_layer *layer, const struct json_spot *spot, json_t *json);
void policy_layer_read_tmpfs(struct policy_layer *layer, const struct json_spot *spot, json_t *json);
void policy_layer_read_variables(struct policy_layer *layer, const struct json_spot *spot, json_t *json);

#endif
