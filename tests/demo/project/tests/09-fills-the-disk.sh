# Writes until something is full.
head -c 1G /dev/zero >big 2>/dev/null
head -c 1G /dev/zero >/tmp/big 2>/dev/null
[ "$(stat -c %s big)" -gt 20000000 ] && echo "GOT: a big file"
[ "$(stat -c %s /tmp/big)" -gt 20000000 ] && echo "GOT: a big /tmp"
rm -f big
echo "wrote what there was room for"
