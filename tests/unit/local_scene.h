/* A source and a target to copy from and to, and what is expected of a copy. */
#ifndef TESTS_UNIT_LOCAL_SCENE_H
#define TESTS_UNIT_LOCAL_SCENE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "runtime/workspace/local.h"

/* Open directories: an empty one, and "source" and "target" in it. */
extern int tree, source, target;

void local_scene_setup(void);
void local_scene_teardown(void);

int make_dir(int at, const char *path); /* and opens it */
void mkdir_in(int at, const char *path);
void put(int at, const char *path, const char *content, mode_t mode);
bool exists(int at, const char *path);
struct stat look(int at, const char *path);
void expect_content(int at, const char *path, const char *expected);
/* The error names what is wrong, and why; reason "" where there is none. */
void expect_error(int r, const struct error *err, enum error_code code, const char *reason, const char *named);
/* Of source as a whole, and of source/SRC as target/copy. */
int copy_dir(struct work *work, struct error *err);
int copy_file_of(const char *src, struct error *err);

#endif
