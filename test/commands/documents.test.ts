// The blocks of commands in the documents, typed into a shell against the scripted model.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { root, shellBlocks, typedLines, type Block } from '../support/documents.ts';
import { until } from '../support/until.ts';

type Place = ReturnType<typeof cliPlace>;
type Typed = { readonly status: number; readonly out: string; readonly err: string };

/** Types lines into a shell of the place, in which `perdure` and `npx perdure` are this checkout. */
function shellOf({ root: folder, cwd, env }: Place) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = `exec "${process.execPath}" "${join(root, 'bin/perdure.mjs')}" "$@"\n`;
  for (const [name, text] of [
    ['perdure', program],
    ['npx', `shift\n${program}`],
  ] as const) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}`);
    chmodSync(join(bin, name), 0o755);
  }
  return async (line: string, filledIn: Readonly<Record<string, string>> = {}): Promise<Typed> => {
    const text = Object.entries(filledIn).reduce((sofar, [from, to]) => sofar.replaceAll(from, to), line);
    const options = { cwd, env: { ...env, PATH: `${bin}:${env['PATH'] ?? ''}` } };
    return await new Promise((resolve) => {
      const child = execFile('sh', ['-c', text], options, (error, out, err) =>
        resolve({ status: error ? Number(error.code) : 0, out, err }),
      );
      child.stdin?.end();
    });
  };
}

/** The typed lines of each block in a language. */
const linesOf = (blocks: readonly Block[], wanted = 'sh'): readonly (readonly string[])[] =>
  blocks.filter(({ language }) => language === wanted).map((block) => typedLines(block));

const bash = (command: string) => reply([toolUse('bash', { command })]);
const write = (path: string, content: string) => reply([toolUse('write', { path, content })]);

/** A run in the place that asks nobody and captures its files. */
async function runTask(place: Place, session: string, task: string): Promise<void> {
  const options = ['--permission-mode', 'bypass', '--snapshots', '--session', session];
  expect(await place.run('run', ...options, task)).toMatchObject({ status: 0 });
}

test('the commands of the README run a task and come back to it (O18)', async () => {
  const [[key = '', run = '', watch = '', ...more] = [], ...blocks] = linesOf(shellBlocks('README.md'));
  expect([more, blocks]).toEqual([[], []]);
  const place = cliPlace(await modelFor([reply('It passes.')]));
  const type = shellOf(place);
  const done = await type(`${key}\n${run}`, { 'sk-ant-…': 'test' });
  expect(done).toMatchObject({ status: 0, out: expect.stringContaining('It passes.') });
  const [listed] = jsonLines((await place.run('list', '--json')).out);
  const again = await type(watch, { 's-4k2…': String(listed?.['session']) });
  expect(again).toMatchObject({ status: 0, out: expect.stringContaining('It passes.') });
});

test('the commands of docs/cli.md list, approve and deny calls that wait (L55)', async () => {
  const [[list = '', approve = '', deny = '', ...more] = [], ...blocks] = linesOf(shellBlocks('docs/cli.md'));
  expect([more, blocks]).toEqual([[], []]);
  const place = cliPlace(await modelFor([bash('echo a >> a'), bash('git push origin main'), reply('Done.')]));
  const type = shellOf(place);
  const run = place.start(['run', '--wait', 'make it']);
  const waiting = async (command: string) =>
    await until(async () => {
      const [call] = jsonLines((await place.run('approvals', '--json')).out);
      return JSON.stringify(call?.['input'] ?? '').includes(command) ? call : undefined;
    });
  const first = await waiting('echo a');
  const session = String(first['session']);
  expect(await type(list)).toMatchObject({ status: 0, out: expect.stringContaining(session) });
  const named = (call: Record<string, unknown>) => ({ 's-4k2…': session, '1.2.0': String(call['call']) });
  expect(await type(approve, named(first))).toMatchObject({ status: 0 });
  expect(await type(deny, named(await waiting('git push')))).toMatchObject({ status: 0 });
  expect(await run.status).toBe(0);
  expect((await place.run('show', session, '--full')).out).toContain('not on main');
});

test('the commands of docs/finding.md and docs/operating.md find sessions and keep a schedule (O3 L87)', async () => {
  const [[find = '', ...others] = [], ...more] = linesOf(shellBlocks('docs/finding.md'));
  const [[create = '', update = '', list = '', opened = '', ...rest] = [], ...blocks] = linesOf(
    shellBlocks('docs/operating.md'),
  );
  expect([others, more, rest, blocks]).toEqual([[], [], [], []]);
  const type = shellOf(cliPlace(await modelFor([reply('Done.')])));
  expect(await type(create)).toMatchObject({ status: 0 });
  expect(await type(update)).toMatchObject({ status: 0, err: expect.stringContaining('schedule deps fires next at') });
  expect(await type(list)).toMatchObject({ status: 0, out: expect.stringContaining('deps') });
  expect(await type(opened)).toMatchObject({ status: 0 });
  expect(await type(find)).toMatchObject({ status: 0 });
});

test('the worked example of docs/time.md shows, compares and applies what it says (T5 T11)', async () => {
  const [[show = '', stat = '', patch = '', apply = '', ...more] = []] = linesOf(
    shellBlocks('docs/time.md'),
    'console',
  );
  expect(more).toEqual([]);
  const script = [
    write('src/a.ts', 'export const a = 1;\n'),
    bash('sed -i s/hello/goodbye/ greeting && rm script.json'),
    reply('Done.'),
  ];
  const place = cliPlace(await modelFor(script));
  writeFileSync(join(place.cwd, 'greeting'), 'hello\n');
  writeFileSync(join(place.cwd, 'script.json'), '{}\n');
  const other = join(place.cwd, '../other');
  mkdirSync(other);
  writeFileSync(join(other, 'greeting'), 'good day\n');
  await runTask(place, 's-3620mmvvhi', 'Say goodbye.');
  const type = shellOf(place);
  expect(await type(show)).toMatchObject({ status: 0, out: expect.stringContaining('2 files changed (+1 −2)') });
  const total = 'deleted script.json  +0 −1\nadded src/a.ts  +1 −0\n3 files changed (+2 −2)\n';
  expect(await type(stat)).toMatchObject({ status: 0, out: expect.stringContaining(total) });
  expect(await type(patch)).toMatchObject({ status: 0, out: '' });
  const applied = 'wrote src/a.ts\nconflict: greeting: both versions stand in it, between markers\n1 file already so\n';
  expect(await type(apply)).toMatchObject({ status: 1, out: applied });
});

test('the rewind and the fork of docs/time.md go back, and part, as it says (T6 T10)', async () => {
  const [, rewind = [], forked = [], ...more] = linesOf(shellBlocks('docs/time.md'), 'console');
  expect([more, rewind.length, forked.length]).toEqual([[], 2, 2]);
  const place = cliPlace(
    await modelFor([
      write('cart.ts', 'export const cart = [];\n'),
      reply('Made.'),
      bash('echo >> cart.ts'),
      reply('Formatted.'),
    ]),
  );
  await runTask(place, 's-4k2mb3a4ot', 'Make a cart.');
  await runTask(place, 's-4k2mb3a4ot', 'Now format it.');
  const type = shellOf(place);
  const entries = jsonLines((await place.run('show', 's-4k2mb3a4ot', '--json')).out);
  const at = entries.findLast(({ kind }) => kind === 'user')?.['position'];
  const [fork = '', show = ''] = forked;
  const made = await type(fork, { 's-1': 's-4k2mb3a4ot', '--at 13': `--at ${String(at)}` });
  expect(made).toMatchObject({ status: 0, out: expect.stringMatching(/^s-\w{10}\n$/) });
  const shown = await type(show, { 's-vi8rctgrd7': made.out.trim() });
  expect(shown).toMatchObject({ status: 0, out: expect.stringContaining('forked from s-4k2mb3a4ot at entry') });
  const [dry = '', really = ''] = rewind;
  const plan = 'the conversation goes back before the prompt "Now format it.": 2 turns left behind';
  expect(await type(dry)).toMatchObject({ status: 0, out: expect.stringContaining(plan) });
  const back = await type(really);
  expect(back).toMatchObject({ status: 0 });
  expect(back.out + back.err).toContain('went back: the conversation and 1 file');
});

test('the commands of docs/store-care.md clean a store up and move a session to another (W4)', async () => {
  const [[gc = '', ...others] = [], [taken = '', given = '', ...rest] = [], ...more] = linesOf(
    shellBlocks('docs/store-care.md'),
    'console',
  );
  expect([others, rest, more]).toEqual([[], [], []]);
  const place = cliPlace(await modelFor([reply('Done.')]));
  expect(await place.run('run', '--session', 's-4k2mb3a4ot', 'Count.')).toMatchObject({ status: 0 });
  const type = shellOf(place);
  expect(await type(gc)).toMatchObject({ status: 0, out: expect.stringContaining('what 1 session ') });
  const file = join(place.cwd, 's-4k2mb3a4ot.perdure');
  expect(await type(taken)).toMatchObject({ status: 0, out: `${file}\n` });
  const there = cliPlace(null);
  const elsewhere = {
    'PERDURE_STORE=s3://other/agents': `PERDURE_DATA='${there.data}'`,
    'TEMPORAL_ADDRESS=…': '',
    '~/checkout': there.cwd,
  };
  expect(await type(given, elsewhere)).toMatchObject({ status: 0, out: 's-4k2mb3a4ot\n' });
});
