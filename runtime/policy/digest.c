/*
 * Most of a resolved policy's text is the shipped table of secrets, and most runs are never asked for the digest. So
 * the text is kept without the table, which is put in when somebody asks.
 */
#include "runtime/policy/digest.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sha256.h"
#include "runtime/policy/builtin.h"

static void append_secrets(struct buf *buf)
{
	for (size_t i = 0; i < policy_n_secret_paths; i++) {
		if (i > 0)
			buf_append_char(buf, ',');
		json_append_text(buf, policy_secret_paths[i]);
	}
}

int policy_digest(const struct policy_text *text, char ret_digest[POLICY_DIGEST_SIZE], struct error *err)
{
	cleanup_buf struct buf whole = {0};
	const char *rest = text->text + text->secrets_at;
	char hex[65];

	buf_append(&whole, text->text, text->secrets_at);
	append_secrets(&whole);
	if (rest[0] != ']')
		buf_append_char(&whole, ',');
	buf_append_str(&whole, rest);
	if (buf_check(&whole, err) < 0)
		return -1;
	sha256_hex(buf_str(&whole), whole.size, hex);
	(void)snprintf(ret_digest, POLICY_DIGEST_SIZE, "sha256:%s", hex);
	return 0;
}
