/*
 * Names of places in a policy: for people with dots, and as JSON pointers for the map of places.
 */
#include <string.h>

#include "base/str.h"
#include "runtime/policy/layer.h"

void policy_spot_name(const struct policy_spot *spot, struct buf *buf)
{
	char shown[80];

	if (spot->above == NULL)
		return;
	policy_spot_name(spot->above, buf);
	if (spot->key == NULL) {
		buf_printf(buf, "[%zu]", spot->index);
		return;
	}
	if (buf->size > 0)
		buf_append_char(buf, '.');
	buf_append_str(buf, str_printable(spot->key, shown, sizeof shown));
}

/* A key as a pointer component: '~' and '/' escaped. */
static void append_escaped(struct buf *buf, const char *key)
{
	for (; *key != '\0'; key++) {
		if (*key == '~')
			buf_append_str(buf, "~0");
		else if (*key == '/')
			buf_append_str(buf, "~1");
		else
			buf_append_char(buf, *key);
	}
}

void policy_spot_pointer(const struct policy_spot *spot, struct buf *buf)
{
	if (spot->above == NULL)
		return;
	policy_spot_pointer(spot->above, buf);
	if (spot->key == NULL) {
		buf_printf(buf, "/%zu", spot->index);
		return;
	}
	buf_append_char(buf, '/');
	append_escaped(buf, spot->key);
}
