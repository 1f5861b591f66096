// What bash asks about, as the executor sees it: the words of a command, and where its links lead.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { PermissionMode } from '../../../workflows/contract/session.ts';
import { tempFolder } from '../support.ts';

const group = await probeSandbox({ kinds: ['group'] });

test('a command that only reads may run unasked and early; any other asks (L55)', () => {
  const cwd = join(tempFolder(), 'ws');
  mkdirSync(join(cwd, 'src'), { recursive: true });
  symlinkSync('/etc', join(cwd, 'out'));
  symlinkSync('/etc/passwd', join(cwd, 'src/passwd'));
  symlinkSync('src', join(cwd, 'in'));
  symlinkSync('/etc/passwd', join(cwd, '-x'));
  symlinkSync('/etc/passwd', join(cwd, 'list'));
  const registry = createRegistry([createBashTool({ sandbox: group, dataDir: join(cwd, 'data') })]);
  mkdirSync(join(cwd, 'data'));
  writeFileSync(join(cwd, 'data/x'), '');
  const judged = (command: string, mode: PermissionMode = 'default'): string => {
    const prepared = prepareCall(registry, { mode, cwd }, { name: 'bash', input: { command } });
    return prepared.kind === 'ready' ? `${prepared.risk} ${prepared.safe} ${prepared.permission.kind}` : prepared.text;
  };
  expect(judged('ls src | head')).toBe('read true allow');
  expect(judged('ls in')).toBe('read true allow');
  expect(judged('rm src')).toBe('execute false ask');
  expect(judged('rm src', 'acceptEdits')).toBe('execute false ask');
  expect(judged('rm src', 'bypass')).toBe('execute false allow');
  // Links out of the workspace, and Perdure's own data, which the words alone do not show.
  for (const command of [
    'cat out/passwd',
    'cat src/passwd',
    'cat src/*',
    'cd out && cat passwd',
    'diff src src',
    'cat data/x',
    'cat -- -x',
    'head -n1 -- -x',
    'diff -- -x in',
    'grep -flist in',
    'grep -rnflist in',
  ]) {
    expect(judged(command)).toBe('read true ask');
  }
  expect(judged('cat out/passwd', 'bypass')).toBe('read true allow');
});
