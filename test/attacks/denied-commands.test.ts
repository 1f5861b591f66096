// Commands that a rule denies, spelt in every way that bash is known to run: held against bash
// itself.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { decidePermission } from '../../tools/rules/permission.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { tempFolder } from '../tools/support.ts';

const bash = createBashTool({ sandbox: await probeSandbox({ kinds: ['group'] }) });

/** Runs it as it is, in a folder where `victim` leaves a mark; true when it did. */
function runsVictim(command: string, cwd: string): boolean {
  const mark = join(cwd, 'mark');
  rmSync(mark, { force: true });
  const args = ['--norc', '--noprofile', '-c', command];
  const env = { PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`, HOME: cwd, MARK: mark };
  spawnSync('bash', args, { cwd: join(cwd, 'ws'), env, stdio: 'ignore', timeout: 10_000 });
  return existsSync(mark);
}

function withVictim(): string {
  const cwd = tempFolder();
  for (const folder of ['bin', 'ws']) mkdirSync(join(cwd, folder));
  writeFileSync(join(cwd, 'bin/victim'), '#!/bin/sh\necho "$@" >> "$MARK"\n', { mode: 0o755 });
  return cwd;
}

const names = [
  'victim',
  '"victim"',
  "v'ict'im",
  'vic\\tim',
  'v$()ictim',
  'vic``tim',
  '$(echo victim)',
  "$'victim'",
  'v\\\nictim',
  '../bin/vict?m',
  '../bin/v*m',
  '../bin/[v]ictim',
  '../b?n/victim',
  'v{ictim,}',
  'vic{t,}im',
  '{victim,}',
];
/** For long runs: npm run fuzz:rules -- --seed 7 --commands 50000 */
const seed = Number(process.env['RULES_SEED'] ?? Math.floor(Math.random() * 1e9));
const count = Number(process.env['RULES_COMMANDS'] ?? 1_500);

const arguments_ = ['', ' -x sub y', ' sub', ' -C . sub', ' 2>/dev/null sub'];
const before = [
  '',
  '12>/dev/null ',
  '{fd}>/dev/null ',
  'A=1 B[0]=2 ',
  '! ',
  'timeout 60 ',
  'timeout -k 5 60 nice -n 3 ',
  'env A=1 ',
  'env -u A -i PATH="$PATH" MARK="$MARK" ',
  'nohup ',
  'command ',
  'exec ',
  'eval ',
  'echo x | xargs -n 1 ',
  'echo x | xargs -I {} ',
  'stdbuf -o0 ',
  'setsid -w ',
  'time -p ',
  'true && ',
  'false || ',
  'true; ',
  'true |& cat | ',
  'if true; then ',
];
const quoted = (command: string): string => `'${command.replaceAll("'", `'\\''`)}'`;
const around: readonly ((command: string) => string)[] = [
  (command) => command,
  (command) => `(${command})`,
  (command) => `{ ${command}; }`,
  (command) => `echo "$(${command})"`,
  (command) => `echo \`${command}\``,
  (command) => `cat <(${command}) & wait`,
  (command) => `bash -c ${quoted(command)}`,
  (command) => `sh -ec "${command.replaceAll(/["$`\\]/g, '\\$&')}"`,
  (command) => `env -S"${command.replaceAll(/["$`\\]/g, '\\$&')}"`,
  (command) => `trap ${quoted(command)} EXIT`,
  (command) => `for i in 1; do ${command}; done`,
  (command) => `f() { ${command}; }; f`,
  (command) => `case x in x) ${command};; esac`,
  (command) => `bash <<E\n${command}\nE`,
  (command) => `X=1; while ${command}; do break; done`,
  (command) => `git -c alias.v=${quoted(`!${command}`)} v`,
  (command) => `tar -cf /dev/null -C / --checkpoint=1 --checkpoint-action=exec=${quoted(command)} etc/hostname`,
  (command) => `tar -cI ${quoted(command)} -f ../out.tar /etc/hostname`,
  (command) => `script -qec ${quoted(command)} /dev/null`,
  (command) => `find . -maxdepth 0 -exec sh -c ${quoted(command)} \\;`,
  (command) => `split --filter=${quoted(command)} /etc/hostname`,
  (command) => `GIT_PAGER=${quoted(command)} git -p help -a`,
];

test(
  `a command that bash runs was denied, in each spelling, behind each prefix, and within each text of one (L55)`,
  { timeout: 0 },
  () => {
    process.stderr.write(`${count} commands, RULES_SEED=${seed}\n`);
    const cwd = withVictim();
    let ran = 0;
    const one = fc
      .tuple(fc.constantFrom(...before), fc.constantFrom(...names), fc.constantFrom(...arguments_))
      .map(([prefix, name, rest]) => `${prefix}${name}${rest}${prefix.startsWith('if ') ? '; fi' : ''}`);
    const nested = fc
      .tuple(one, fc.array(fc.constantFrom(...around), { maxLength: 3 }))
      .map(([command, wraps]) => wraps.reduce((inner, wrap) => wrap(inner), command));
    const judged = (command: string): string => {
      const permissions = { deny: ['bash(victim:*)'] };
      return decidePermission(
        { mode: 'bypass', permissions, cwd: '/workspace' },
        { risk: 'execute', tool: bash, input: { command } },
      ).kind;
    };
    const check = (command: string): void => {
      if (judged(command) === 'deny') return;
      ran++;
      expect(runsVictim(command, cwd), command).toBe(false);
    };
    const sample = fc.sample(nested, { numRuns: 60, seed: 1 });
    expect(sample.filter((command) => runsVictim(command, cwd)).length).toBeGreaterThan(30);
    fc.assert(fc.property(nested, check), { numRuns: count, seed, endOnFailure: true });
    expect(ran).toBeLessThan(count / 5);
  },
);
