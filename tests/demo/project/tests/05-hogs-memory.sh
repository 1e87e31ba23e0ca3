# Keeps a gigabyte of zeros in memory.
head -c 1G /dev/zero | tail -n 1 | ./words
echo "GOT: a gigabyte"
