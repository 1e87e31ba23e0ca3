/*
 * Formats are told by content alone, and only tar and zip are known at all: a text that a more willing reader takes for
 * an mtree or a shar is no archive here. zip is read by its central directory, which needs a file that can be sought in.
 *
 * Archives that follow one another in a file are read as one. So everything is read to its end, where the checksums of
 * the compressions are, and nothing hides behind an end that others read over.
 */
#include "runtime/workspace/archive/input.h"

#include <archive.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/workspace/archive/gunzip.h"
#include "runtime/workspace/archive/rules.h"

#define BLOCK_BYTES (256u << 10)

struct input {
	struct archive *archive;
	int fd;
	uint64_t size, read_bytes;
	struct gunzip *gunzip; /* NULL: the file is no gzip */
	char block[BLOCK_BYTES];
};

struct input *input_free(struct input *input)
{
	if (input == NULL)
		return NULL;
	if (input->archive != NULL)
		(void)archive_read_free(input->archive); /* closes, which can fail in no way that matters any more */
	(void)gunzip_free(input->gunzip);
	free(input);
	return NULL;
}

static ssize_t read_file(void *context, void *data, size_t size)
{
	struct input *input = context;
	ssize_t n;

	do {
		n = read(input->fd, data, size);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		input->read_bytes += (uint64_t)n;
	return n;
}

static la_ssize_t read_block(struct archive *archive, void *userdata, const void **ret_block)
{
	struct input *input = userdata;
	const char *word = "it cannot be read";
	ssize_t n;

	if (input->gunzip != NULL)
		n = gunzip_read(input->gunzip, input->block, sizeof input->block, &word);
	else
		n = read_file(input, input->block, sizeof input->block);
	if (n < 0) {
		archive_set_error(archive, EIO, "%s", word);
		return -1;
	}
	*ret_block = input->block;
	return n;
}

static la_int64_t seek(struct archive *archive, void *userdata, la_int64_t offset, int whence)
{
	struct input *input = userdata;
	off_t at = lseek(input->fd, offset, whence);

	if (at < 0) {
		archive_set_error(archive, errno, "cannot seek in the archive");
		return ARCHIVE_FATAL;
	}
	return at;
}

/* 0 where nothing was skipped: then libarchive reads on. */
static la_int64_t skip(struct archive *archive, void *userdata, la_int64_t wanted)
{
	struct input *input = userdata;
	off_t at = lseek(input->fd, 0, SEEK_CUR);
	la_int64_t left;

	(void)archive;
	if (at < 0 || (uint64_t)at >= input->size)
		return 0;
	left = (la_int64_t)(input->size - (uint64_t)at);
	if (wanted > left)
		wanted = left;
	if (wanted <= 0 || lseek(input->fd, wanted, SEEK_CUR) < 0)
		return 0;
	input->read_bytes += (uint64_t)wanted;
	return wanted;
}

static int set_up(struct input *input, struct error *err)
{
	int (*const known[])(struct archive *) = {archive_read_support_filter_bzip2, archive_read_support_filter_xz,
		archive_read_support_filter_zstd, archive_read_support_format_tar,
		archive_read_support_format_zip_seekable};
	struct archive *archive = archive_read_new();

	if (archive == NULL)
		return error_no_memory(err);
	input->archive = archive;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i](archive) != ARCHIVE_OK)
			return error_set(err, ERROR_INTERNAL, "libarchive", "%s", archive_error_string(archive));
	if (archive_read_set_callback_data(archive, input) != ARCHIVE_OK ||
		archive_read_set_read_callback(archive, read_block) != ARCHIVE_OK ||
		archive_read_set_format_option(archive, "tar", "read_concatenated_archives", "1") != ARCHIVE_OK)
		return error_set(err, ERROR_INTERNAL, "libarchive", "%s", archive_error_string(archive));
	if (input->gunzip != NULL) /* what is unpacked cannot be sought in, and no zip is looked for in it */
		return 0;
	if (archive_read_set_seek_callback(archive, seek) != ARCHIVE_OK ||
		archive_read_set_skip_callback(archive, skip) != ARCHIVE_OK)
		return error_set(err, ERROR_INTERNAL, "libarchive", "%s", archive_error_string(archive));
	return 0;
}

static int look_for_gzip(struct input *input, struct error *err)
{
	static const unsigned char magic[] = {0x1f, 0x8b};
	unsigned char begin[sizeof magic] = {0};

	if (pread(input->fd, begin, sizeof begin, 0) != (ssize_t)sizeof begin || memcmp(begin, magic, sizeof magic) != 0)
		return 0;
	return gunzip_new(read_file, input, &input->gunzip, err);
}

int input_open(int fd, struct input **ret_input, struct error *err)
{
	cleanup_with(input_freep) struct input *input = calloc(1, sizeof *input);
	struct stat st;

	if (input == NULL)
		return error_no_memory(err);
	input->fd = fd;
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set_errno(err, ERROR_IO, errno, "archive", "cannot read the archive from its beginning");
	input->size = (uint64_t)st.st_size;
	if (look_for_gzip(input, err) < 0 || set_up(input, err) < 0)
		return -1;
	if (archive_read_open1(input->archive) != ARCHIVE_OK)
		return input_error(input, NULL, err);
	*ret_input = steal_ptr(&input);
	return 0;
}

struct archive *input_archive(const struct input *input)
{
	return input->archive;
}

uint64_t input_bytes(const struct input *input)
{
	return input->read_bytes < input->size ? input->read_bytes : input->size;
}

const char *input_format(const struct input *input)
{
	return (archive_format(input->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP ? "zip" : "tar";
}

const char *input_compression(const struct input *input)
{
	const char *name = archive_filter_count(input->archive) > 1 ? archive_filter_name(input->archive, 0) : NULL;

	if (input->gunzip != NULL)
		return "gzip";
	return name != NULL ? name : "none";
}

int input_check(const struct input *input, struct error *err)
{
	int most = input->gunzip != NULL ? 1 : 2; /* the file itself counts for one */

	if (archive_filter_count(input->archive) <= most)
		return 0;
	return error_set(err, ERROR_INVALID_COMPRESSION_SCHEME, "archive", "it is compressed more than once");
}

int input_error(const struct input *input, const char *member, struct error *err)
{
	const char *said = archive_error_string(input->archive);
	char shown[240];

	if (archive_errno(input->archive) == ENOMEM)
		return error_no_memory(err);
	(void)str_printable(said != NULL ? said : "damaged", shown, sizeof shown);
	if (member != NULL)
		return rules_refuse(err, member, "damaged: %s", shown);
	if (archive_format(input->archive) == 0 &&
		archive_errno(input->archive) == EILSEQ) /* its word for another format */
		return error_set(err, ERROR_INVALID_COMPRESSION_SCHEME, "archive",
			"it is no tar archive (plain, gzip, xz, zstd, bzip2) and no zip archive: %s", shown);
	return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive", "it is damaged: %s", shown);
}
