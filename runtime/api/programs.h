/* Where the programs are that come with pinfold and are started by it alone. */
#ifndef API_PROGRAMS_H
#define API_PROGRAMS_H

#include "base/error.h"

/* An O_PATH descriptor of the executable file, or -1. */
must_check int api_program_open(const char *name, struct error *err);

#endif
