/* `run -v`: what of the report a person should know before the command starts. */
#ifndef CLI_NOTES_H
#define CLI_NOTES_H

#include "base/error.h"
#include "include/pinfold.h"

/* A line on stderr for each row that is not enforced, and for each warning. */
must_check int cli_notes_tell(pinfold_report *report, struct error *err);

#endif
