// Commands in the background as people are shown them (L84): what the transcript tells, and the
// files of the machine that has them.
import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openBackgroundFolder, backgroundRoot, type BackgroundRecord } from '../../system/process/background-files.ts';
import { processIdentity } from '../../system/process/identity.ts';
import { describeStarted } from '../../tools/builtin/shell/background-words.ts';
import type { Entry } from '../../store/log/entries.ts';
import { createPaint } from '../../client/paint.ts';
import { backgroundText } from '../../cli/render/transcript.ts';
import {
  backgroundCommands,
  backgroundReader,
  findBackgroundCommands,
} from '../../client/sessions/history/background.ts';
import { transcriptItems } from '../../client/sessions/history/items.ts';
import { lookAtBackground, type State } from '../../page/feed/standing.tsx';
import { stagedPage, stagedPorts } from '../support/page-ports.ts';
import { tempDir } from '../support/temp-dir.ts';
import { callBlock, notice, outcome, outcomes, reply, runStarted, user } from '../support/transcript.ts';

const [dev, build] = ['bg-00000001', 'bg-00000002'];
const log = (name: string) => ({ log: { key: null, name, decision: 'allowed', duration: 1, outcome: 'ok' } }) as const;
const start = (id: string, command: string): Entry[] => [
  reply([callBlock(id, { command, background: true }, 'bash')]),
  outcomes(outcome(0, describeStarted(id), log('bash'))),
];
const entries: readonly Entry[] = [
  runStarted(1),
  user('Serve.'),
  ...start(dev, 'npm run dev (all)'),
  runStarted(2),
  user('Build.'),
  ...start(build, 'make'),
  reply([callBlock('c', { command: 'echo', background: false }, 'bash')]),
  outcomes(outcome(0, describeStarted('bg-0000000f'), log('bash'))),
];
const nowhere = backgroundReader('/nowhere', 's-1');

function commandsOf(all: readonly Entry[], files: Parameters<typeof backgroundCommands>[1] = nowhere, closed = false) {
  const items = transcriptItems();
  items.add(all);
  return backgroundCommands(findBackgroundCommands(items.all), files, closed);
}

function keptHere() {
  const root = backgroundRoot(tempDir());
  mkdirSync(root);
  const files = openBackgroundFolder(root, 's-1');
  const record: BackgroundRecord = {
    id: dev,
    command: 'npm run dev (all)',
    mark: 'm',
    leader: { pid: 1, start: 'x' } as never,
    owner: processIdentity(),
    startedAt: 60_000,
  };
  const output = files.openOutput(dev);
  output.add(Buffer.from('one\ntwo\u001b[2J\n'));
  output.close();
  return { files, record, reader: backgroundReader(root, 's-1') };
}

test('each is told with its run, and on its machine since when it runs and what it wrote last (L84)', async () => {
  const { files, record, reader } = keptHere();
  files.write(record);
  const known = { id: dev, command: 'npm run dev (all)', run: 1, startedAt: 60_000 };
  expect(await commandsOf(entries, reader)).toEqual([
    { ...known, endedAt: null, running: true, state: 'is running', last: 'one\ntwo' },
    expect.objectContaining({
      id: build,
      run: 2,
      startedAt: null,
      running: false,
      state: 'is not known on this machine',
    }),
  ]);
  files.write({ ...record, endedAt: 90_000, end: { kind: 'exit', code: 4, signal: null } });
  expect((await commandsOf(entries, reader))[0]).toMatchObject({
    running: false,
    state: 'has ended with exit status 4',
    endedAt: 90_000,
  });
});

test.each([
  [
    'its end as it was told',
    notice({
      kind: 'attachment',
      source: `command ${dev} in the background`,
      text: `${dev} (npm run dev (all)) has ended with exit status 4. The end of its output:\nx`,
    }),
    'has ended with exit status 4',
  ],
  [
    'bash_stop',
    outcomes(outcome(0, `${dev} (npm run dev (all)) was ended by bash_stop.`, log('bash_stop'))),
    'was ended by bash_stop',
  ],
  [
    'bash_output, which saw it run',
    outcomes(outcome(0, `${dev} (npm run dev (all)) is running, for 3 s.\nx`, log('bash_output'))),
    'is not known on this machine',
  ],
] as const)('elsewhere it stands as the transcript says by %s (L84)', async (_by, last, state) => {
  const [first] = await commandsOf([...entries, reply([callBlock('d', {}, 'bash_stop')]), last]);
  expect(first).toMatchObject({ id: dev, state });
});

test('one of a closed session has ended with it, where nothing says otherwise (L84)', async () => {
  expect((await commandsOf(entries, nowhere, true))[0]).toMatchObject({
    state: 'ended with its session, if not before',
  });
});

test('show prints them below the transcript, the last lines made harmless; the page has them with links (L84 O5)', async () => {
  const { files, record, reader } = keptHere();
  files.write(record);
  const text = backgroundText(createPaint(false), await commandsOf(entries, reader));
  expect(text.split('\n').slice(0, 5)).toEqual([
    '',
    'In the background',
    `  ${dev} is running: npm run dev (all) (run 1, since 1970-01-01 00:01:00 UTC)`,
    '    │ one',
    '    │ two',
  ]);
  expect(backgroundText(createPaint(false), [])).toBe('');
  const page = await (await stagedPage({ entries, ports: { background: () => reader } })).text('/sessions/s-1');
  for (const part of ['aria-label="Commands in the background"', 'href="#run-1"', 'is running', 'one\ntwo'])
    expect(page).toContain(part);
  expect(await (await stagedPage()).text('/sessions/s-1')).not.toContain('in the background');
});

test('the end of what one wrote comes from two files where it has gone over into the next (L84)', async () => {
  const root = backgroundRoot(tempDir());
  mkdirSync(root);
  const output = openBackgroundFolder(root, 's-1').openOutput(dev);
  output.add(Buffer.alloc(1024 * 1024, 'x'));
  output.add(Buffer.from('end'));
  output.close();
  const reader = backgroundReader(root, 's-1');
  expect((await reader.lastOf(dev, 6)).toString()).toBe('xxxend');
  expect(await reader.lastOf(build, 6)).toHaveLength(0);
});

test('the page reads files only while a command runs, and of those alone (L84)', async () => {
  const { files, record, reader } = keptHere();
  files.write(record);
  const read: string[] = [];
  const counting = { ...reader, read: (id: string) => (read.push(id), reader.read(id)) };
  const { ports } = await stagedPorts({ entries, ports: { background: () => counting } });
  const items = transcriptItems();
  items.add(entries);
  const state = {
    ports,
    items,
    session: 's-1',
    seen: { status: 'open' },
    started: { items: 0, closed: false, commands: [] },
    background: [],
  } as unknown as State;
  await lookAtBackground(state);
  await lookAtBackground(state);
  expect(read).toEqual([dev, build, dev, build]);
  files.write({ ...record, endedAt: 90_000, end: { kind: 'exit', code: 4, signal: null } });
  await lookAtBackground(state);
  await lookAtBackground(state);
  expect(read).toHaveLength(6);
  expect(state.background[0]).toMatchObject({ state: 'has ended with exit status 4' });
  items.add([user('More.')]);
  await lookAtBackground(state);
  expect(read.slice(6)).toEqual([build]);
});
