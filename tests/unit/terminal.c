/* The slave is opened without becoming the controlling terminal of the test. */
#include "tests/unit/terminal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>

struct terminal open_terminal(void)
{
	struct terminal t = {.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)};
	char name[64];

	cr_assert_geq(t.master, 0);
	cr_assert_eq(grantpt(t.master), 0);
	cr_assert_eq(unlockpt(t.master), 0);
	cr_assert_eq(ptsname_r(t.master, name, sizeof name), 0);
	t.slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(t.slave, 0);
	return t;
}
