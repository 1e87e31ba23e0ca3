/* pinfold gc: removes what runs left behind whose supervisor was killed. What still lives is never touched. */
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"

int cli_gc(const struct settings *settings)
{
	pinfold_error *error = NULL;
	size_t removed = 0;
	char text[64];

	if (pinfold_gc(&removed, &error) < 0)
		return cli_fail_take(settings, error);
	if (settings->json)
		return cli_print_json_take(
			settings, json_pack("{s:s, s:I}", "schema", "pinfold.gc/1", "removed", (json_int_t)removed));
	(void)snprintf(text, sizeof text, "%zu removed\n", removed);
	return cli_print(settings, text);
}
