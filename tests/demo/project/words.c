/* Counts the words on its standard input. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

int main(void)
{
	long words = 0;
	bool inside = false;

	for (int c = getchar(); c != EOF; c = getchar()) {
		bool letter = !isspace(c);

		words += letter && !inside;
		inside = letter;
	}
	printf("%ld\n", words);
	return 0;
}
