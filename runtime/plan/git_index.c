/*
 * Versions 2 to 4 of git's index (gitformat-index(5)).
 *
 *   header      "DIRC", version, number of entries
 *   entry       40 bytes of stat(2), a hash, flags (2 more bytes where extended), the name; then padding (2, 3), or the
 *               name as a number of bytes to cut off the last one and what to put there (4)
 *   extensions  signature, size, data; up to the hash at the end of the file
 *
 * Threat: the command may write any bytes here, and git, on the host, believes many that it would never write: it does
 * not look at the hash, takes the places of entries and extensions from extensions (EOIE, IEOT) where it reads with
 * several threads, and a name's size from the flags. An index that could be read in two ways is refused, so that what
 * is seen here is what git sees.
 */
#include "runtime/plan/git_index.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE    12
#define STAT_SIZE      40
#define MODE_AT        24
#define FLAG_EXTENDED  0x4000
#define FLAGS_NAME     0x0fff
#define EXTENSION_SIZE 8 /* its head */

struct parser {
	const struct git_index *index;
	const unsigned char *data;
	size_t end; /* where the hash begins */
	size_t at;
	uint32_t version, n;
	char name[PATH_MAX];
	size_t name_size;
	size_t entries_end;
	/* IEOT: what it says, to be compared with the way on which the entries are read */
	const unsigned char *blocks;
	size_t n_blocks, block;
	uint32_t block_left;
};

static uint16_t be16(const unsigned char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof value);
	return be16toh(value);
}

static uint32_t be32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return be32toh(value);
}

static size_t left(const struct parser *parser)
{
	return parser->end - parser->at;
}

static const char *read_header(struct parser *parser)
{
	if (parser->index->size < HEADER_SIZE + parser->index->hash_size || memcmp(parser->data, "DIRC", 4) != 0)
		return "it is no index";
	parser->end = parser->index->size - parser->index->hash_size;
	parser->version = be32(parser->data + 4);
	parser->n = be32(parser->data + 8);
	parser->at = HEADER_SIZE;
	return parser->version >= 2 && parser->version <= 4 ? NULL : "its version is unknown";
}

/* How much of the last name goes: seven bits a byte, each further byte counting from one more. */
static bool read_cut(struct parser *parser, size_t *ret_cut)
{
	size_t value = 0;
	unsigned char c;

	for (unsigned i = 0; i < 4; i++) {
		if (left(parser) == 0)
			return false;
		c = parser->data[parser->at++];
		value = (value << 7) + (c & 0x7f);
		if ((c & 0x80) == 0) {
			*ret_cut = value;
			return true;
		}
		value++;
	}
	return false;
}

/* The bytes up to a NUL, put behind the first `kept` of the last name. */
static bool read_name(struct parser *parser, size_t kept)
{
	const unsigned char *start = parser->data + parser->at;
	const unsigned char *nul = memchr(start, '\0', left(parser));
	size_t size = nul == NULL ? 0 : (size_t)(nul - start);

	if (nul == NULL || kept + size >= sizeof parser->name)
		return false;
	memcpy(parser->name + kept, start, size + 1);
	parser->name_size = kept + size;
	parser->at += size;
	return true;
}

static bool skip(struct parser *parser, size_t size)
{
	if (left(parser) < size)
		return false;
	parser->at += size;
	return true;
}

static bool read_plain_name(struct parser *parser, size_t start)
{
	size_t size;

	if (!read_name(parser, 0))
		return false;
	size = (parser->at - start + 8) & ~(size_t)7;
	return skip(parser, size - (parser->at - start));
}

static bool read_cut_name(struct parser *parser, bool begins_block)
{
	size_t cut;

	if (!read_cut(parser, &cut) || cut > parser->name_size || (begins_block && cut != parser->name_size))
		return false;
	return read_name(parser, parser->name_size - cut) && skip(parser, 1);
}

static bool read_entry(struct parser *parser, bool begins_block)
{
	size_t start = parser->at;
	size_t fixed = STAT_SIZE + parser->index->hash_size + 2;
	uint32_t mode;
	unsigned flags;

	if (!skip(parser, fixed))
		return false;
	mode = be32(parser->data + start + MODE_AT);
	flags = be16(parser->data + parser->at - 2);
	if ((flags & FLAG_EXTENDED) != 0 && (parser->version < 3 || !skip(parser, 2)))
		return false;
	if (!(parser->version == 4 ? read_cut_name(parser, begins_block) : read_plain_name(parser, start)))
		return false;
	if ((flags & FLAGS_NAME) != (parser->name_size < FLAGS_NAME ? parser->name_size : FLAGS_NAME))
		return false;
	parser->index->entry(parser->index->userdata, parser->name, mode);
	return true;
}

/* Whether an entry here is the first of a block. False in *ret_fits where the table says that there should be one. */
static bool begins_block(struct parser *parser, bool *ret_fits)
{
	const unsigned char *block;

	*ret_fits = true;
	if (parser->n_blocks == 0)
		return false;
	block = parser->blocks + 8 * parser->block;
	if (parser->block_left > 0) {
		parser->block_left--;
		return false;
	}
	*ret_fits = parser->block < parser->n_blocks && be32(block) == parser->at && be32(block + 4) > 0;
	if (*ret_fits) {
		parser->block_left = be32(block + 4) - 1;
		parser->block++;
	}
	return true;
}

static const char *read_entries(struct parser *parser)
{
	for (uint32_t i = 0; i < parser->n; i++) {
		bool fits;
		bool begins = begins_block(parser, &fits);

		if (!fits)
			return "its table of entries does not fit its entries";
		if (!read_entry(parser, begins))
			return "an entry is out of order";
	}
	if (parser->block != parser->n_blocks || parser->block_left > 0)
		return "its table of entries does not fit its entries";
	parser->entries_end = parser->at;
	return NULL;
}

/* Where EOIE is looked for by git: nowhere but right before the hash. */
static size_t eoie_at(const struct parser *parser)
{
	size_t size = EXTENSION_SIZE + 4 + parser->index->hash_size;

	return parser->end >= HEADER_SIZE + size ? parser->end - size : 0;
}

static bool has_eoie(const struct parser *parser)
{
	size_t at = eoie_at(parser);

	return at != 0 && memcmp(parser->data + at, "EOIE", 4) == 0;
}

static void name_shared(const unsigned char *hash, size_t hash_size, char ret_shared[GIT_INDEX_SHARED_SIZE])
{
	int n = snprintf(ret_shared, GIT_INDEX_SHARED_SIZE, "sharedindex.");
	bool any = false;

	for (size_t i = 0; i < hash_size; i++) {
		any |= hash[i] != 0;
		n += snprintf(ret_shared + n, GIT_INDEX_SHARED_SIZE - (size_t)n, "%02x", hash[i]);
	}
	if (!any)
		ret_shared[0] = '\0';
}

/* One extension, whose data begins at `at`. */
static const char *take_extension(struct parser *parser, const unsigned char *head, uint32_t size,
	char ret_shared[GIT_INDEX_SHARED_SIZE], bool *ret_eoie)
{
	const unsigned char *data = head + EXTENSION_SIZE;

	if (memcmp(head, "link", 4) == 0) {
		if (size < parser->index->hash_size || ret_shared[0] != '\0')
			return "its link to a shared index is out of order";
		name_shared(data, parser->index->hash_size, ret_shared);
	} else if (memcmp(head, "EOIE", 4) == 0) {
		if ((size_t)(head - parser->data) != eoie_at(parser) || be32(data) != parser->entries_end)
			return "what says where its entries end is wrong";
		*ret_eoie = true;
	} else if (memcmp(head, "IEOT", 4) == 0 && has_eoie(parser) && parser->blocks != data + 4) {
		return "its table of entries does not fit its entries";
	} else if ((head[0] < 'A' || head[0] > 'Z') && memcmp(head, "sdir", 4) != 0) {
		return "an extension is unknown";
	}
	return NULL;
}

static const char *read_extensions(struct parser *parser, char ret_shared[GIT_INDEX_SHARED_SIZE])
{
	bool eoie = false;

	while (left(parser) > 0) {
		const unsigned char *head = parser->data + parser->at;
		uint32_t size = left(parser) < EXTENSION_SIZE ? 0 : be32(head + 4);
		const char *wrong;

		if (!skip(parser, EXTENSION_SIZE) || !skip(parser, size))
			return "an extension is cut short";
		wrong = take_extension(parser, head, size, ret_shared, &eoie);
		if (wrong != NULL)
			return wrong;
	}
	return eoie == has_eoie(parser) ? NULL : "what says where its entries end is wrong";
}

/* The table of blocks comes behind the entries, and is needed before: it is the first of the extensions from where EOIE
 * says that they begin. Whether all that is true shows when the entries have been read. */
static void find_blocks(struct parser *parser)
{
	size_t at = has_eoie(parser) ? be32(parser->data + eoie_at(parser) + EXTENSION_SIZE) : parser->end;

	while (at < parser->end && parser->end - at >= EXTENSION_SIZE) {
		const unsigned char *head = parser->data + at;
		size_t size = be32(head + 4);

		if (size > parser->end - at - EXTENSION_SIZE)
			return;
		if (memcmp(head, "IEOT", 4) == 0) {
			if (size >= 4 && (size - 4) % 8 == 0) {
				parser->blocks = head + EXTENSION_SIZE + 4; /* behind its version */
				parser->n_blocks = (size - 4) / 8;
			}
			return;
		}
		at += EXTENSION_SIZE + size;
	}
}

const char *git_index_parse(const struct git_index *index, char ret_shared[GIT_INDEX_SHARED_SIZE])
{
	struct parser parser = {.index = index, .data = index->data};
	const char *wrong = read_header(&parser);

	ret_shared[0] = '\0';
	if (wrong != NULL)
		return wrong;
	find_blocks(&parser);
	wrong = read_entries(&parser);
	return wrong != NULL ? wrong : read_extensions(&parser, ret_shared);
}
