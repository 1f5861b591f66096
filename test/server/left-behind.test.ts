// What rewinds have left behind stays readable, on a real server (T6).
import { expect, test } from 'vitest';
import { transcriptText } from '../../cli/render/transcript.ts';
import { createClient } from '../../client/client.ts';
import { createPaint } from '../../client/paint.ts';
import { fullTranscript } from '../../client/render/full-transcript.ts';
import { sessionJson } from '../../client/sessions/dump.ts';
import { readLeftBehind } from '../../client/sessions/history/left-behind.ts';
import { readSession } from '../../client/sessions/read.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { Entry } from '../../store/log/entries.ts';
import { StoreError, type Store } from '../../store/values/store.ts';
import { harness } from '../support/harness.ts';

const words = (entries: readonly Entry[]): string =>
  entries
    .flatMap((entry) => {
      if (entry.kind === 'user' && entry.body.kind === 'text') return [entry.body.text];
      if (entry.kind !== 'reply') return [];
      return entry.message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    })
    .join(' ');

async function leaveBehind() {
  const h = await harness({
    script: [
      reply('First.'),
      reply([toolUse('bash', { command: 'echo effect' })]),
      reply('Second.'),
      reply('Third.'),
      reply('Fourth.'),
    ],
  });
  const store = fileStore({ dir: h.storePlace });
  const sessions = createClient({
    temporal: h.client,
    store,
    live: async function* () {},
    visibility: async () => false,
  });
  const session = await h.open('One.');
  await session.ended(1);
  const say = async (text: string, run: number) => {
    await session.send(text);
    await session.ended(run);
  };
  await say('Two.', 2);
  await sessions.rewind(session.id, { files: false });
  await say('Three.', 3);
  await sessions.undoRewind(session.id);
  await say('Four.', 4);
  const ports = { temporal: { client: h.client }, store, sessions };
  const read = async () => ({
    reading: await readSession(ports, session.id),
    left: await readLeftBehind(ports, session.id),
  });
  return { read, sessions, session, ports };
}

test('what rewinds have left behind is shown before each of them, once, also what an undo has left (T6)', async () => {
  const { read, sessions, session } = await leaveBehind();
  const undone = await read();
  expect(words(undone.reading.entries)).toBe('One. First. Two. Second. Four. Fourth.');
  const [[position, stretches] = [0, []], ...others] = [...undone.left];
  expect(others).toEqual([]);
  expect(undone.reading.entries[position]).toMatchObject({ kind: 'steered', steered: { action: 'rewind' } });
  expect(stretches.map(({ entries }) => words(entries))).toEqual(['Three. Third.']);

  const second = undone.reading.entries.findIndex((entry) => entry.kind === 'user' && words([entry]) === 'Two.');
  await sessions.rewind(session.id, { to: second, files: false });
  const { reading, left } = await read();
  expect(words(reading.entries)).toBe('One. First.');
  const all = [...left.values()].flat();
  expect(all.map(({ entries }) => words(entries))).toEqual(['Three. Third.', 'Two. Second. Four. Fourth.']);

  const text = transcriptText(createPaint(false), reading, { left });
  expect(text).toMatch(
    /First\.[^]*┌─ left behind: entries \d+ to \d+\n[^]*Third\.[^]*└─\n[^]*┌─[^]*Two\.[^]*echo effect[^]*Fourth\.[^]*└─\n\n• went back/,
  );
  expect(transcriptText(createPaint(false), reading)).not.toContain('Fourth.');
  const whole = () => Promise.resolve('');
  let full = '';
  for await (const piece of fullTranscript({ paint: createPaint(false), reading, whole, exact: (each) => each, left }))
    full += piece;
  expect(full).toMatch(/left behind: \d+ entries\n[^]*Third\.[^]*the conversation goes on[^]*went back/);
  const lines: Record<string, unknown>[] = [];
  for await (const line of sessionJson(reading, null, left)) lines.push({ ...line });
  const behind = lines.filter(({ leftBehind }) => leftBehind !== undefined);
  expect(new Set(behind.map(({ leftBehind }) => leftBehind))).toEqual(new Set(left.keys()));
  expect(behind).toHaveLength(all.reduce((sum, { entries }) => sum + entries.length, 0));
});

test('what was left behind and is damaged is told in a sentence, and the rest is shown (T6)', async () => {
  const { read, ports, session } = await leaveBehind();
  const { reading } = await read();
  const rewind = reading.entries.find((entry) => entry.kind === 'steered');
  const gone = rewind?.kind === 'steered' ? rewind.steered.rewound?.from : undefined;
  const store: Store = {
    ...ports.store,
    get: async (hash) => {
      if (hash === gone) throw new StoreError('missing', `stored value ${hash} is missing`);
      return ports.store.get(hash);
    },
  };
  const left = await readLeftBehind({ ...ports, store }, session.id);
  const text = transcriptText(createPaint(false), reading, { left });
  expect(text).toMatch(/! what was left behind cannot be read: [^\n]* is missing\n• went back/);
  expect(text).toContain('Fourth.');
  const lines = [];
  for await (const line of sessionJson(reading, null, left)) lines.push(line);
  expect(lines).toContainEqual({
    kind: 'problem',
    position: expect.any(Number),
    problem: expect.stringContaining('missing'),
  });
});
