// A /proc that hides other users' processes (hidepid, ProtectProc): a worker of another user that
// lives is not taken for dead. The hiding itself is played, for not every kernel and container lets
// a test have it; the signal that tells of a process is real.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const PROCESS = new URL('../../system/process/', import.meta.url);
const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };

const compiled = (name: string): string =>
  ts.transpileModule(readFileSync(new URL(`${name}.ts`, PROCESS), 'utf8').replaceAll(".ts';", ".js';"), {
    compilerOptions,
  }).outputText;

const hiding = `
  import * as real from './real-proc.js';
  export * from './real-proc.js';
  export const procStat = (pid) => (pid === process.ppid ? null : real.procStat(pid));`;

const looking = `
  import { processIdentity, isAlive } from './identity.js';
  const self = processIdentity();
  const of = (pid) => isAlive({ ...self, pid });
  console.log([of(self.pid), of(process.ppid), of(2 ** 22 + 1)].join(' '));`;

test.skipIf(process.platform !== 'linux')(
  'a living process that /proc hides is not known to be dead, and one that is gone is (L40 L50)',
  () => {
    const dir = tempDir();
    const files = {
      'package.json': '{"type":"module"}',
      'identity.js': compiled('identity'),
      'real-proc.js': compiled('proc'),
      'proc.js': hiding,
      'look.js': looking,
    };
    for (const [name, source] of Object.entries(files)) writeFileSync(join(dir, name), source);
    const seen = execFileSync(process.execPath, ['look.js'], { cwd: dir, encoding: 'utf8' });
    expect(seen.trim().split(' ')).toEqual(['alive', 'unknown', 'dead']);
  },
);
