/* A pseudo-terminal for tests. */
#ifndef TESTS_UNIT_TERMINAL_H
#define TESTS_UNIT_TERMINAL_H

struct terminal {
	int master; /* does not block */
	int slave;
};

/* Ends the test on failure. Both ends are the caller's. */
struct terminal open_terminal(void);

#endif
