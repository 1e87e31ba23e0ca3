/* The public extraction: an archive, what was said about it, and the call that takes it apart. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/api/objects.h"
#include "runtime/api/runner.h"
#include "runtime/workspace/archive/rules.h"
#include "runtime/workspace/extract.h"

struct pinfold_extraction {
	struct extract_options options;
	struct work work;
	int fd;
	char *label;
};

pinfold_extraction *pinfold_extraction_free(pinfold_extraction *extraction)
{
	if (extraction == NULL)
		return NULL;
	free(extraction->label);
	free(extraction);
	return NULL;
}

int pinfold_extraction_new(int fd, const char *label, pinfold_extraction **ret_extraction, pinfold_error **err)
{
	pinfold_extraction *extraction = calloc(1, sizeof *extraction);
	struct error error;

	if (extraction == NULL || (extraction->label = strdup(label)) == NULL) {
		(void)pinfold_extraction_free(extraction);
		(void)error_no_memory(&error);
		return api_fail(err, "extract", &error, NULL);
	}
	extraction->options = (struct extract_options)EXTRACT_OPTIONS_DEFAULT;
	extraction->work = (struct work)WORK_INIT;
	extraction->fd = fd;
	*ret_extraction = extraction;
	return 0;
}

static int take_size(const char *value, uint64_t *ret_number, struct error *err)
{
	if (str_parse_size(value, ret_number, err) < 0)
		return -1;
	return *ret_number > 0
		? 0
		: error_set(err, ERROR_USAGE, "options", "0 lets nothing through; to lift a limit, say none");
}

static int take_count(const char *value, uint64_t *ret_number, struct error *err)
{
	return str_parse_u64(value, 1, INT64_MAX, ret_number, err);
}

static int take_strip(const char *value, uint64_t *ret_number, struct error *err)
{
	return str_parse_u64(value, 0, MEMBER_DEPTH_MAX, ret_number, err);
}

static int take_time(const char *value, uint64_t *ret_number, struct error *err)
{
	return str_parse_time(value, ret_number, err);
}

static int take_links(const char *value, uint64_t *ret_number, struct error *err)
{
	if (!str_equal(value, "none") && !str_equal(value, "inside"))
		return error_set(err, ERROR_USAGE, "options", "\"none\" or \"inside\"");
	*ret_number = str_equal(value, "inside");
	return 0;
}

static int take_yes(const char *value, uint64_t *ret_number, struct error *err)
{
	if (!str_equal(value, "true") && !str_equal(value, "false"))
		return error_set(err, ERROR_USAGE, "options", "\"true\" or \"false\"");
	*ret_number = str_equal(value, "true");
	return 0;
}

static int set_option(struct extract_options *options, const char *option, const char *value, struct error *err)
{
	uint64_t strip = options->strip_components, links = options->links_inside, portable = options->portable;
	const struct {
		const char *name;
		uint64_t *number;
		bool may_be_none;
		int (*take)(const char *value, uint64_t *ret_number, struct error *err);
	} known[] = {
		{"max-input", &options->input_max, true, take_size},
		{"max-extracted", &options->extracted_max, true, take_size},
		{"max-members", &options->members_max, true, take_count},
		{"max-ratio", &options->ratio_max, true, take_count},
		{"timeout", &options->timeout_ns, true, take_time},
		{"strip-components", &strip, false, take_strip},
		{"links", &links, false, take_links},
		{"portable", &portable, false, take_yes},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (!str_equal(option, known[i].name))
			continue;
		if (known[i].may_be_none && str_equal(value, "none"))
			*known[i].number = EXTRACT_NO_LIMIT;
		else if (known[i].take(value, known[i].number, err) < 0)
			return -1;
		options->strip_components = (unsigned)strip;
		options->links_inside = links != 0;
		options->portable = portable != 0;
		return 0;
	}
	return error_set(err, ERROR_USAGE, "options", "there is no option %s", option);
}

int pinfold_extraction_set(
	pinfold_extraction *extraction, const char *option, const char *value, const char *origin, pinfold_error **err)
{
	struct extract_options options = extraction->options;
	struct error error;

	if (set_option(&options, option, value, &error) < 0) {
		error.code = ERROR_USAGE;
		(void)error_prefix(&error, "%s", origin);
		return api_fail(err, "extract", &error, NULL);
	}
	extraction->options = options;
	return 0;
}

void pinfold_extraction_set_cancel_fd(pinfold_extraction *extraction, int fd)
{
	extraction->work.cancel_fd = fd;
}

void pinfold_extraction_on_progress(pinfold_extraction *extraction, pinfold_progress_fn fn, void *userdata)
{
	extraction->work.tell = fn;
	extraction->work.context = userdata;
}

static char *document(const pinfold_extraction *extraction, const char *destination, const struct extract_totals *totals)
{
	cleanup_json json_t *json = json_pack("{s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
		"schema", "pinfold.extraction/1", "archive", json_text(extraction->label), "destination",
		json_text(destination), "format", totals->format, "compression", totals->compression, "input_bytes",
		json_u64(totals->input_bytes), "members", json_u64(totals->members), "files", json_u64(totals->files),
		"directories", json_u64(totals->directories), "links", json_u64(totals->links), "bytes",
		json_u64(totals->bytes), "skipped", json_u64(totals->skipped), "replaced", json_u64(totals->replaced),
		"reader", totals->as_caller ? "caller" : "unprivileged");

	return json != NULL ? json_to_string(json, 1) : NULL;
}

int pinfold_extract(pinfold_host *host, pinfold_extraction *extraction, const char *destination, char **ret_json,
	pinfold_error **err)
{
	const struct runner runner = api_runner(host);
	struct extract_totals totals = {0};
	struct error error = {0};
	char *json;

	extraction->options.work = &extraction->work;
	if (extract_to_path(&runner, extraction->fd, destination, &extraction->options, &totals, &error) < 0) {
		char shown[100];

		(void)error_prefix(&error, "%s", str_printable(extraction->label, shown, sizeof shown));
		return api_fail(err, "extract", &error, NULL);
	}
	json = document(extraction, destination, &totals);
	if (json == NULL) {
		(void)error_no_memory(&error);
		return api_fail(err, "extract", &error, NULL);
	}
	*ret_json = json;
	return 0;
}
