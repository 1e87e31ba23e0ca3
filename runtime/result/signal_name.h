/* The symbolic name of a signal: "SIGKILL", "SIGRTMIN+3". */
#ifndef RESULT_SIGNAL_NAME_H
#define RESULT_SIGNAL_NAME_H

#define SIGNAL_NAME_SIZE 24

/* Writes to buf, of SIGNAL_NAME_SIZE bytes, and returns it. */
const char *signal_name(int signo, char *buf);

#endif
