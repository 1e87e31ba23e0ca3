/*
 * Each list is a random part of a pool that is chosen to meet in as many ways as its size allows: parents and children,
 * names that are not there, symbolic links, files, the same path in several lists.
 */
#include "tests/unit/policy_maker.h"

#include "base/buf.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static unsigned draw(struct chance *chance, unsigned below)
{
	if (chance->n_bytes > 0) {
		chance->n_bytes--;
		return *chance->bytes++ % below;
	}
	chance->state = chance->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(chance->state >> 33) % below;
}

static void put_list(struct chance *chance, struct buf *buf, const char *name, const char *const *pool, size_t n)
{
	const char *separator = "";

	buf_printf(buf, ", \"%s\": [", name);
	for (size_t i = 0; i < n; i++) {
		if (draw(chance, 4) != 0)
			continue;
		buf_printf(buf, "%s%s", separator, pool[i]);
		separator = ", ";
	}
	buf_append_str(buf, "]");
}

static void put_files(struct chance *chance, struct buf *buf)
{
	static const char *const roots[] = {"host", "host", "host", "system", "empty"};
	static const char *const writes[] = {"\".\"", "\".\"", "\"src\"", "\"sub/deep\"", "\"@/outside/data\"",
		"\"secrets\"", "\"README\"", "\"@/home\""};
	static const char *const reads[] = {
		"\".\"", "\"src\"", "\"sub/deep\"", "\"@/outside\"", "\"secrets/open\"", "\"link\"", "\"not-there\""};
	static const char *const denies[] = {"\"secrets\"", "\"secrets/key.pem\"", "\"sub\"", "\"**/.env\"",
		"\"@/outside/log\"", "\"absent\"", "\"absent/deep\"", "\"src/../.env\"", "\"~/notes\"",
		"\".git/config\""};
	static const char *const protects[] = {"\".git/hooks\"", "\".git\"", "\"src\"", "\"absent\"",
		"\"sub/absent/deep\"", "\"README\"", "\"link\"", "\"~/notes\""};
	static const char *const tmpfs[] = {
		"{\"path\": \"@/outside/data\", \"size\": \"1M\"}", "{\"path\": \"~/cache\"}"};
	static const char *const binds[] = {"{\"source\": \"@/outside/data\", \"target\": \"@/ws/src\", \"write\": true}",
		"{\"source\": \"@/outside\", \"target\": \"@/home/mnt/x\", \"write\": false}",
		"{\"source\": \"@/outside/log\", \"target\": \"@/ws/README\", \"write\": true}"};

	buf_printf(buf, ", \"filesystem\": {\"root\": \"%s\"", roots[draw(chance, COUNT(roots))]);
	put_list(chance, buf, "write", writes, COUNT(writes));
	put_list(chance, buf, "read", reads, COUNT(reads));
	put_list(chance, buf, "deny", denies, COUNT(denies));
	put_list(chance, buf, "protect", protects, COUNT(protects));
	put_list(chance, buf, "tmpfs", tmpfs, COUNT(tmpfs));
	put_list(chance, buf, "bind", binds, COUNT(binds));
	buf_append_str(buf, "}");
}

static void put_limits(struct chance *chance, struct buf *buf)
{
	static const char *const values[][3] = {{"wall_time", "\"5s\"", "\"10m\""},
		{"cpu_time", "\"1s\"", "\"2500ms\""}, {"memory", "\"64M\"", "\"8G\""}, {"swap", "0", "\"1M\""},
		{"processes", "1", "500"}, {"cpus", "1.5", "1"}, {"file_size", "0", "\"1G\""},
		{"open_files", "64", "1000"}, {"tmp_size", "\"1M\"", "\"64K\""}, {"output", "0", "\"1M\""}};
	static const char *const strategies[] = {"auto", "auto", "cgroup", "rlimit_as", "watchdog"};

	buf_printf(buf, ", \"limits\": {\"memory_strategy\": \"%s\"", strategies[draw(chance, COUNT(strategies))]);
	for (size_t i = 0; i < COUNT(values); i++) {
		unsigned which = draw(chance, 4);

		buf_printf(buf, ", \"%s\": %s", values[i][0], which < 2 ? values[i][which + 1] : "null");
	}
	buf_append_str(buf, "}");
}

char *policy_maker_next(struct chance *chance)
{
	static const char *const requirements[] = {"\"network\"", "\"identity=id_map\"", "\"limits.memory=cgroup\"",
		"\"limits.cpus\"", "\"seccomp=filter\"", "\"protected_paths\"", "\"landlock\"", "\"limits.output\""};
	struct buf buf = {0};

	buf_printf(&buf, "{\"version\": 1, \"enforcement\": \"%s\", \"network\": {\"mode\": \"%s\"}",
		draw(chance, 2) ? "strict" : "best-effort", draw(chance, 3) ? "none" : "host");
	buf_printf(&buf, ", \"process\": {\"identity\": \"%s\"}", draw(chance, 4) ? "auto" : "caller");
	put_files(chance, &buf);
	put_limits(chance, &buf);
	if (draw(chance, 4) == 0)
		put_list(chance, &buf, "require", requirements, COUNT(requirements));
	buf_append_str(&buf, "}");
	return buf_steal(&buf);
}
