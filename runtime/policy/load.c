/*
 * Loading a policy: its text is parsed first, then what it extends is loaded (and so on down), then its own layer goes
 * on top. A policy that extends nothing stands on :read-only, and below every policy lies the table of secrets, so
 * there is no way to write a policy without either.
 *
 * Threat: "extends" names files. A chain that comes back to itself is refused by the identity of the open file, which
 * no other spelling of its path changes; chains are bounded; what is not a plain file is not read (a FIFO would hang
 * the caller) unless the caller itself named it; and no more than a megabyte is read of anything.
 */
#include "runtime/policy/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "runtime/policy/builtin.h"
#include "runtime/policy/layer.h"

#define SIZE_MAX_BYTES ((size_t)1024 * 1024)
#define CHAIN_MAX      16
#define BASE           ":read-only"

/* One text in a chain of extends; lives on the stack of its load. */
struct source {
	const char *label;
	const char *directory;
	const struct policy_builtin *builtin; /* NULL: a file or a caller's text */
	dev_t device;
	ino_t inode; /* 0: no file */
	const struct source *extended_by;
	unsigned depth;
};

struct loader {
	struct policy_settings *settings;
	struct diag *diag;
	const char *blame; /* before every message about the file named: "a.json:3:2: extends: ", or "" */
};

static void load_from(struct loader *loader, const char *name, const struct source *by);

static void append_chain(struct buf *buf, const struct source *source)
{
	if (source->extended_by != NULL) {
		append_chain(buf, source->extended_by);
		buf_append_str(buf, " -> ");
	}
	buf_append_str(buf, source->label);
}

/* False, and told, where the chain that ends in `source` cannot go on. */
static bool check_chain(struct loader *loader, const struct source *source)
{
	cleanup_buf struct buf chain = {};
	bool cycle = false;

	for (const struct source *s = source->extended_by; s != NULL; s = s->extended_by)
		cycle |= source->inode != 0 && s->inode == source->inode && s->device == source->device;
	if (!cycle && source->depth <= CHAIN_MAX)
		return true;
	append_chain(&chain, source);
	if (cycle)
		diag_error(loader->diag, "%sa policy cannot extend itself: %s", loader->blame, buf_str(&chain));
	else
		diag_error(loader->diag, "%smore than %d policies extend each other", loader->blame, CHAIN_MAX);
	return false;
}

static struct policy_layer make_layer(struct loader *loader, const struct source *source)
{
	return (struct policy_layer){
		.settings = loader->settings,
		.diag = loader->diag,
		.reading = {.arena = loader->settings->arena, .directory = source->directory},
		.origin = {.label = source->label, .builtin = source->builtin != NULL},
		.label = source->label,
	};
}

static void load_below(struct loader *loader, struct policy_layer *layer, const json_t *root, const struct source *source)
{
	struct json_place place = json_places_find(layer->places, "/extends");
	cleanup_buf struct buf blame = {};
	struct loader below = *loader;
	const char *name = policy_layer_extends(layer, root);

	if (name == NULL && source->builtin != NULL)
		return;
	buf_printf(&blame, "%s:%u:%u: extends: ", source->label, place.line, place.column);
	below.blame = buf_str(&blame);
	load_from(&below, name != NULL ? name : BASE, source);
}

static void load_text(struct loader *loader, const char *text, size_t size, const struct source *source)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_json json_t *root = NULL;
	struct policy_layer layer = make_layer(loader, source);

	if (size > SIZE_MAX_BYTES) {
		diag_error(loader->diag, "%s:1:1: larger than a policy can be (1 MiB)", source->label);
		return;
	}
	if ((source->builtin != NULL
			    ? json_parse_own(text, size, source->label, &root, loader->diag)
			    : json_parse_places_duplicates(text, size, source->label, &root, &places, loader->diag)) < 0)
		return;
	layer.places = places;
	load_below(loader, &layer, root, source);
	policy_layer_read(&layer, root);
}

static void load_builtin(struct loader *loader, const struct policy_builtin *builtin, const struct source *by)
{
	struct source source = {
		.label = builtin->label,
		.builtin = builtin,
		.extended_by = by,
		.depth = by != NULL ? by->depth + 1 : 1,
	};

	if (by == NULL || by->builtin == NULL)
		loader->settings->base = builtin->name;
	load_text(loader, builtin->text, builtin->size, &source);
}

static void load_builtin_name(struct loader *loader, const char *name, const struct source *by)
{
	const struct policy_builtin *builtin = policy_builtin_find(name);
	const char *nearest;
	char shown[80];

	if (builtin != NULL) {
		load_builtin(loader, builtin, by);
		return;
	}
	nearest = policy_builtin_nearest(name);
	(void)str_printable(name, shown, sizeof shown);
	if (nearest != NULL)
		diag_error(loader->diag, "%sno built-in policy \"%s\"; did you mean \"%s\"?", loader->blame, shown,
			nearest);
	else
		diag_error(loader->diag, "%sno built-in policy \"%s\"", loader->blame, shown);
}

static void tell_errno(struct loader *loader, const char *path, int sys_errno)
{
	char shown[200];
	const char *word = strerrordesc_np(sys_errno);

	diag_error(loader->diag, "%s%s: cannot be read: %s (%s)", loader->blame, str_printable(path, shown, sizeof shown),
		word != NULL ? word : "unknown error", error_errno_name(sys_errno));
}

/* Opens and identifies; -1, and told, where it cannot be read. */
static int open_file(struct loader *loader, const char *path, struct source *source)
{
	bool named_by_caller = source->extended_by == NULL;
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (named_by_caller ? 0 : O_NONBLOCK));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		tell_errno(loader, path, errno);
		return -1;
	}
	if (S_ISDIR(st.st_mode) || (!S_ISREG(st.st_mode) && !named_by_caller)) {
		diag_error(loader->diag, "%s%s: not a file", loader->blame, source->label);
		return -1;
	}
	source->device = st.st_dev;
	source->inode = st.st_ino;
	return steal_fd(&fd);
}

/* The directory of a path as text; NULL is the current one. */
static const char *directory_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return NULL;
	return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

static void load_file(struct loader *loader, const char *path, const struct source *by)
{
	struct source source = {
		.label = arena_strdup(loader->settings->arena, path),
		.directory = directory_of(loader->settings->arena, path),
		.extended_by = by,
		.depth = by != NULL ? by->depth + 1 : 1,
	};
	cleanup_buf struct buf text = {};
	struct error err = {};
	cleanup_close int fd = -1;

	if (source.label == NULL)
		return;
	fd = open_file(loader, path, &source);
	if (fd < 0 || !check_chain(loader, &source))
		return;
	if (fd_read_all(fd, SIZE_MAX_BYTES, &text, &err) < 0) {
		if (err.code == ERROR_LIMIT)
			diag_error(loader->diag, "%s:1:1: larger than a policy can be (1 MiB)", source.label);
		else
			tell_errno(loader, path, err.sys_errno);
		return;
	}
	load_text(loader, buf_str(&text), text.size, &source);
}

static void load_from(struct loader *loader, const char *name, const struct source *by)
{
	cleanup_buf struct buf path = {};

	if (name[0] == ':') {
		load_builtin_name(loader, name, by);
		return;
	}
	if (name[0] != '/' && by != NULL && by->directory != NULL)
		buf_printf(&path, "%s/", by->directory);
	buf_append_str(&path, name);
	if (path.size >= PATH_MAX)
		diag_error(loader->diag, "%slonger than a path can be", loader->blame);
	else
		load_file(loader, buf_str(&path), by);
}

void policy_load_name(struct policy_settings *settings, const char *name, struct diag *diag)
{
	load_from(&(struct loader){settings, diag, ""}, name, NULL);
}

void policy_load_text(
	struct policy_settings *settings, const char *text, const char *label, const char *directory, struct diag *diag)
{
	struct source source = {
		.label = arena_strdup(settings->arena, label),
		.directory = directory != NULL ? arena_strdup(settings->arena, directory) : NULL,
		.depth = 1,
	};

	if (source.label != NULL)
		load_text(&(struct loader){settings, diag, ""}, text, strlen(text), &source);
}
