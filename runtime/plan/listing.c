/*
 * To read a directory costs as much as to ask for a handful of names in it, so the first few are not worth it.
 *
 * Unsure is everything that a list of names does not settle: symbolic links, names that differ only in case,
 * directories that cannot be listed or are very large, and file systems that make a name appear when it is asked for.
 */
#include "runtime/plan/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>

#include "base/beneath.h"
#include "base/fd.h"

#define NAMES_MAX  4096
#define FUSE_MAGIC 0x65735546
#define WORTH_IT   5 /* names asked for */
#define MARKS      1024
#define CHUNK      8192 /* of entries read at once */

enum state {
	STATE_UNREAD,
	STATE_LISTED,
	STATE_ABSENT,
	STATE_UNSURE
};

struct name {
	const char *text;
	size_t size;
	unsigned char type; /* DT_* */
};

struct listing {
	struct listing *next;
	const char *path;
	size_t size; /* of path */
	enum state state;
	unsigned asked;
	struct name *names;
	size_t n;
	uint64_t marks[MARKS / 64]; /* a bit for the hash of each name */
};

static size_t part_size(const char *path)
{
	return (size_t)(strchrnul(path, '/') - path);
}

/* Case does not count (of ASCII, and something else now and then, which does no harm). */
static unsigned hash(const char *text, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = sum * 33 + ((unsigned char)text[i] | 0x20u);
	return (sum ^ sum >> 10) % MARKS;
}

static bool tells_all(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != AUTOFS_SUPER_MAGIC && fs.f_type != FUSE_MAGIC;
}

static bool add_name(struct arena *arena, struct listing *listing, const struct dirent64 *entry)
{
	struct name *name = listing->n < NAMES_MAX ? arena_push(arena, &listing->names, &listing->n) : NULL;
	unsigned mark;

	if (name == NULL)
		return false;
	*name = (struct name){
		.text = arena_strdup(arena, entry->d_name), .size = strlen(entry->d_name), .type = entry->d_type};
	if (name->text == NULL)
		return false;
	mark = hash(name->text, name->size);
	listing->marks[mark / 64] |= 1ull << mark % 64;
	return true;
}

/* Without a DIR, whose making costs as much as the reading. */
static enum state read_names(struct arena *arena, int fd, struct listing *listing)
{
	_Alignas(struct dirent64) char chunk[CHUNK];
	ssize_t size;

	while ((size = getdents64(fd, chunk, sizeof chunk)) > 0) {
		for (char *at = chunk; at < chunk + size; at += ((struct dirent64 *)(void *)at)->d_reclen) {
			if (!add_name(arena, listing, (struct dirent64 *)(void *)at))
				return STATE_UNSURE;
		}
	}
	return size == 0 ? STATE_LISTED : STATE_UNSURE;
}

/* What a symbolic link leads to has another path, and is not listed under this one. */
static enum state read_directory(struct listings *listings, struct listing *listing)
{
	cleanup_close int fd = -1;

	if (listings->slash_fd < 0)
		listings->slash_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (listings->slash_fd < 0)
		return STATE_UNSURE;
	fd = beneath_open(listings->slash_fd, listing->path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return errno == ENOENT ? STATE_ABSENT : STATE_UNSURE;
	return tells_all(fd) ? read_names(listings->arena, fd, listing) : STATE_UNSURE;
}

static struct listing *find_listing(const struct listings *listings, const char *path, size_t size)
{
	for (struct listing *listing = listings->first; listing != NULL; listing = listing->next) {
		if (listing->size == size && memcmp(listing->path, path, size) == 0)
			return listing;
	}
	return NULL;
}

/* NULL where memory is out. */
static struct listing *listing_of(struct listings *listings, const char *path, size_t size)
{
	struct listing *listing = find_listing(listings, path, size);

	if (listing != NULL)
		return listing;
	listing = arena_alloc(listings->arena, sizeof *listing);
	if (listing == NULL)
		return NULL;
	*listing = (struct listing){
		.next = listings->first, .path = arena_strndup(listings->arena, path, size), .size = size};
	if (listing->path == NULL)
		return NULL;
	listings->first = listing;
	return listing;
}

/* A link, or what may be one, is not followed here. */
static enum listing_answer find_name(const struct listing *listing, const char *text, size_t size)
{
	enum listing_answer answer = LISTING_ABSENT;

	for (size_t i = 0; i < listing->n; i++) {
		const struct name *name = &listing->names[i];

		if (name->size != size || strncasecmp(name->text, text, size) != 0)
			continue;
		if (strncmp(name->text, text, size) == 0 && name->type != DT_LNK && name->type != DT_UNKNOWN)
			return LISTING_PRESENT;
		answer = LISTING_UNSURE;
	}
	return answer;
}

void listings_done(struct listings *listings)
{
	(void)fd_close(listings->slash_fd);
	listings->slash_fd = -1;
}

const struct listing *listings_read(struct listings *listings, const char *directory)
{
	struct listing *listing = listing_of(listings, directory, strlen(directory));

	if (listing != NULL && listing->state == STATE_UNREAD)
		listing->state = read_directory(listings, listing);
	return listing;
}

bool listing_may_hold(const struct listing *listing, const char *relative)
{
	unsigned mark = hash(relative, part_size(relative));

	if (listing == NULL || listing->state != STATE_LISTED)
		return listing == NULL || listing->state != STATE_ABSENT;
	return (listing->marks[mark / 64] & 1ull << mark % 64) != 0;
}

static enum listing_answer ask(struct listings *listings, const char *directory, size_t size, const char *name)
{
	struct listing *listing = listing_of(listings, directory, size);

	if (listing == NULL)
		return LISTING_UNSURE;
	if (listing->state == STATE_UNREAD && ++listing->asked >= WORTH_IT)
		listing->state = read_directory(listings, listing);
	if (listing->state == STATE_ABSENT)
		return LISTING_ABSENT;
	return listing->state == STATE_LISTED ? find_name(listing, name, part_size(name)) : LISTING_UNSURE;
}

/* Behind the deepest directory on the way that was listed already, and so was found before. */
static const char *first_unknown(struct listings *listings, const char *path)
{
	for (const char *slash = strrchr(path, '/'); slash != path; slash = memrchr(path, '/', (size_t)(slash - path))) {
		const struct listing *listing = find_listing(listings, path, (size_t)(slash - path));

		if (listing != NULL && listing->state == STATE_LISTED)
			return slash;
	}
	return path;
}

enum listing_answer listings_ask(struct listings *listings, const char *path)
{
	const char *name = first_unknown(listings, path);
	enum listing_answer answer = LISTING_PRESENT;

	while (answer == LISTING_PRESENT && name[0] == '/' && name[1] != '\0') {
		answer = name == path ? ask(listings, "/", 1, name + 1)
				      : ask(listings, path, (size_t)(name - path), name + 1);
		name += 1 + part_size(name + 1);
	}
	return answer;
}
