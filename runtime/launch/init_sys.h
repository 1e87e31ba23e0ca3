/* System calls for init, which has no C library. They return the kernel's value: negative errno on failure. */
#ifndef LAUNCH_INIT_SYS_H
#define LAUNCH_INIT_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef __x86_64__
#error "init is written for x86-64"
#endif

#ifdef __clang_analyzer__
/* The analyzer reads no assembly: it would take what the kernel writes for never written. */
long init_call6(long nr, long a, long b, long c, long d, long e, long f);
#else
static inline long init_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#endif

#define init_call(nr, ...)                                                                                     \
	INIT_CALL_PICK(__VA_ARGS__, INIT_CALL6, INIT_CALL5, INIT_CALL4, INIT_CALL3, INIT_CALL2, INIT_CALL1, 0) \
	(nr, __VA_ARGS__)
#define INIT_CALL_PICK(a, b, c, d, e, f, name, ...) name
#define INIT_ARG(x)                                 ((long)(x))
#define INIT_CALL1(nr, a)                           init_call6(nr, INIT_ARG(a), 0, 0, 0, 0, 0)
#define INIT_CALL2(nr, a, b)                        init_call6(nr, INIT_ARG(a), INIT_ARG(b), 0, 0, 0, 0)
#define INIT_CALL3(nr, a, b, c)                     init_call6(nr, INIT_ARG(a), INIT_ARG(b), INIT_ARG(c), 0, 0, 0)
#define INIT_CALL4(nr, a, b, c, d)                  init_call6(nr, INIT_ARG(a), INIT_ARG(b), INIT_ARG(c), INIT_ARG(d), 0, 0)
#define INIT_CALL5(nr, a, b, c, d, e)               init_call6(nr, INIT_ARG(a), INIT_ARG(b), INIT_ARG(c), INIT_ARG(d), INIT_ARG(e), 0)
#define INIT_CALL6(nr, a, b, c, d, e, f) \
	init_call6(nr, INIT_ARG(a), INIT_ARG(b), INIT_ARG(c), INIT_ARG(d), INIT_ARG(e), INIT_ARG(f))

#endif
