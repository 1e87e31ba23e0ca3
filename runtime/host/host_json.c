/*
 * Hosts as JSON: what a report on this machine says, and what tests take for a machine. Reading is strict, an unknown
 * fact or a wrong type is an error: a golden plan must not rest on a misspelt host.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "runtime/host/host.h"

#define ERRNO_MAX 4095

static json_t *json_fact(const struct fact *fact)
{
	cleanup_json json_t *object = NULL;

	if (fact->step[0] == '\0' && fact->detail[0] == '\0' && fact->sys_errno == 0)
		return json_boolean(fact->state == FACT_YES);
	object = json_object();
	if (fact->state == FACT_YES && json_put(object, "works", json_true()) < 0)
		return NULL;
	if (fact->sys_errno != 0 && json_put(object, "errno", json_text(error_errno_name(fact->sys_errno))) < 0)
		return NULL;
	if (fact->step[0] != '\0' && json_put(object, "step", json_text(fact->step)) < 0)
		return NULL;
	if (fact->detail[0] != '\0' && json_put(object, "detail", json_text(fact->detail)) < 0)
		return NULL;
	return steal_ptr(&object);
}

static json_t *json_facts(const struct host *host)
{
	cleanup_json json_t *facts = json_object();

	for (int i = 0; i < _FACT_COUNT; i++) {
		if (host->facts[i].state == FACT_UNKNOWN)
			continue;
		if (json_put(facts, host_fact_name((enum host_fact)i), json_fact(&host->facts[i])) < 0)
			return NULL;
	}
	return steal_ptr(&facts);
}

int host_json(const struct host *host, char **ret_json, struct error *err)
{
	cleanup_json json_t *object = json_object();
	char *text;

	if (json_put(object, "kernel", json_text(host->kernel)) < 0 ||
		json_put(object, "uid", json_u64(host->uid)) < 0 || json_put(object, "gid", json_u64(host->gid)) < 0 ||
		json_put(object, "privileged", json_boolean(host->privileged)) < 0 ||
		json_put(object, "cpus", json_u64(host->n_cpus)) < 0 ||
		json_put(object, "swap", json_boolean(host->has_swap)) < 0 ||
		json_put(object, "cgroup_path", json_text(host->cgroup_path)) < 0 ||
		json_put(object, "facts", json_facts(host)) < 0)
		return error_no_memory(err);
	text = json_to_string(object, 1);
	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}

static int wrong(const char *key, struct error *err)
{
	return error_set(err, ERROR_POLICY_INVALID, "parse host", "%s: unknown, or of a wrong type", key);
}

static int take_text(const json_t *value, const char *key, char *to, size_t size, struct error *err)
{
	if (!json_is_string(value) || json_string_length(value) >= size)
		return wrong(key, err);
	memcpy(to, json_string_value(value), json_string_length(value) + 1);
	return 0;
}

static int take_number(const json_t *value, const char *key, unsigned *to, struct error *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > UINT32_MAX)
		return wrong(key, err);
	*to = (unsigned)json_integer_value(value);
	return 0;
}

static int take_bool(const json_t *value, const char *key, bool *to, struct error *err)
{
	if (!json_is_boolean(value))
		return wrong(key, err);
	*to = json_is_true(value);
	return 0;
}

static int take_errno(const json_t *value, int *to, struct error *err)
{
	for (int i = 1; i <= ERRNO_MAX && json_is_string(value); i++) {
		if (strcmp(error_errno_name(i), "E?") != 0 && str_equal(error_errno_name(i), json_string_value(value))) {
			*to = i;
			return 0;
		}
	}
	return wrong("errno", err);
}

static int take_fact_member(const char *key, const json_t *value, struct fact *fact, struct error *err)
{
	bool works = false;

	if (str_equal(key, "errno"))
		return take_errno(value, &fact->sys_errno, err);
	if (str_equal(key, "step"))
		return take_text(value, key, fact->step, sizeof fact->step, err);
	if (str_equal(key, "detail"))
		return take_text(value, key, fact->detail, sizeof fact->detail, err);
	if (!str_equal(key, "works"))
		return wrong(key, err);
	if (take_bool(value, key, &works, err) < 0)
		return -1;
	fact->state = works ? FACT_YES : FACT_NO;
	return 0;
}

static int take_fact(json_t *value, const char *key, struct fact *fact, struct error *err)
{
	const char *member;
	json_t *member_value;

	if (json_is_boolean(value)) {
		fact->state = json_is_true(value) ? FACT_YES : FACT_NO;
		return 0;
	}
	if (!json_is_object(value))
		return wrong(key, err);
	fact->state = FACT_NO;
	json_object_foreach(value, member, member_value) if (take_fact_member(member, member_value, fact, err) <
		0) return error_prefix(err, "%s", key);
	return 0;
}

static int take_facts(json_t *object, struct host *host, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return wrong("facts", err);
	json_object_foreach(object, key, value)
	{
		int i = 0;

		while (i < _FACT_COUNT && !str_equal(host_fact_name((enum host_fact)i), key))
			i++;
		if (i == _FACT_COUNT)
			return wrong(key, err);
		if (take_fact(value, key, &host->facts[i], err) < 0)
			return error_prefix(err, "facts");
	}
	return 0;
}

static int take_member(const char *key, json_t *value, struct host *host, struct error *err)
{
	if (str_equal(key, "kernel"))
		return take_text(value, key, host->kernel, sizeof host->kernel, err);
	if (str_equal(key, "cgroup_path"))
		return take_text(value, key, host->cgroup_path, sizeof host->cgroup_path, err);
	if (str_equal(key, "uid"))
		return take_number(value, key, &host->uid, err);
	if (str_equal(key, "gid"))
		return take_number(value, key, &host->gid, err);
	if (str_equal(key, "cpus"))
		return take_number(value, key, &host->n_cpus, err);
	if (str_equal(key, "privileged"))
		return take_bool(value, key, &host->privileged, err);
	if (str_equal(key, "swap"))
		return take_bool(value, key, &host->has_swap, err);
	if (str_equal(key, "facts"))
		return take_facts(value, host, err);
	return wrong(key, err);
}

int host_parse(const char *json, size_t size, struct host *ret_host, struct error *err)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_diag struct diag diag = {0};
	cleanup_json json_t *object = NULL;
	struct host host = {.n_cpus = 1};
	const char *key;
	json_t *value;

	if (json_parse_places(json, size, "host", &object, &places, &diag) < 0)
		return diag_check(&diag, ERROR_POLICY_INVALID, err) < 0 ? -1 : wrong("document", err);
	if (!json_is_object(object))
		return wrong("document", err);
	json_object_foreach(object, key, value) if (take_member(key, value, &host, err) < 0) return error_prefix(
		err, "host");
	*ret_host = host;
	return 0;
}
