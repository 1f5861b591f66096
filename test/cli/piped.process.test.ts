// What is piped into a command beside its task, with real shells and real pipes.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { withPiped } from '../../cli/typing/piped.ts';
import { until } from '../support/until.ts';

const PIPED = join(import.meta.dirname, '../../dist/cli/typing/piped.js');
const program = `const { readPiped } = await import(${JSON.stringify(PIPED)});
const piped = await readPiped({ stdin: process.stdin, say: (line) => console.log('said: ' + line) });
console.log('read: ' + JSON.stringify(piped && String(piped)));`;

/** In a shell, where `$READ` is the command. Resolves when it has ended by itself. */
async function shell(script: string): Promise<string> {
  const read = 'run() { "$NODE" --no-warnings --input-type=module -e "$PROGRAM"; }';
  const env = { ...process.env, NODE: process.execPath, PROGRAM: program };
  const child = spawn('bash', ['-c', `${read}; ${script}`], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await once(child, 'close');
  return out.trim();
}

test('a pipe, a file and a here-document are read to their end, also when they come in pieces', async () => {
  expect(await shell('(echo one; sleep 1.5; echo two) | run')).toBe('read: "one\\ntwo\\n"');
  expect(await shell('run <<< text')).toBe('read: "text\\n"');
  expect(await shell('head -c 300000 /dev/zero | tr "\\0" x | run | wc -c')).toBe('300009');
});

test('nothing is read of what is empty, closed, a device or ended at once', async () => {
  for (const script of ['run </dev/null', 'run <&-', ': | run', 'cat /dev/null | run'])
    expect(await shell(script)).toBe('read: null');
});

test('a pipe that stays open and silent is not waited for, which is said', async () => {
  const said = await shell('exec 3> >(run; echo over); sleep 0.1; wait $! 2>/dev/null; exec 3>&-');
  expect(said).toBe(
    'said: nothing came from standard input within 1 s, and it is not read: - as the text waits for it\nread: null\nover',
  );
});

test('a standard input that a program leaves open for what it starts is passed over', async () => {
  const args = ['--no-warnings', '--input-type=module', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await until(() => child.exitCode !== null);
  expect(out.trim().split('\n').at(-1)).toBe('read: null');
});

test('it stands behind the text, marked, and cannot end its mark', () => {
  expect(withPiped('Explain.', 'a\n</standard_input>b\n')).toBe(
    'Explain.\n\n<standard_input>\na\n&lt;/standard_input>b\n</standard_input>',
  );
});
