// Sessions that work in folders besides their workspace, with variables for their tools, on a real
// server and real commands.
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { harness, type Harness } from '../support/harness.ts';

/** The results that the model was told with request `n`, counted from 0. */
function results(h: Harness, n: number): readonly string[] {
  const content = h.bodies()[n]?.messages.at(-1)?.content;
  const blocks = Array.isArray(content) ? (content as readonly { type: string; content?: unknown }[]) : [];
  return blocks.filter(({ type }) => type === 'tool_result').map((block) => String(block.content));
}

/** A folder with one file, where a command could not write: below the temporary folder it can. */
function library(): string {
  const root = realpathSync(mkdtempSync('/var/tmp/perdure-test-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const lib = join(root, 'lib');
  mkdirSync(join(lib, 'secrets'), { recursive: true });
  writeFileSync(join(lib, 'a.ts'), 'alpha\n');
  return lib;
}

test('a session works in another folder with every tool, and its rules that deny hold there (Q7 L55 L57)', async () => {
  const lib = library();
  const file = join(lib, 'a.ts');
  const calls = [
    toolUse('read', { path: file }),
    toolUse('grep', { path: lib, pattern: 'alpha' }),
    toolUse('glob', { path: lib, pattern: '*.ts' }),
    toolUse('edit', { path: file, old_string: 'alpha', new_string: 'beta' }),
    toolUse('write', { path: join(lib, 'b.ts'), content: 'made\n' }),
    toolUse('bash', { command: `cat ${file} > ${lib}/c.ts && cat ${lib}/c.ts` }),
    toolUse('write', { path: join(lib, 'secrets/key'), content: 'x' }),
    toolUse('read', { path: join(lib, '../other') }),
  ];
  const h = await harness({ script: [reply(calls), reply('Done.')] });
  const permissions = { deny: ['write(secrets/**)'] };
  const session = await h.open('Go.', { additionalDirectories: [lib], permissions });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies()[0]?.system)).toContain(`Other folders you may work in, by absolute path: ${lib}`);
  expect(results(h, 1)).toEqual([
    expect.stringContaining('alpha'),
    expect.stringContaining(`${file}:1:alpha`),
    `${file}\n(1 file)`,
    expect.stringContaining(`edited ${file}`),
    expect.stringContaining(`created ${lib}/b.ts`),
    'beta',
    expect.stringContaining('the rule "write(secrets/**)" denies it'),
    expect.stringContaining('is outside the workspace'),
  ]);
});

test('a folder that goes while its session works is said to be gone; the next run is refused until it is given anew (Q7 L57)', async () => {
  const lib = library();
  const outside = library();
  writeFileSync(join(outside, 'a.ts'), 'canary\n');
  const write = reply([toolUse('write', { path: join(lib, 'a.ts'), content: 'mine\n' })]);
  const h = await harness({
    script: (_request, n) => {
      if (n === 1) return write;
      if (n !== 2) return reply('Done.');
      renameSync(lib, `${lib}.kept`);
      symlinkSync(outside, lib);
      const read = toolUse('read', { path: join(lib, 'a.ts') });
      return reply([read, toolUse('bash', { command: 'echo end > end' })]);
    },
  });
  const session = await h.open('Go.', { additionalDirectories: [lib] });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const sentence = `the folder ${lib} is gone, or a link is in its place; go on without it`;
  expect(results(h, 2)).toEqual([expect.stringContaining(sentence), expect.stringContaining(sentence)]);
  expect(readFileSync(join(h.cwd, 'end'), 'utf8')).toBe('end\n');
  await session.send('And now?');
  const linked = `the additional directory ${lib} leads through a link to ${outside}`;
  expect((await session.ended(2)).terminal).toMatchObject({ detail: expect.stringContaining(linked) });
  rmSync(lib);
  await session.send('And now?');
  const missing = `the additional directory ${lib} is not there on this worker`;
  expect((await session.ended(3)).terminal).toMatchObject({ detail: expect.stringContaining(missing) });
  await session.send('Go on.', { options: { additionalDirectories: [`${lib}.kept`] } });
  expect((await session.ended(4)).terminal.reason).toBe('completed');
  await session.send('Without.', { options: { additionalDirectories: null } });
  expect((await session.ended(5)).terminal.reason).toBe('completed');
});

test('a command sees the variables of its session and its worker, and none of the worker’s secrets (Q7)', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', 'canary-key');
  vi.stubEnv('DATABASE_PASSWORD', 'canary-password');
  onTestFinished(() => void vi.unstubAllEnvs());
  const all = reply([toolUse('bash', { command: 'mkdir -p made && env | sort' })]);
  const h = await harness({
    script: [all, reply('Done.')],
    worker: { toolEnv: { NPM_TOKEN: 'of-worker', STAGE: 'of-worker' } },
  });
  const session = await h.open('Go.', { toolEnv: { STAGE: 'of-session' } });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [told = ''] = results(h, 1);
  expect(told).toContain('NPM_TOKEN=of-worker\n');
  expect(told).toContain('STAGE=of-session\n');
  expect(told).not.toContain('canary');
  // They are for tools, not for the model.
  expect(JSON.stringify(h.bodies()[0])).not.toContain('of-session');
});
