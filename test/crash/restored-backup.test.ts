// A backup that is taken by the commands of docs/store-care.md while sessions work, and restored
// into a new folder after everything else has been killed and wiped. Only the workspace stays: it is
// the world outside, where effects are counted.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type ParsedRequest, type Reply, reply, toolUse } from '../../scripted-model/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { promptOf } from '../support/by-prompt.ts';
import { cliPlace, jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { shellBlocks } from '../support/documents.ts';
import { ofRun, seeProcesses } from '../support/left-over.mjs';
import { until } from '../support/until.ts';

type Place = ReturnType<typeof cliPlace>;

const [backUp = '', restore = '', ...others] = shellBlocks('docs/store-care.md')
  .filter(({ language }) => language === 'sh')
  .map(({ code }) => code);

const BUSY = ['busy-0', 'busy-1', 'busy-2', 'busy-3'];
const effectOf = (name: string, n: number): string => `echo ${name}-${n} >> effects.log`;

/** Types a block of the page, with the folders of the test in the place of those that it names. */
async function type(block: string, { data, backup }: { readonly data: string; readonly backup: string }) {
  const script = block.replaceAll('~/.local/share/perdure', data).replaceAll('/backups/perdure', backup);
  return promisify(execFile)('sh', ['-c', script], { env: { PATH: process.env.PATH } });
}

/** Kills each process of the place, and resolves when none is left. */
async function killAll({ root }: Place): Promise<void> {
  const left = () => ofRun(root, seeProcesses(), process.pid);
  await until(() => {
    for (const { pid } of left()) process.kill(pid, 'SIGKILL');
    return left().length === 0;
  });
}

/** Whole lines that effects left in the workspace. */
function effectsOf({ cwd }: Place): readonly string[] {
  const path = join(cwd, 'effects.log');
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
}

const timesOf = (lines: readonly string[], line: string): number => lines.filter((each) => each === line).length;

/** The effects whose calls are claimed in a store, in the words of the log. */
async function claimedIn(dir: string, named: readonly string[]): Promise<readonly string[]> {
  const store = fileStore({ dir });
  const names = readdirSync(join(dir, 'keys/calls'), { recursive: true }).map(String);
  const claims = names.filter((name) => name.endsWith('.claim'));
  const records = await Promise.all(claims.map((name) => store.read(`calls/${name}`)));
  const hashes = new Set(
    records.map((bytes) => (JSON.parse(Buffer.from(bytes ?? []).toString()) as { inputHash: string }).inputHash),
  );
  const hashOf = (line: string): string =>
    createHash('sha256')
      .update(JSON.stringify({ command: `echo ${line} >> effects.log` }))
      .digest('hex');
  return named.filter((line) => hashes.has(hashOf(line)));
}

const listed = async ({ run }: Place, ...filter: readonly string[]) =>
  jsonLines((await run('list', '--json', ...filter)).out);

/** Resolves when this many runs of the session have ended, with how the last one did. */
const ended = (place: Place, session: string, runs = 1) =>
  until(async () => {
    const row = (await listed(place)).find((each) => each['session'] === session);
    const last = row?.['last'] as { readonly run: number; readonly terminal: object } | null | undefined;
    return row?.['phase'] === 'idle' && (last?.run ?? 0) >= runs ? last : null;
  });

function start(place: Place, session: string, mode = 'bypass') {
  const options = ['--session', session, '--tag', `as=${session}`, '--cwd', place.cwd, '--permission-mode', mode];
  return place.run('start', ...options, `Work as ${session}.`);
}

/** Wipes the data folder, and goes on with what was restored in another. */
async function restoreElsewhere(place: Place, backup: string): Promise<string> {
  await killAll(place);
  rmSync(place.data, { recursive: true });
  const data = join(place.root, 'restored');
  await type(restore, { data, backup });
  place.env['PERDURE_DATA'] = data;
  return data;
}

test('sessions that work during a backup go on from it: no prompt is lost, no effect it knows is repeated (L40 L61)', async () => {
  expect(others).toEqual([]);
  let isOver = false;
  const script = (request: ParsedRequest): Reply => {
    const name = /Work as ([\w-]+)\./.exec(promptOf(request))?.[1] ?? '';
    const results = request.messages.flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.filter((block) => block.type === 'tool_result'),
    ).length;
    if (name === 'rested' || isOver || name === '' || (name === 'asks' && results > 0)) return reply('Done.');
    return reply([toolUse('bash', { command: effectOf(name, results + 1) })], { delayMs: 200 });
  };
  const place = cliPlace(await modelFor(script));
  onTestFinished(() => killAll(place));
  await readyWorker(place);
  for (const session of ['rested', ...BUSY]) expect(await start(place, session)).toMatchObject({ status: 0 });
  expect(await start(place, 'asks', 'default')).toMatchObject({ status: 0 });
  await ended(place, 'rested');
  const waiting = async () => jsonLines((await place.run('approvals', '--json')).out)[0];
  await until(waiting);
  await until(() => BUSY.every((name) => timesOf(effectsOf(place), `${name}-2`) > 0));
  expect(await place.run('send', 'busy-0', 'Remember the milk.')).toMatchObject({ status: 0 });

  const before = effectsOf(place);
  const backup = join(place.root, 'backup');
  await type(backUp, { data: place.data, backup });
  const during = effectsOf(place);
  expect(await place.run('send', 'busy-1', 'This comes too late.')).toMatchObject({ status: 0 });
  await until(() => BUSY.every((name) => timesOf(effectsOf(place), `${name}-${nextOf(during, name) + 1}`) > 0));

  const data = await restoreElsewhere(place, backup);
  const after = effectsOf(place);
  const claimed = await claimedIn(join(data, 'store'), after);
  await readyWorker(place);
  // The model is asked again for what it said after the backup, and its calls run again.
  await until(() => BUSY.every((name) => effectsOf(place).length > after.length && hasTwice(effectsOf(place), name)));
  isOver = true;
  const { session = '', call = '' } = (await until(waiting)) as Record<string, string>;
  expect(session).toBe('asks');
  expect(await place.run('approve', session, call)).toMatchObject({ status: 0 });
  for (const each of [...BUSY, 'asks', 'rested'])
    expect(await ended(place, each)).toMatchObject({ terminal: { reason: 'completed' } });

  const effects = effectsOf(place);
  expect(claimed).toEqual(expect.arrayContaining([...before]));
  expect(claimed.filter((line) => timesOf(effects, line) !== 1)).toEqual([]);
  expect(timesOf(effects, 'asks-1')).toBe(1);
  const transcript = async (id: string) => (await place.run('show', id, '--json')).out;
  expect((await transcript('busy-0')).match(/"Remember the milk\."/g)).toHaveLength(1);
  expect(await transcript('busy-1')).not.toContain('This comes too late.');
  await findsNothingMissing(place, [...BUSY, 'asks', 'rested']);
  expect((await listed(place, 'tag:as=busy-2')).map(({ session: id }) => id)).toEqual(['busy-2']);
  expect(await place.run('run', '--session', 'busy-1', 'Go on.')).toMatchObject({ status: 0 });
});

/** The number of the first effect of a session that is not among these. */
function nextOf(lines: readonly string[], name: string): number {
  let n = 1;
  while (lines.includes(`${name}-${n}`)) n += 1;
  return n;
}

const hasTwice = (lines: readonly string[], name: string): boolean =>
  lines.some((line) => line.startsWith(`${name}-`) && timesOf(lines, line) > 1);

/** A cleaning reads all that the sessions reach before it names what would go. */
async function findsNothingMissing(place: Place, sessions: readonly string[]): Promise<void> {
  const doctor = await place.run('doctor');
  expect(doctor).toMatchObject({ status: 0, out: expect.stringContaining(join(place.root, 'restored')) as string });
  for (const session of sessions)
    expect(await place.run('repair', session)).toMatchObject({
      status: 0,
      err: expect.stringContaining('needs no repair') as string,
    });
  expect(await place.run('gc', '--dry-run')).toMatchObject({
    status: 0,
    out: expect.stringContaining(`what ${sessions.length} sessions reach stays`) as string,
  });
}

test('a store saved before the database: `repair` says what is lost, and the session goes on without it (L20)', async () => {
  const place = cliPlace(await modelFor(() => reply('Noted.')));
  onTestFinished(() => killAll(place));
  await readyWorker(place);
  expect(await place.run('run', '--session', 'early', 'The first.')).toMatchObject({ status: 0 });
  const early = join(place.root, 'early-store');
  cpSync(join(place.data, 'store'), early, { recursive: true });
  expect(await place.run('run', '--session', 'early', 'The second.')).toMatchObject({ status: 0 });
  const backup = join(place.root, 'backup');
  await type(backUp, { data: place.data, backup });
  rmSync(join(backup, 'store'), { recursive: true });
  cpSync(early, join(backup, 'store'), { recursive: true });
  await restoreElsewhere(place, backup);
  await readyWorker(place);
  const damage = await place.run('repair', 'early');
  expect(damage).toMatchObject({ status: 1, err: expect.stringContaining('1 message') as string });
  expect(await place.run('repair', 'early', '--apply')).toMatchObject({ status: 0 });
  expect(await place.run('run', '--session', 'early', 'The second, again.')).toMatchObject({ status: 0 });
  const shown = (await place.run('show', 'early')).out;
  for (const words of ['The first.', 'The second, again.']) expect(shown).toContain(words);
});
