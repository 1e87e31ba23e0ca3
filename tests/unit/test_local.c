/* What is copied of this machine, what is refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree.h"
#include "runtime/workspace/local.h"
#include "tests/unit/harness.h"
#include "tests/unit/local_scene.h"

TestSuite(local, .init = local_scene_setup, .fini = local_scene_teardown, .timeout = 100);

/* A FIFO without a writer, a socket, and, as root, devices. */
static size_t make_specials(int at, const char *const **ret_names)
{
	static const char *const names[] = {"fifo", "socket", "zero", "disk"};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	cleanup_close int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_names = names;
	cr_assert_eq(mkfifoat(at, "fifo", 0666), 0);
	(void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", at);
	cr_assert_eq(bind(socket_fd, (struct sockaddr *)&address, sizeof address), 0, "%s", strerror(errno));
	if (mknodat(at, "zero", S_IFCHR | 0666, makedev(1, 5)) < 0)
		return 2;
	cr_assert_eq(mknodat(at, "disk", S_IFBLK | 0666, makedev(7, 63)), 0);
	return 4;
}

Test(local, copies_a_file)
{
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work};
	struct local_totals totals = {0};
	struct error err = {0};
	mode_t mask = umask(077);

	mkdir_in(source, "d");
	put(source, "d/plain", "12345", 0600);
	put(source, "d/program", "x", 04711);
	harness_ok(local_copy_file(source, "d/plain", target, "plain", &options, &totals, &err), &err);
	harness_ok(local_copy_file(source, "d/program", target, "program", &options, &totals, &err), &err);
	expect_content(target, "plain", "12345");
	cr_expect_eq(look(target, "plain").st_mode, S_IFREG | 0644);
	cr_expect_eq(look(target, "program").st_mode, S_IFREG | 0755);
	cr_expect(totals.files == 2 && totals.bytes == 6);
	cr_expect(work.files == 2 && work.bytes == 6);
	(void)umask(mask);
}

Test(local, a_mode_that_is_asked_for)
{
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work, .file_mode = 0600};
	struct local_totals totals = {0};
	struct error err = {0};

	put(source, "program", "x", 0755);
	harness_ok(local_copy_file(source, "program", target, "copy", &options, &totals, &err), &err);
	cr_expect_eq(look(target, "copy").st_mode, S_IFREG | 0600);
}

Test(local, does_not_replace_what_is_there)
{
	struct error err = {0};

	put(source, "file", "new", 0644);
	put(tree, "victim", "old", 0644);
	cr_assert_eq(symlinkat("../victim", target, "copy"), 0);
	cr_expect_eq(copy_file_of("file", &err), -1);
	cr_expect_eq(err.code, ERROR_IO);
	cr_expect_eq(err.sys_errno, EEXIST);
	expect_content(tree, "victim", "old");
}

Test(local, refuses_links_on_every_part_of_the_way)
{
	struct error err = {0};

	mkdir_in(source, "d");
	put(source, "d/file", "x", 0644);
	cr_assert_eq(symlinkat("d", source, "dirlink"), 0);
	cr_assert_eq(symlinkat("file", source, "d/link"), 0);
	cr_assert_eq(symlinkat("/etc/passwd", source, "passwd"), 0);
	cr_assert_eq(symlinkat("nowhere", source, "dangling"), 0);
	expect_error(copy_file_of("passwd", &err), &err, ERROR_LOCAL_FILE_READ, "symlink_not_supported", "\"passwd\"");
	expect_error(copy_file_of("d/link", &err), &err, ERROR_LOCAL_FILE_READ, "symlink_not_supported", "\"d/link\"");
	expect_error(copy_file_of("dirlink/file", &err), &err, ERROR_LOCAL_FILE_READ, "symlink_not_supported",
		"\"dirlink\"");
	expect_error(copy_file_of("dangling", &err), &err, ERROR_LOCAL_FILE_READ, "symlink_not_supported", "dangling");
	expect_error(local_open_dir(source, "dirlink", &err), &err, ERROR_LOCAL_DIR_READ, "symlink_not_supported",
		"\"dirlink\"");
	expect_error(local_open_dir(source, "dirlink/x", &err), &err, ERROR_LOCAL_DIR_READ, "symlink_not_supported",
		"\"dirlink\"");
	cr_expect_not(exists(target, "copy"));
}

Test(local, refuses_what_lies_outside_or_is_missing)
{
	struct error err = {0};

	put(tree, "secret", "x", 0644);
	expect_error(copy_file_of("../secret", &err), &err, ERROR_LOCAL_FILE_READ, "outside_base_dir", "../secret");
	expect_error(local_open_dir(source, "a/../../x", &err), &err, ERROR_LOCAL_DIR_READ, "outside_base_dir", "../x");
	expect_error(copy_file_of("missing", &err), &err, ERROR_LOCAL_FILE_READ, "", "missing");
	cr_expect_eq(err.sys_errno, ENOENT);
	expect_error(local_open_dir(source, "missing", &err), &err, ERROR_LOCAL_DIR_READ, "", "missing");
	put(source, "file", "x", 0644);
	expect_error(local_open_dir(source, "file", &err), &err, ERROR_LOCAL_DIR_READ, "special_file", "file");
	mkdir_in(source, "dir");
	expect_error(copy_file_of("dir", &err), &err, ERROR_LOCAL_FILE_READ, "special_file", "dir");
}

Test(local, never_opens_fifos_sockets_and_devices)
{
	const char *const *names;
	size_t n = make_specials(source, &names);
	struct error err = {0};

	for (size_t i = 0; i < n; i++) {
		struct work work = WORK_INIT;

		expect_error(copy_file_of(names[i], &err), &err, ERROR_LOCAL_FILE_READ, "special_file", names[i]);
		expect_error(
			local_open_dir(source, names[i], &err), &err, ERROR_LOCAL_DIR_READ, "special_file", names[i]);
		for (size_t j = 0; j < n; j++) {
			if (j != i)
				cr_assert_eq(renameat(source, names[j], tree, names[j]), 0);
		}
		expect_error(copy_dir(&work, &err), &err, ERROR_LOCAL_DIR_READ, "special_file", names[i]);
		for (size_t j = 0; j < n; j++) {
			if (j != i)
				cr_assert_eq(renameat(tree, names[j], source, names[j]), 0);
		}
	}
}

Test(local, copies_a_tree)
{
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work};
	struct local_totals totals = {0};
	struct error err = {0};
	int fds = harness_count_fds();

	mkdir_in(source, "a");
	mkdir_in(source, "a/b");
	mkdir_in(source, "empty");
	put(source, "a/b/file", "one", 0640);
	put(source, "a/run", "#!", 0700);
	cr_assert_eq(linkat(source, "a/run", source, "twin", 0), 0);
	cr_assert_eq(fchmodat(source, "a", 02777, 0), 0);
	harness_ok(local_copy_dir(source, target, &options, &totals, &err), &err);
	expect_content(target, "a/b/file", "one");
	cr_expect_eq(look(target, "a").st_mode, S_IFDIR | 0755);
	cr_expect_eq(look(target, "empty").st_mode, S_IFDIR | 0755);
	cr_expect_eq(look(target, "a/b/file").st_mode, S_IFREG | 0644);
	cr_expect_eq(look(target, "a/run").st_mode, S_IFREG | 0755);
	cr_expect_eq(look(target, "a/run").st_nlink, 1, "hard links become separate files");
	cr_expect_neq(look(target, "a/run").st_ino, look(target, "twin").st_ino);
	cr_expect_neq(look(target, "a/run").st_ino, look(source, "a/run").st_ino);
	cr_expect(totals.files == 3 && totals.directories == 3 && totals.bytes == 7);
	cr_expect_eq(harness_count_fds(), fds);
}

Test(local, leaves_out_what_is_excluded_without_looking_at_it)
{
	static const char *const exclude[] = {"*.o", "link", "secret/", "a/fifo"};
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work, .exclude = exclude, .n_exclude = 4};
	struct local_totals totals = {0};
	struct error err = {0};

	mkdir_in(source, "a");
	mkdir_in(source, "secret");
	put(source, "a/x.o", "", 0644);
	put(source, "a/x.c", "", 0644);
	put(source, "secret/x", "", 0644);
	cr_assert_eq(fchmodat(source, "secret", 0, 0), 0);
	cr_assert_eq(symlinkat("/etc", source, "a/link"), 0);
	cr_assert_eq(mkfifoat(source, "a/fifo", 0600), 0);
	harness_ok(local_copy_dir(source, target, &options, &totals, &err), &err);
	cr_expect(totals.files == 1 && totals.directories == 1);
	cr_expect(exists(target, "a/x.c") && !exists(target, "secret") && !exists(target, "a/x.o"));
	cr_assert_eq(fchmodat(source, "secret", 0700, 0), 0);
}

Test(local, refuses_a_tree_with_a_link_in_it)
{
	struct work work = WORK_INIT;
	struct error err = {0};

	mkdir_in(source, "a");
	mkdir_in(source, "a/b");
	cr_assert_eq(symlinkat("..", source, "a/b/up"), 0);
	expect_error(copy_dir(&work, &err), &err, ERROR_LOCAL_DIR_READ, "symlink_not_supported", "\"a/b/up\"");
}

static void become_user(void)
{
	if (geteuid() != 0)
		return;
	cr_assert_eq(fchown(tree, 65534, 65534), 0);
	cr_assert_eq(fchown(source, 65534, 65534), 0);
	cr_assert_eq(fchown(target, 65534, 65534), 0);
	cr_assert_eq(setresgid(65534, 65534, 65534), 0);
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
}

Test(local, names_what_cannot_be_read)
{
	struct work work = WORK_INIT;
	struct error err = {0};

	become_user();
	mkdir_in(source, "a");
	put(source, "a/closed", "x", 0);
	expect_error(copy_dir(&work, &err), &err, ERROR_LOCAL_DIR_READ, "", "a/closed");
	cr_expect_eq(err.sys_errno, EACCES);
	expect_error(copy_file_of("a/closed", &err), &err, ERROR_LOCAL_FILE_READ, "", "a/closed");
	cr_assert_eq(unlinkat(source, "a/closed", 0), 0);
	mkdir_in(source, "a/closed");
	cr_assert_eq(fchmodat(source, "a/closed", 0, 0), 0);
	harness_ok(tree_remove(target, "a", &err), &err);
	expect_error(copy_dir(&work, &err), &err, ERROR_LOCAL_DIR_READ, "", "a/closed");
	cr_assert_eq(fchmodat(source, "a/closed", 0700, 0), 0);
}

Test(local, files_without_a_length_are_refused)
{
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work};
	struct local_totals totals = {0};
	struct error err = {0};
	cleanup_close int proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	expect_error(local_copy_file(proc, "status", target, "copy", &options, &totals, &err), &err,
		ERROR_LOCAL_FILE_READ, "", "\"status\"");
	expect_error(local_copy_file(proc, "exe", target, "copy2", &options, &totals, &err), &err,
		ERROR_LOCAL_FILE_READ, "symlink_not_supported", "\"exe\"");
}

Test(local, limits_of_the_whole_work)
{
	struct work bytes = WORK_INIT, files = WORK_INIT;
	struct error err = {0};

	put(source, "a", "12345", 0644);
	put(source, "b", "67890", 0644);
	bytes.bytes_max = 9;
	cr_expect_eq(copy_dir(&bytes, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_not_null(strstr(err.text, "\"b\""), "%s", err.text);
	cr_assert_eq(unlinkat(target, "a", 0), 0);
	cr_assert_eq(unlinkat(target, "b", 0), 0);
	files.files_max = 1;
	cr_expect_eq(copy_dir(&files, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_assert_eq(unlinkat(target, "a", 0), 0);
	cr_assert_eq(unlinkat(target, "b", 0), 0);
	bytes = (struct work)WORK_INIT;
	bytes.bytes_max = 10;
	harness_ok(copy_dir(&bytes, &err), &err);
}

Test(local, a_tree_deeper_than_a_path_is_refused_and_removed)
{
	cleanup_close int at = fcntl(source, F_DUPFD_CLOEXEC, 0);
	struct work work = WORK_INIT;
	struct error err = {0};

	for (int i = 0; i < 5000; i++) {
		int below = make_dir(at, "d");

		(void)fd_close(at);
		at = below;
	}
	cr_expect_eq(copy_dir(&work, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT, "%s", err.text);
	harness_ok(tree_remove(tree, "target", &err), &err);
	harness_ok(tree_remove(tree, "source", &err), &err);
	cr_assert_eq(mkdirat(tree, "target", 0700), 0);
}

Test(local, links_inside_are_made_anew_where_they_may)
{
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work, .links_inside = true};
	struct local_totals totals = {0};
	struct error err = {0};
	char content[16] = "";

	mkdir_in(source, "d");
	put(source, "file", "x", 0644);
	cr_assert_eq(symlinkat("../file", source, "d/up"), 0);
	cr_assert_eq(symlinkat("nowhere", source, "d/dangling"), 0);
	harness_ok(local_copy_dir(source, target, &options, &totals, &err), &err);
	cr_expect(totals.links == 2 && totals.files == 1);
	cr_expect_eq(readlinkat(target, "d/up", content, sizeof content - 1), 7);
	cr_expect_str_eq(content, "../file");
	cr_assert_eq(symlinkat("../../file", source, "d/z"), 0);
	harness_ok(tree_remove(target, "d", &err), &err);
	harness_ok(tree_remove(target, "file", &err), &err);
	expect_error(local_copy_dir(source, target, &options, &totals, &err), &err, ERROR_LOCAL_DIR_READ,
		"symlink_not_supported", "\"d/z\"");
}
