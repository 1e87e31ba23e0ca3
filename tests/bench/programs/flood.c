/* flood MIB: writes so many mebibytes to stdout, as fast as they are taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 16];

int main(int argc, char **argv)
{
	long left = argc == 2 ? strtol(argv[1], NULL, 10) << 20 : 0;

	memset(block, 'x', sizeof(block));
	while (left > 0) {
		ssize_t n = write(STDOUT_FILENO, block, left < (long)sizeof(block) ? (size_t)left : sizeof(block));
		if (n < 0) {
			perror("flood: write");
			return 1;
		}
		left -= n;
	}
	return 0;
}
