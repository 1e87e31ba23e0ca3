/*
 * The command line: a table of verbs, and the one main() of pinfold.
 *
 * The command line is a client of include/pinfold.h like any other program: it turns words into calls and answers into
 * text. The caller's state that could change how it works is put in order before anything else: descriptors 0 to 2 are
 * opened where they were closed, or else the first file opened would become somebody's standard output; blocked signals
 * are let through and SIGCHLD is no longer ignored.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/options.h"
#include "runtime/cli/settings.h"
#include "runtime/cli/signals.h"

#define VERBS_MAX   32
#define MEMORY_STEP (256 * 1024)

static const char run_text[] =
	"examples:\n"
	"  an agent's shell command, answered by one JSON document with the whole story of how it ended:\n"
	"    pinfold run --json -p :workspace-write -w /src/project --timeout 2m -c 'npm test 2>&1 | tail -50'\n"
	"  a build that must not reach the network, with its output on this terminal:\n"
	"    pinfold run -p :workspace-write --timeout none -- make -j4\n"
	"  tests that nobody has read, with hard limits and nothing else readable but the system:\n"
	"    pinfold run -p :eval -w ./solution --memory 512M --pids 64 --cpus 1 --file-size 100M -- pytest -q\n"
	"  one more directory, read only, and one that must not be seen:\n"
	"    pinfold run --read /opt/data --deny /opt/data/private -- ls -R /opt/data\n"
	"  refuse rather than run where memory is not limited by a cgroup:\n"
	"    pinfold run --require limits.memory=cgroup --memory 1G -- ./job\n"
	"\n"
	"exit status: the command's own; 128+n if signal n killed it; 124 time limit; 137 memory limit; 2 unusable\n"
	"command line; 125 pinfold itself failed; 126 not executable; 127 not found. A command can return these\n"
	"numbers itself: the result JSON is the authority.\n";

static const char check_text[] =
	"All options of run are taken and mean the same, so that the report is that of the run.\n"
	"\n"
	"examples:\n"
	"  pinfold check\n"
	"  pinfold check -p :eval --memory 1G --require limits.memory=cgroup && echo this machine will do\n"
	"\n"
	"exit status: 0 enforced, or degraded with the reason said; 1 something asked cannot be enforced here.\n";

static const char wrap_text[] =
	"Prints the words that a host starts itself, as a JSON list on one line; with --json the whole document\n"
	"(pinfold.wrap/1): argv, env, cwd, and enforcement as in check. A host that starts argv with env gets what\n"
	"run with the same options would have done here. argv names no policy file: the policy is in it, as text.\n"
	"\n"
	"env has the values of variables that are set, which argv does not show, the variables that the policy\n"
	"passes on, as they are now, and HOME, by which ~/ and the secrets to hide are known. Standard streams are\n"
	"the host's to give. Where --json is put behind \"run\" in argv, the host gets the result as a document.\n"
	"\n"
	"example:\n"
	"  pinfold wrap --json -p :workspace-write -w /src/project -e TOKEN=secret -- make test\n"
	"\n"
	"exit status: 0; 125 where something asked cannot be enforced here.\n";

static const char policy_text[] =
	"  list        the built-in policies\n"
	"  show [P]    policy P (default :read-only) with everything it extends and all options applied, and\n"
	"              where each value comes from\n"
	"  validate P  all mistakes of a policy file at once; exit status 1 where there are any\n"
	"  schema      the JSON Schema of policies, for editors\n"
	"\n"
	"examples:\n"
	"  pinfold policy show :workspace-write --memory 2G\n"
	"  pinfold policy validate ./pinfold.json\n"
	"  pinfold policy schema > pinfold.schema.json\n";

static const char materialize_text[] =
	"DEST is made where only its last part lacks. MANIFEST - is standard input, whose base is the current directory.\n"
	"A manifest takes files of this machine only below --base, and what --grant or the policy's filesystem.read\n"
	"and filesystem.write name. On failure, ^C included, DEST is as it was before.\n"
	"\n"
	"examples:\n"
	"  pinfold materialize manifest.json ./workspace\n"
	"  pinfold materialize --base /srv/tasks/7 --grant /srv/data:ro --json task.json /srv/work/7\n"
	"  pinfold materialize --dry-run manifest.json ./workspace\n"
	"\n"
	"exit status: 0 done; 1 the manifest, or a source of it, is refused; 2 usage; 125 failure; 128+n ended by signal n.\n";

static const char extract_text[] =
	"ARCHIVE is tar (plain, gzip, xz, zstd, bzip2) or zip, told by its content; \"-\" is standard input. It is\n"
	"judged as a whole before anything is written, by a program in a boundary of its own. Absolute names, \"..\",\n"
	"links, devices, and a name that comes twice make pinfold refuse it; DEST is then as it was. DEST is made\n"
	"where its last part lacks; in one that exists, files replace files and nothing else.\n"
	"\n"
	"examples:\n"
	"  pinfold extract vendor.tar.zst ./vendor --strip-components 1\n"
	"  curl -L https://example.org/data.zip | pinfold extract - ./data --max-extracted 200M --json\n"
	"\n"
	"exit status: 0 extracted; 1 refused; 128+n ended by signal n; 125 pinfold itself failed.\n";

static const struct verb verbs[] = {
	{"run", "run [options] [--] CMD [ARG...]\nrun [options] -c STRING [ARG...]",
		"confine a command, supervise it, pass its exit status on", run_text,
		OPTIONS_COMMON | OPTIONS_POLICY | OPTIONS_RUN, true, 0, false, cli_run},
	{"check", "check [options]", "what this machine would enforce of a policy, and by which mechanism", check_text,
		OPTIONS_COMMON | OPTIONS_POLICY | OPTIONS_RUN, false, 0, false, cli_check},
	{"wrap", "wrap [options] [--] CMD [ARG...]\nwrap [options] -c STRING [ARG...]",
		"print the argv that a host can start itself", wrap_text, OPTIONS_COMMON | OPTIONS_POLICY | OPTIONS_RUN,
		true, 0, true, cli_wrap},
	{"policy", "policy list\npolicy show [P] [options]\npolicy validate P\npolicy schema",
		"list, show and validate policies; their JSON Schema", policy_text, OPTIONS_COMMON | OPTIONS_POLICY,
		false, 2, false, cli_policy},
	{"materialize", "materialize [options] MANIFEST DEST\nmaterialize --schema", "build a workspace from a manifest",
		materialize_text, OPTIONS_COMMON | OPTIONS_MATERIALIZE, false, 2, false, cli_materialize},
	{"extract", "extract [options] ARCHIVE DEST", "take apart an archive that nobody has to trust", extract_text,
		OPTIONS_COMMON | OPTIONS_ARCHIVE, false, 2, false, cli_extract},
	{"gc", "gc", "remove what dead runs left behind", "", OPTIONS_COMMON, false, 0, false, cli_gc},
	{"version", "version", "the version of the library in use", "", OPTIONS_COMMON, false, 0, false, cli_version},
	{"help", "help [VERB]", "this text, or all about one verb", "", OPTIONS_COMMON, false, 1, false, cli_help},
	{.name = NULL},
};

/* Says what concerns no verb. */
static const struct verb no_verb = {.name = "pinfold", .synopsis = "", .summary = "", .text = ""};

const struct verb *cli_verbs(void)
{
	return verbs;
}

const struct verb *cli_verb_find(const char *name)
{
	for (const struct verb *verb = verbs; verb->name != NULL; verb++)
		if (str_equal(verb->name, name))
			return verb;
	return NULL;
}

const char *cli_verb_nearest(const char *name)
{
	const char *names[VERBS_MAX + 1] = {NULL};

	for (size_t i = 0; verbs[i].name != NULL && i < VERBS_MAX; i++)
		names[i] = verbs[i].name;
	return str_nearest(name, names);
}

/* "pinfold --version" and its like are what people type first. */
static const struct verb *find_verb(const char *word)
{
	static const struct {
		const char *word, *verb;
	} aliases[] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};

	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (str_equal(word, aliases[i].word))
			word = aliases[i].verb;
	return cli_verb_find(word);
}

static int unknown_verb(const struct settings *settings, const char *word)
{
	const char *nearest = cli_verb_nearest(word);
	struct error err;
	char shown[96];

	str_printable(word, shown, sizeof shown);
	if (nearest != NULL)
		error_set(&err, ERROR_USAGE, "verb", "unknown verb \"%s\"; did you mean \"%s\"?", shown, nearest);
	else
		error_set(&err, ERROR_USAGE, "verb", "unknown verb \"%s\"", shown);
	error_set_fix(&err, "see \"pinfold help\"");
	return cli_fail(settings, &err);
}

/* Without a verb there are no options yet; only --json is looked for, since a program may be waiting for a document. */
static int without_verb(char **words)
{
	struct settings settings = {.verb = &no_verb};
	struct error err;

	for (char **word = words; *word != NULL; word++)
		settings.json = settings.json || str_equal(*word, "--json");
	if (*words != NULL)
		return unknown_verb(&settings, *words);
	error_set(&err, ERROR_USAGE, "verb", "no verb given");
	error_set_fix(&err, "see \"pinfold help\"");
	return cli_fail(&settings, &err);
}

static int with_verb(const struct verb *verb, char **words, uint64_t begin_ns)
{
	cleanup_settings struct settings settings = {.verb = verb};
	struct error err;

	if (cli_settings_init(&settings, verb, &err) < 0 || cli_options_parse(&settings, words, &err) < 0)
		return cli_fail(&settings, &err);
	settings.begin_ns = begin_ns;
	if (settings.help)
		return cli_help_show(&settings, verb);
	/* What is built has to be opened again by who built it. A command of the caller's gets the umask as it is. */
	if (!verb->takes_command)
		(void)umask(umask(0) & ~(mode_t)S_IRWXU);
	return verb->run(&settings);
}

static int prepare(struct error *err)
{
	if (fd_ensure_stdio() < 0)
		return error_set_errno(err, ERROR_IO, errno, "/dev/null", "cannot open standard descriptors");
	return cli_signals_reset(err);
}

int main(int argc, char **argv)
{
	const struct settings nothing = {.verb = &no_verb};
	uint64_t begin_ns = monotime_ns();
	const struct verb *verb;
	struct error err;

	/* A short-lived process need not give memory back between its steps. */
	(void)mallopt(M_TOP_PAD, MEMORY_STEP);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	if (prepare(&err) < 0)
		return cli_fail(&nothing, &err);
	if (argc < 2)
		return without_verb(argv + argc);
	verb = find_verb(argv[1]);
	return verb != NULL ? with_verb(verb, argv + 2, begin_ns) : without_verb(argv + 1);
}
