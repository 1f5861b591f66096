// Rules for shell commands, held against what the bash tool says of its input.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { decidePermission } from '../../../tools/rules/permission.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { PermissionMode, PermissionRules } from '../../../workflows/contract/session.ts';

const bash = createBashTool({ sandbox: await probeSandbox({ kinds: ['group'] }) });

/** Each in a text of the one around it. */
const shells = (deep: number, command: string): string =>
  deep === 0 ? command : `sh -c '${shells(deep - 1, command).replaceAll("'", `'\\''`)}'`;

function judged(permissions: PermissionRules, command: string, mode: PermissionMode = 'default'): string {
  return decidePermission({ mode, permissions, cwd: '/workspace' }, { risk: 'execute', tool: bash, input: { command } })
    .kind;
}

test.each([
  ['git commit:*', 'git commit -m "a b"', 'allow'],
  ['git commit:*', 'git commit', 'allow'],
  ['git commit:*', '"git" com"mit" $X *.ts 2>&1', 'allow'],
  ['git commit:*', 'git commit-tree x', 'ask'],
  ['git commit:*', 'git -C sub commit', 'ask'],
  ['git commit:*', '/tmp/git commit', 'ask'],
  ['git commit:*', 'PATH=. git commit', 'ask'],
  ['git commit:*', 'g?t commit', 'ask'],
  ['git commit:*', '$GIT commit', 'ask'],
  ['git commit:*', 'git commit > .bashrc', 'ask'],
  ['git commit:*', 'git commit -m "$(rm -r .)"', 'ask'],
  ['git commit:*', 'git commit & rm x', 'ask'],
  ['git commit:*', 'if true; then git commit; fi', 'ask'],
  ['npm test', 'npm  test', 'allow'],
  ['npm test', 'npm test -- --reporter=./x.js', 'ask'],
  ['npm test', 'cd sub && npm test | tail -5', 'allow'],
  ['npm test', 'cd .. && npm test', 'ask'],
  ['npm test', 'npm test && touch x', 'ask'],
  ['npm test', 'npm test\nrm x', 'ask'],
  ['git commit:*', 'git commit -m "$\\\n(touch x)"', 'ask'],
  ['git commit:*', 'g\\\nit commit', 'ask'],
  // Git that reads is kept to it only where the whole command reads.
  ['mkdir:*', 'mkdir -p x; cd fake && git status', 'ask'],
  ['mkdir:*', 'mkdir -p x; git log', 'ask'],
  // What changes the shell changes what the reads after it are.
  ['export:*', 'export PATH=.; ls', 'ask'],
  ['cd:*', 'cd /etc && cat passwd', 'ask'],
])('allow bash(%s): %j → %s (L55)', (pattern, command, decision) => {
  expect(judged({ allow: [`bash(${pattern})`] }, command)).toBe(decision);
});

test('a compound command is allowed when each part matches some allow rule (L55)', () => {
  const allow = ['bash(make:*)', 'bash(npm test)'];
  expect(judged({ allow }, 'make all && npm test; pwd')).toBe('allow');
  expect(judged({ allow: allow.slice(1) }, 'make all && npm test; pwd')).toBe('ask');
});

test.each([
  ['rm:*', 'rm -r x', true],
  ['rm:*', 'ls && rm x', true],
  ['rm:*', '/bin/rm x', true],
  ['rm:*', 'A=1 rm x', true],
  ['rm:*', 'if true; then rm x; fi', true],
  ['rm:*', 'sudo -u me rm x', true],
  ['git commit:*', "echo 'git commit' | sh", true],
  ['git commit:*', "printf 'git commit\\n' | tee x | bash -s", true],
  ['git commit:*', 'echo commit | xargs git', true],
  ['git commit:*', 'echo git status | sh', false],
  ['git commit:*', "echo 'git commit' | cat", false],
  ['git commit:*', "echo 'git commit'; ls | sh", false],
  ['git commit:*', "printf 'g\\x69t commit' | sh", true],
  ['git commit:*', "printf 'g\\151t commit' | sh", true],
  ['git commit:*', "printf '%s%s commit' gi t | sh", true],
  ['git commit:*', "printf 'gi%s commit' t | sh", true],
  ['git commit:*', "echo -e 'g\\x69t commit' | cat | bash", true],
  ['git commit:*', "echo $'g\\x69t commit' | sh", true],
  ['git commit:*', "printf '%s\\0' a b | xargs -0 ls", false],
  ['git commit:*', "printf '%s\\n' 'git status' | sh", false],
  ['git commit:*', "printf 'g\\x69t commit' | cat", false],
  ['rm:*', 'bash -c "rm x"', true],
  // A pattern, or braces, where a program's name may be.
  ['rm:*', '(/bin/r? x)', true],
  ['rm:*', '/bin/r? x & wait', true],
  ['rm:*', 'echo "$(/bin/r? x)"', true],
  ['rm:*', "bash -c '/bin/r? x'", true],
  ['rm:*', '(r{m,} x)', true],
  ['rm:*', '(timeout 5 /b[i]n/rm x)', true],
  // Texts within texts.
  ['rm:*', `sh -ec "trap 'stdbuf -o0 rm x' EXIT"`, true],
  ['rm:*', `sh -ec "trap 'stdbuf -C . /bin/r? x' EXIT"`, true],
  ['rm:*', `sh -ce "stdbuf -o0 /bin/r? x"`, true],
  ['rm:*', `env -S"sh -c 'r? x'"`, true],
  ['rm:*', `bash -c 'bash -c '\\''12>/dev/null /bin/[r]m x'\\'''`, true],
  ['rm:*', 'echo `env -S"time -p r\\`\\`m x"`', true],
  ['rm:*', 'echo "$(case x in x) echo x | xargs r``m;; esac)"', true],
  ['rm:*', 'bash <<E\ntrap "time -p /bin/[r]m x" EXIT\nE', true],
  ['rm:*', `sh -ec "trap 'ls *.ts; stdbuf ls a' EXIT"`, false],
  ['rm:*', `${'eval '.repeat(20)}ls`, false],
  ['rm:*', shells(7, 'ls *.ts'), false],
  ['rm:*', shells(7, '/bin/r? x'), true],
  ['rm:*', '(ls *.ts; grep "a*b" {a,b})', false],
  ['rm:*', "for f in *.ts; do echo '{}' \\*; done", false],
  ['rm:*', 'find . -exec rm {} +', true],
  ['rm:*', 'echo $(rm x)', true],
  ['rm:*', `(r'm' x)`, true],
  ['rm:*', '$X x', true],
  ['rm:*', 'setpriv rm -r x', true],
  ['rm:*', "$'\\x72m' -r x", true],
  ['rm:*', '$(printf r)m -r x', true],
  ['rm:*', '$(printf $(printf r))m -r x', true],
  ['rm:*', `${'$('.repeat(99)}printf r${')'.repeat(99)}m -r x`, true],
  ['rm:*', '`printf r`m -r x', true],
  ['rm:*', 'r$()m -r x', true],
  ['rm:*', 'r\\\n$()m -r x', true],
  ['rm:*', 'r\\\nm -r x', true],
  ['rm:*', 'r${x}m -r x', true],
  ['rm:*', '$"rm" -r x', true],
  ['rm:*', 'A=$(date) 2>$(date) r$()m -r x', true],
  ['rm:*', 'ls && (if true; then $(printf r)m -r x; fi)', true],
  ['rm:*', 'echo "$(r$()m x)"', true],
  ['rm:*', 'echo "$\\\n(rm x)"', true],
  ['rm:*', 'echo a-$(date).log "at $(date)" > $(date).txt', false],
  ['rm:*', 'A=$(date); [ "$A" = `date` ] && (ls)', false],
  ['rm:*', 'git commit -m "$(cat <<\'E\'\n* [x] {y} of (z)\nE\n)"', false],
  ['rm:*', "cat > a.js <<'E'\nconsole.log(`${name} done`); $(document).ready()\n$foo = 1;\nE\nls", false],
  ['rm:*', "cat > a.sh <<'E'\nE\n$(printf r)m x <<'F'\nF", true],
  ['rm:*', 'git commit -m "$(cat <<\'E\'\nit costs ($5) now\nE\n)"', false],
  ['rm:*', "x=$(echo 'a;' | sed 's/;$//')", false],
  ['rm:*', "git ls-files | xargs grep -nE '(a|b)$' $(cat list)", false],
  ['rm:*', "awk '{ if ($1 > 3) print }' $(ls)", false],
  ['rm:*', '(cd x && echo "total ($x)")', false],
  ['rm:*', 'echo rm', false],
  ['rm:*', 'rmdir x', false],
  ['rm:*', 'echo $(date) > rm.txt', false],
  ['git push:*', 'git -C sub --no-pager push origin', true],
  ['git push:*', 'git $VERB', true],
  ['git push:*', 'git $(echo push)', true],
  ['git push:*', 'git -C x pu$()sh', true],
  ['git push:*', 'git commit -m push', false],
  ['git push:*', 'git commit -m "$(cat x)"', false],
  ['rm:*', '12>/dev/null rm x', true],
  ['rm:*', '{fd}>/dev/null rm x', true],
  ['rm:*', '(12>/dev/null rm x)', true],
  ['rm:*', '(> "a b" rm x)', true],
  ['rm:*', 'env -S"rm x"', true],
  ['rm:*', "env -vS'rm x'", true],
  ['rm:*', 'env "--split-string=rm x"', true],
  ['rm:*', 'env A=$B PATH="$PATH:." ls', false],
  ['rm:*', 'su -c"rm x" me', true],
  ['rm:*', 'rbash -c "rm x"', true],
  ['rm:*', 'sg root rm', true],
  ['rm:*', 'sg root -c "rm x"', true],
  ['rm:*', 'choom -n 1 rm x', true],
  ['rm:*', 'i386 rm x', true],
  ['rm:*', 'dbus-run-session -- rm x', true],
  ['rm:*', 'fakeroot rm x', true],
  ['rm:*', 'jobs -x rm x', true],
  ['rm:*', 'npx rm x', true],
  ['rm:*', 'npx -c "rm x"', true],
  ['rm:*', 'compgen -C "rm x"', true],
  ['rm:*', 'complete -C "rm x" y', true],
  ['rm:*', 'mapfile -C "rm x" -c 1 a', true],
  ['rm:*', 'readarray -c 1 -C "rm x" a', true],
  ['rm:*', 'timeout -k 5 60 nice -n 3 rm x', true],
  ['rm:*', 'timeout 60 $X', true],
  ['rm:*', 'sudo -n $X x', true],
  ['rm:*', 'bash -c "$X"', true],
  ['rm:*', 'bash -c "echo $X; $Y x"', true],
  ['rm:*', "sudo sh -ec 'ls && (r$(echo m) x)'", true],
  ['rm:*', 'eval "$X" y', true],
  ['rm:*', 'bash -c "echo $X"', false],
  ['rm:*', 'bash run.sh $X', false],
  ['rm:*', 'command -v "$X"', false],
  ['rm:*', 'ls | xargs -I {} cp {} x', false],
  ['rm:*', 'find . -name "$X" -perm 644', false],
  ['git push:*', 'timeout 60 git -C . push', true],
  ['git push:*', 'sudo git -C . --no-pager push', true],
  ['git push:*', 'xargs -n 1 git -C x push', true],
  ['git push:*', 'bash -c "git -C x push"', true],
  ['git push:*', 'timeout 60 git -C . commit -m x', false],
  ['npm publish', 'npm publish', true],
  ['npm publish', 'npm publish $X', true],
  ['npm publish', 'npm publish --dry-run', false],
])('deny and ask bash(%s): %j → %s (L55)', (pattern, command, touched) => {
  const rules = [`bash(${pattern})`];
  expect(judged({ deny: rules, allow: ['bash'] }, command, 'bypass')).toBe(touched ? 'deny' : 'allow');
  expect(judged({ ask: rules, allow: ['bash'] }, command)).toBe(touched ? 'ask' : 'allow');
});

test('no allow rule for a prefix lets another simple command through (L55)', () => {
  const word = fc.constantFrom('x', '-a', '"b c"', "'&& d'", '$E', '*.f', 'a\\;b', '2>&1', 'a#', 'é', '{', '}', '~');
  const mine = fc.array(word, { maxLength: 4 }).map((words) => ['good', ...words].join(' '));
  const other = fc.constantFrom(
    'bad',
    'bad x',
    'A=1 bad',
    'good=1 bad',
    '"good bad"',
    'goods',
    'good\\ x',
    '$good',
    'rm -r x',
  );
  const joint = fc.constantFrom(';', '&&', '||', '|', '|&', '&', '\n', ' ;\n', '\\\n;', '&&\n');
  const joined = fc.tuple(mine, joint, other).chain(([left, by, right]) => {
    return fc.constantFrom(`${right} ${by} ${left}`, `${right}${by}${left}`, `${left}${by}${right}`);
  });
  const nested = fc.tuple(mine, other).chain(([line, inner]) => {
    return fc.constantFrom(
      `${line} $(${inner})`,
      `${line} \`${inner}\``,
      `${line} "$(${inner})"`,
      `${line} <(${inner})`,
    );
  });
  fc.assert(
    fc.property(fc.oneof(joined, nested), (command) => {
      expect(judged({ allow: ['bash(good:*)'] }, command)).not.toBe('allow');
    }),
    { numRuns: 2_000 },
  );
});
