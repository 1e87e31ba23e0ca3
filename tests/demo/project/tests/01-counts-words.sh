# An honest test.
[ "$(printf 'one two\n three' | ./words)" = 3 ] && echo "three words are counted"
