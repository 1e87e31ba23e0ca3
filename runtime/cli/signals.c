/*
 * While a run lives, the signals that end it are blocked and read from a signalfd in the loop: no handler, no state
 * outside a struct, and no moment at which one could strike between two steps.
 *
 * A signal that the caller has set to be ignored stays ignored: nohup and a shell's background jobs mean it. SIGTSTP
 * keeps its default without a private terminal, so that ^Z stops pinfold as it stops any program; the boundary's init
 * keeps the deadline meanwhile.
 *
 * Order: opened before the launch, so that a signal during set-up waits and then ends a run that can be ended cleanly,
 * and closed when the tree is dead; what came in between was one cancellation, however often it was sent.
 */
#include "runtime/cli/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"

static const int ending[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
static const int of_terminal[] = {SIGWINCH, SIGTSTP, SIGCONT};

#define N(array) (sizeof(array) / sizeof *(array))

int cli_signals_reset(struct error *err)
{
	sigset_t none;

	sigemptyset(&none);
	/* SIGCHLD ignored would make the kernel reap children behind the library's back. A document or an event that a
	 * limit of the caller's on the size of files refuses (SIGXFSZ) is an error to be told, as a full disk is. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
		signal(SIGCHLD, SIG_DFL) == SIG_ERR || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "signals", "cannot set signals up");
	return 0;
}

static void add_unless_ignored(sigset_t *set, const int *signos, size_t n)
{
	struct sigaction action;

	for (size_t i = 0; i < n; i++)
		if (sigaction(signos[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(set, signos[i]);
}

int cli_signals_open(struct signals *signals, bool terminal, struct error *err)
{
	cleanup_close int fd = -1;
	sigset_t set;

	sigemptyset(&set);
	add_unless_ignored(&set, ending, N(ending));
	if (terminal)
		add_unless_ignored(&set, of_terminal, N(of_terminal));
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, &signals->before) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "signals", "cannot listen to signals");
	signals->fd = steal_fd(&fd);
	return 0;
}

int cli_signals_next(const struct signals *signals)
{
	struct signalfd_siginfo info;
	ssize_t n;

	do {
		n = read(signals->fd, &info, sizeof info);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

bool cli_signal_cancels(int signo)
{
	for (size_t i = 0; i < N(ending); i++)
		if (ending[i] == signo)
			return true;
	return false;
}

void cli_signals_close(struct signals *signals)
{
	if (signals->fd < 0)
		return;
	while (cli_signals_next(signals) != 0)
		;
	cleanup_close_fd(&signals->fd);
	signals->fd = -1;
	(void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}
