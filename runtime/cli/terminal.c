/*
 * In raw mode every key, ^C and ^Z too, is a byte for the command's private terminal, whose line discipline makes
 * signals of them inside the boundary. The mode is restored by the cleanup of the struct, on every path that leaves the
 * run; signals that would end pinfold are read by its loop and take the same path.
 */
#include "runtime/cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

int cli_terminal_raw(struct terminal *terminal, struct error *err)
{
	struct termios raw;

	if (terminal->raw || tcgetattr(STDIN_FILENO, &terminal->before) < 0)
		return 0;
	raw = terminal->before;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return error_set_errno(err, ERROR_IO, errno, "tcsetattr", "cannot set the terminal to raw mode");
	terminal->raw = true;
	return 0;
}

void cli_terminal_restore(struct terminal *terminal)
{
	sigset_t set, before;

	if (!terminal->raw)
		return;
	/* Blocked, SIGTTOU does not stop us: the mode must come back even from the background. TCSANOW, for draining
	 * waits as long as the terminal is held by ^S. */
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal->before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	terminal->raw = false;
}

bool cli_terminal_size(unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
			continue;
		*ret_rows = size.ws_row;
		*ret_columns = size.ws_col;
		return true;
	}
	return false;
}
