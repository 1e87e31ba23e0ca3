/* Ways for a process to take memory or CPU time, as watched trees do it in the tests. Each takes HOG bytes unless said. */
#ifndef UNIT_MEMORY_ACTS_H
#define UNIT_MEMORY_ACTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WITH_ASAN 1
#endif

#define MIB ((size_t)1 << 20)
#ifdef WITH_ASAN
#define SLACK (24 * MIB) /* its shadow and its quarantine are memory too */
#define ABOVE (36 * MIB) /* and so are the page tables of the shadow, in each process */
#else
#define SLACK (4 * MIB)
#define ABOVE SLACK
#endif
#define HOG        (32 * MIB)
#define TIGHT      (16 * MIB) /* a limit that makes every look an exact one */
#define COPIES     4
#define MEMFILE_FD 100
#define QUEUES     256
#define ADDRESS    ((rlim_t)1 << 30)

/* --- what the trees do ------------------------------------------------------------------------------------------- */

void take_private(void);
void take_shared(void);
void take_written_memfile(void);
void take_mapped_memfile(void);
void take_memfile_mapped_only(void);
void take_tmpfs(void);
void take_mapped_tmpfs(void);
void take_deleted_tmpfs(void);
void take_sysv(void);
void take_detached_sysv(void);
void take_many_small(void);
void share_after_fork(void);
void share_memfile(void);
void map_a_file(void);
void reserve(void);
void share_by_vfork(void);
void copy_by_waiting_clone(void);
void outlive_the_first_thread(void);
void outlive_with_memfile(void);
void make_semaphores(void);
void take_page_tables(void);
void send_messages(void);
void burn_cpu(void);
void burn_cpu_in_waited_children(void);

#endif
