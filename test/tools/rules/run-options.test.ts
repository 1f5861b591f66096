// Deny rules and programs that run others: behind a verb, in an option or a variable, in code.
import { expect, test } from 'vitest';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { decidePermission } from '../../../tools/rules/permission.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';

const bash = createBashTool({ sandbox: await probeSandbox({ kinds: ['group'] }) });

function judged(pattern: string, command: string): string {
  const permissions = { deny: [`bash(${pattern})`], allow: ['bash'] };
  return decidePermission(
    { mode: 'bypass', permissions, cwd: '/workspace' },
    { risk: 'execute', tool: bash, input: { command } },
  ).kind;
}

test.each([
  // An option.
  "git -c alias.x='!rm y' x",
  "git -C sub -c core.pager='rm y' log",
  'git -c core.sshCommand=\'sh -c "rm y"\' fetch',
  'git -c diff.external=rm diff',
  "git -c filter.a.smudge='rm %f' checkout .",
  "git -c credential.helper='!rm y' fetch",
  'git grep -Orm x',
  "git rebase -x 'rm y' main",
  "git rebase --exec='rm y' main",
  "git difftool --extcmd='rm' a b",
  "git filter-branch --tree-filter 'rm -f y' HEAD",
  'git --config-env=alias.x=V x',
  "timeout 5 git -c alias.x='!/bin/r? y' x",
  "tar xf a.tar --to-command='rm y'",
  "tar xf a.tar --to-command 'rm y'",
  "tar cf a.tar b --checkpoint=1 --checkpoint-action=exec='rm y'",
  "tar cf a.tar b --checkpoint=1 --checkpoint-action 'exec=rm y'",
  "tar -I 'rm y' -xf a.tar",
  "tar -cI'rm y' -f a.tar b",
  "tar --use-compress-prog='rm y' -xf a.tar",
  'tar xf a.tar --to-command="$X"',
  "rsync -e 'rm y' a host:b",
  "rsync -ave 'rm y' a host:b",
  "rsync --rsh='rm y' a host:b",
  "ssh -o ProxyCommand='rm y' host",
  "ssh -oProxyCommand='rm y' host",
  "ssh -o 'ProxyCommand rm y' host",
  "scp -o proxycommand='rm y' a host:b",
  'sort --compress-program=rm a',
  "split --filter='rm y' a",
  'fd -x rm',
  'rg --pre rm x',
  "sh -c 'find . -exec rm {} +'",
  "sh -c 'find . -okdir rm {} \\;'",
  "ncat -e '/bin/rm y' host 1",
  'socat - EXEC:"rm y"',
  "go test -exec 'rm y' ./...",
  'npm --script-shell=rm test',
  // A variable.
  "GIT_SSH_COMMAND='rm y' git fetch",
  "GIT_PAGER='rm y' git -p log",
  "export PAGER='rm y'; man ls",
  'env EDITOR=rm git commit',
  'make SHELL=/bin/rm',
  "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm y' git x",
  // A verb.
  'git bisect run rm y',
  "git submodule --quiet foreach 'rm y'",
  'docker run --rm -v "$PWD:/w" image rm y',
  'docker exec -it name rm y',
  "docker exec name sh -c 'rm y'",
  'docker compose exec name rm y',
  'podman run image /bin/rm y',
  'kubectl exec pod -c one -- rm y',
  'ip netns exec name rm y',
  'uv run --with x rm y',
  'uv run $X',
  'poetry run rm y',
  "npm exec -c 'rm y'",
  "npm exec --call='rm y'",
  'pnpm exec rm y',
  'bundle exec rm y',
  "tmux new -d 'rm y'",
  'tmux new-session -s a rm y',
  "tmux -L a send-keys 'rm y' Enter",
  // The command that follows.
  'gdb --args rm y',
  'valgrind --tool=none rm y',
  'screen -dmS a rm y',
  "script -qc 'rm y' out",
  'ls | entr rm y',
  "ls | entr -s 'rm y'",
  'bwrap --ro-bind / / --dev /dev rm y',
  'xvfb-run -a rm y',
  // Code.
  `awk 'BEGIN { system("rm y") }'`,
  `awk '{ print | "rm y" }' a`,
  'timeout 5 gawk \'BEGIN { "rm y" | getline }\'',
  "sed '1e rm y' a",
  "sed -n 's/.*/rm y/e' a",
  `python3 -c 'import os; os.system("rm y")'`,
  `python3.12 -Ic 'import subprocess; subprocess.run(["rm", "y"])'`,
  'perl -e \'exec "rm", "y"\'',
  "perl -ne '`rm y`' a",
  `node -e "require('child_process').execSync('rm y')"`,
  "ruby -e 'system(%q(rm y))'",
  "expect -c 'spawn rm y'",
  "vim -c '!rm y' a",
  "vim '+!rm y' a",
  "gdb -batch -ex 'shell rm y'",
  "sqlite3 a.db '.shell rm y'",
  "psql -c '\\! rm y'",
  "make --eval='$(shell rm y)'",
  // What is piped in.
  "printf 'all:\\n\\trm y\\n' | make -f -",
  "echo 'rm y' | at now",
  "echo '!rm y' | ed a",
  `echo 'import os; os.system("rm y")' | python3`,
  `echo 'system("rm y")' | perl -`,
])('a rule that denies rm is about %j (L55)', (command) => {
  expect(judged('rm:*', command)).toBe('deny');
});

test('words that another program is given count for rules of several words (L55)', () => {
  expect(judged('git push:*', "git -c alias.x='push' x")).toBe('deny');
  expect(judged('git push:*', `python3 -c 'subprocess.run(["git", "push"])'`)).toBe('deny');
  expect(judged('git push:*', 'uv run git -C a push')).toBe('deny');
  expect(judged('git push:*', 'uv run git -C a pull')).toBe('allow');
});

test.each([
  'git rm y',
  'git -c user.name="$X" commit -m "rm y"',
  'git -c core.pager=cat log',
  'git push -u "$REMOTE" "$BRANCH"',
  'docker rm y',
  'docker run --rm -v "$PWD:/w" -w /w "$IMAGE" npm test',
  'docker compose rm y',
  'kubectl get pods -n "$X"',
  'npm run rm',
  'npm install "$X"',
  'tar czf "$X" rm',
  'tar --exclude=rm -cf a.tar .',
  'rsync -a --delete "$X" rm',
  'ssh "$HOST" ls',
  "awk '{ print $1 }' rm",
  `awk '$1 == "rm" || /x/' a`,
  "sed -e 's/cp a/rm b/g' -i a",
  "sed -n '/the rm/p' a",
  `python3 -c 'print("rm")'`,
  'python3 rm.py rm',
  "printf '%s\\n%s' a b | python3 x.py",
  'node rm',
  'make rm',
  'make -j4 CC="$CC" all',
  'GIT_AUTHOR_NAME="$X" git commit',
  'PAGER=cat git log',
  'sort -k1 rm',
  'go test ./rm',
  'uv sync',
  'man rm',
])('it is not about %j (L55)', (command) => {
  expect(judged('rm:*', command)).toBe('allow');
});
