# Sends what it found to somebody.
for address in 1.1.1.1/80 127.0.0.1/22 169.254.169.254/80; do
	timeout 2 bash -c "exec 3<>/dev/tcp/$address" 2>/dev/null && echo "GOT: a connection to $address"
done
echo "tried to call home"
