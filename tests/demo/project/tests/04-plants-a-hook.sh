# Leaves something for the host to run: a git hook, an editor's task, a start file, a set-id shell.
mv .git .git-away 2>/dev/null && echo "GOT: the git directory moved"
mkdir -p .git/hooks .vscode 2>/dev/null
for file in .git/hooks/post-checkout .git/config .vscode/tasks.json .mcp.json ~/.bashrc "$DEMO_HOME/.bashrc"; do
	(echo evil >>"$file") 2>/dev/null
done
cp /bin/sh shell && chmod 4755 shell 2>/dev/null && [ -u shell ] && echo "GOT: a set-id shell"
echo "tried to leave something behind"
