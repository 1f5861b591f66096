// Commands that look like something else to whoever judges them than to bash.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { decidePermission } from '../../tools/rules/permission.ts';
import { prepareCall } from '../../activities/calls/prepare.ts';
import { createRegistry } from '../../tools/registry.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { tempFolder, toolContext } from '../tools/support.ts';

const group = await probeSandbox({ kinds: ['group'], unconfined: true });
const bash = createBashTool({ sandbox: group });

const options =
  '-l -a -R -L -H -LR -d -h -s -x -D -P -r -rn -nr -f --dereference --deref --follow --dereference-recursive --dereference-args ' +
  '--dereference-command-line -type f -name * -maxdepth 3 -print -follow . ./ in src src/* * ./* *.txt - -- --files -e x x';

test('nothing that is read without a question shows what a link in a folder leads to outside (L55)', () => {
  const outer = tempFolder();
  const cwd = join(outer, 'ws');
  for (const folder of ['ws/src/deep', 'outside/canary-folder']) mkdirSync(join(outer, folder), { recursive: true });
  for (const name of ['outside/canary', 'outside/canary-folder/canary2'])
    writeFileSync(join(outer, name), 'x canary\n');
  writeFileSync(join(cwd, 'src/a.txt'), 'x\n');
  writeFileSync(join(cwd, '-LR'), 'x\n');
  symlinkSync(join(outer, 'outside'), join(cwd, 'src/deep/out'));
  symlinkSync('src', join(cwd, 'in'));
  const registry = createRegistry([bash]);
  let ran = 0;
  const read = (command: string): void => {
    const call = prepareCall(registry, { mode: 'default', cwd }, { name: 'bash', input: { command } });
    if (call.kind !== 'ready' || call.permission.kind !== 'allow') return;
    ran++;
    const { stdout } = spawnSync('bash', ['-c', command], { cwd, encoding: 'utf8', timeout: 120_000 });
    // The name of the link is the workspace's own.
    expect(stdout.replaceAll(/-> .*/g, ''), command).not.toContain('canary');
  };
  const command = fc
    .tuple(
      fc.constantFrom('ls', 'du', 'find', 'grep', 'rg', 'cat', 'stat', 'wc', 'file', 'diff', 'cd src && ls', 'tree'),
      fc.array(fc.constantFrom(...options.split(' ')), { minLength: 1, maxLength: 4 }),
    )
    .map(([name, rest]) => [name, ...rest].join(' '));
  fc.assert(fc.property(command, read), { numRuns: 1_500 });
  expect(ran).toBeGreaterThan(100);
});

const hasGbk = existsSync('/usr/share/i18n/charmaps/GBK.gz');

test.runIf(hasGbk)('a character of another encoding swallows no backslash that was judged (L55)', async () => {
  const locales = tempFolder();
  execFileSync('localedef', ['--no-archive', '-c', '-i', 'zh_CN', '-f', 'GBK', join(locales, 'zh_CN.GBK')], {
    stdio: 'ignore',
  });
  const kept = { LC_ALL: process.env['LC_ALL'], LOCPATH: process.env['LOCPATH'] };
  onTestFinished(() => {
    for (const [name, value] of Object.entries(kept)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  Object.assign(process.env, { LC_ALL: 'zh_CN.GBK', LOCPATH: locales });
  const cwd = tempFolder();
  // The last byte of the character and the backslash are one character of GBK.
  const command = 'echo \u4e2d\\; touch made';
  const allow = { permissions: { allow: ['bash(echo:*)'] }, mode: 'default' as const, cwd };
  expect(decidePermission(allow, { risk: 'execute', tool: bash, input: { command } }).kind).toBe('allow');
  const { content } = await createBashTool({ sandbox: group, passEnv: ['LOCPATH'] }).call(
    { command },
    toolContext(cwd),
  );
  expect(content).toBe('\u4e2d; touch made');
  expect(existsSync(join(cwd, 'made'))).toBe(false);
  spawnSync('bash', ['-c', command], { cwd, stdio: 'ignore' });
  expect(existsSync(join(cwd, 'made'))).toBe(true);
});
