#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/name_claim.h"
#include "tests/unit/harness.h"

TestSuite(name_claim, .fini = harness_leak_check);

static int open_again(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

Test(name_claim, others_see_it_until_it_is_closed)
{
	char path[64];
	int mine = harness_tmpdir(path, sizeof path);
	int other = open_again(path);
	int third = open_again(path);

	cr_expect(!name_is_claimed(other, ".git/hooks"));
	cr_expect(name_claim(mine, ".git/hooks"));
	cr_expect(name_is_claimed(other, ".git/hooks"));
	cr_expect(!name_is_claimed(other, ".git/hook"));
	cr_expect(!name_is_claimed(other, ""));
	cr_expect(!name_is_claimed(mine, ".git/hooks"), "its own");
	cr_expect(name_claim(third, ".git/hooks"), "nobody keeps others from it");
	cr_expect(name_is_claimed(mine, ".git/hooks"));
	cleanup_close_fd(&third);
	cr_expect(!name_is_claimed(mine, ".git/hooks"));
	cleanup_close_fd(&mine);
	cr_expect(!name_is_claimed(other, ".git/hooks"));
	cleanup_close_fd(&other);
	harness_rm_tree(path);
}

Test(name_claim, a_mere_place_cannot_carry_it)
{
	char path[64];
	int fd = harness_tmpdir(path, sizeof path);
	int place = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	cr_expect(!name_claim(place, "a"));
	cr_expect(!name_is_claimed(place, "a"));
	cr_expect(!name_claim(-1, "a"));
	cleanup_close_fd(&place);
	cleanup_close_fd(&fd);
	harness_rm_tree(path);
}
