// Notes of a workspace on a real server: made after a run, told in the next session, and paid
// (L80).
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { addNote, notesFolder } from '../../activities/memory/notes.ts';
import { gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { spentIn, tokensOf } from '../support/agents.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const isSmall = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');
const isPick = (request: ParsedRequest): boolean =>
  isSmall(request) && JSON.stringify(request.system).includes('choose notes');
const usage = (input_tokens: number) => ({ usage: { input_tokens, output_tokens: 0 } });
const look = reply([toolUse('bash', { command: 'true' })]);

const folderOf = (h: { readonly cwd: string; readonly storePlace: string }): string =>
  notesFolder(join(dirname(h.storePlace), 'data'), h.cwd);

test('a run makes a note, and a later session is told of it, over handovers; both are paid (L4 L43 L56 L80)', async () => {
  const picked = gate();
  let [calls, extracted] = [0, 0];
  const script = async (request: ParsedRequest): Promise<Reply> => {
    if (isPick(request)) {
      picked.release();
      return reply(`${readdirSync(folderOf(h))[0]}\nother.md`, usage(3_000));
    }
    if (isSmall(request))
      return (extracted += 1) === 1 ? reply('# Tests\n- Run them with `make t`.', usage(5_000)) : reply('NONE');
    calls += 1;
    if (calls === 1) return reply('Done.');
    // The pick is not waited for: the third call ends when it has come, and notes are told before
    // one of the next.
    if (calls === 3) await picked.hold;
    return JSON.stringify(request.messages).includes('From notes of this workspace:') ? reply('Done.') : look;
  };
  const h = await harness({ script, handover: { events: 10_000, signals: 10_000, iterations: 1 } });
  const first = await h.open('Tests run with make t.', { memory: true });
  expect(await first.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const ofRun = tokensOf(spentIn(await first.entries()));
  await until(async () => (await first.memo())?.facts?.tokens === ofRun + 5_000);
  const [name = '', ...others] = readdirSync(folderOf(h));
  expect([others, readFileSync(join(folderOf(h), name), 'utf8')]).toEqual([[], '# Tests\n- Run them with `make t`.\n']);

  const second = await h.open('Test it.', { memory: true });
  expect(await second.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const bodies = h.bodies().filter((body) => !isSmall(body));
  expect(JSON.stringify(bodies[1])).not.toContain('make t');
  const last = JSON.stringify(bodies.at(-1)?.messages);
  expect(last.match(/From notes of this workspace:/g)).toHaveLength(1);
  expect(last).toContain('Run them with `make t`.');
  expect(h.bodies().filter(isPick)).toHaveLength(1);
  const replies = (await second.entries()).flatMap((entry) => (entry.kind === 'reply' ? [tokensOf(entry.spend)] : []));
  expect(tokensOf(spentIn(await second.entries()))).toBe(replies.reduce((a, b) => a + b, 3_000));
});

test('a session that is cancelled closes when the note of its run is made and paid (L49 L56 L80)', async () => {
  const held = gate();
  const script = (request: ParsedRequest): Reply =>
    isSmall(request) ? { ...reply('# Kept', usage(5_000)), hold: held.hold, holdAfterEvent: 2 } : reply('Done.');
  const h = await harness({ script });
  const session = await h.open('Go.', { memory: true });
  await session.ended(1);
  await until(() => h.bodies().some(isSmall));
  await session.handle.cancel();
  held.release();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  const ofRun = tokensOf(spentIn(await session.entries()));
  expect((await session.memo())?.facts?.tokens).toBe(ofRun + 5_000);
  expect(readdirSync(folderOf(h))).toHaveLength(1);
  await keepHistory('a session whose note was made (L80)', session.handle);
});

test('notes are merged beside the next run, and what a conversation was sent stays as it was (L56 L58 L80)', async () => {
  const [asked, held] = [gate(), gate()];
  const made = ['s-1-1-aaaaaa.md', 's-2-1-bbbbbb.md'];
  let calls = 0;
  const script = async (request: ParsedRequest): Promise<Reply> => {
    if (isPick(request)) return reply(made.join('\n'), usage(0));
    if (JSON.stringify(request.system).includes('made in earlier sessions, each')) {
      asked.release();
      await held.hold;
      return reply(`=== from ${made.join(', ')} ===\n# Merged\n- First and second.`, usage(5_000));
    }
    if (isSmall(request)) return reply('NONE', usage(0));
    calls += 1;
    const isTold = JSON.stringify(request.messages).includes('From notes of this workspace:');
    return calls > 1 && isTold ? reply('Done.') : look;
  };
  const h = await harness({ script, worker: { config: { consolidateMemoryAfter: 2 } } });
  for (const name of made) await addNote(folderOf(h), name, `# ${name}`);
  const session = await h.open('Go.', { memory: true });
  await session.ended(1);
  await asked.hold;
  await session.send('Again.');
  // It ends while the merge of the first still runs.
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  held.release();
  await until(() => readdirSync(folderOf(h)).some((name) => name.startsWith('merged-')));
  await session.send('And again.');
  await session.ended(3);
  const sent = h.bodies().filter((body) => !isSmall(body));
  const plain = (body: ParsedRequest | undefined): readonly string[] =>
    (body?.messages ?? []).map((message) => JSON.stringify(message).replaceAll(/,"cache_control":\{[^}]*\}/g, ''));
  const before = plain(sent.findLast(({ messages }) => !JSON.stringify(messages).includes('Again.')));
  expect(before.join('')).toContain('=== s-1-1-aaaaaa.md ===');
  expect(plain(sent.at(-1)).slice(0, before.length)).toEqual(before);
  const ofRuns = tokensOf(spentIn(await session.entries()));
  await until(async () => (await session.memo())?.facts?.tokens === ofRuns + 5_000);
});

test('without being asked for, notes are neither told nor made (L80)', async () => {
  const h = await harness({ script: [look, reply('Done.')] });
  mkdirSync(folderOf(h), { recursive: true });
  writeFileSync(join(folderOf(h), 'a.md'), 'Told to nobody.');
  const session = await h.open('Go.');
  await session.ended(1);
  await session.handle.cancel();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  expect([h.bodies().length, h.bodies().some(isSmall), readdirSync(folderOf(h))]).toEqual([2, false, ['a.md']]);
  expect(JSON.stringify(h.bodies())).not.toContain('Told to nobody');
});
