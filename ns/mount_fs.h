/* New file systems as detached mounts, and changes to one mount. Async-signal-safe; -1 with errno. */
#ifndef NS_MOUNT_FS_H
#define NS_MOUNT_FS_H

#include <stdbool.h>
#include <stdint.h>

/* mount attributes (MOUNT_ATTR_*) for our MOUNT_* flags: nosuid always, nodev, noexec, read-only as the flags say. */
uint64_t mount_fs_attributes(unsigned flags);
/* A tmpfs of at most size_bytes (0: the kernel's default), its root having `mode`. Returns the mount's fd. */
int mount_fs_tmpfs(uint64_t size_bytes, unsigned mode);
int mount_fs_proc(void);
int mount_fs_devpts(void);
/* A private, recursive clone of what path_fd names, with these attributes added. */
int mount_fs_clone(int path_fd, uint64_t attributes, int idmap_fd);
/* Attaches the detached mount at the place path_fd names. */
int mount_fs_attach(int mount_fd, int path_fd);

#endif
