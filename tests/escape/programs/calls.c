/*
 * Makes the calls that it is told, each in a child, as a filter may kill, and says how each was answered.
 *
 *   calls [NAME=]NUMBER[:ARGUMENT,...]...    prints "NAME ok", "NAME signal 31" or "NAME EPERM", a line a call
 *
 * A call that makes a process or ends one is not for it, but clone: its child ends at once.
 */
#include <sys/wait.h>

#include "hostile.h"

#define ARGUMENTS 6

static void make_call(char *text)
{
	long arguments[ARGUMENTS] = {0};
	char *next = text;
	long number = strtol(text, &next, 0);
	pid_t self = getpid();

	for (size_t i = 0; i < ARGUMENTS && (*next == ':' || *next == ','); i++)
		arguments[i] = (long)strtoull(next + 1, &next, 0);
	need(*next == '\0', text);
	errno = 0;
	long answer = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
	if (getpid() != self)
		_exit(0);
	_exit(answer < 0 ? errno : 0);
}

static void tell(char *word)
{
	char *sign = strchr(word, '=');
	int status = 0;
	pid_t child;

	if (sign != NULL)
		*sign = '\0';
	child = fork();
	need(child >= 0, "fork");
	if (child == 0)
		make_call(sign != NULL ? sign + 1 : word);
	need(waitpid(child, &status, 0) == child, "wait");
	if (WIFSIGNALED(status))
		printf("%s signal %d\n", word, WTERMSIG(status));
	else
		printf("%s %s\n", word, WEXITSTATUS(status) == 0 ? "ok" : strerrorname_np(WEXITSTATUS(status)));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		tell(argv[i]);
	return 0;
}
