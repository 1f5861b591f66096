// Files of a workspace that are captured beside the loop, on a real server (T1 T5).
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { filesText } from '../../store/snapshots/files-entry.ts';
import { createClient } from '../../client/client.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => toolUse('bash', { command });

test('what each step has changed stands in the transcript, also what bash did, over handovers (T1 T5)', async () => {
  const h = await harness({
    script: [
      reply([toolUse('write', { path: 'one', content: 'a\nb\n' })]),
      reply([bash('printf "c\\n" >> one; echo x > two')]),
      reply([bash('ls')]),
      reply('Done.'),
      reply([bash('rm two')]),
      reply('Gone.'),
    ],
    worker: { config: { snapshots: true } },
    handover: { ...defaultHandover, iterations: 1 },
  });
  writeFileSync(join(h.cwd, 'mine'), 'by hand\n');
  const session = await h.open('Go.');
  await session.ended(1);
  await session.send('Again.');
  await session.ended(2);
  const entries = await session.entries();
  const files = entries.flatMap((entry) => (entry.kind === 'files' ? [entry] : []));
  expect(files.map(filesText)).toEqual([
    null,
    '1 file changed (+2 −0)',
    '2 files changed (+2 −0)',
    '1 file changed (+0 −1)',
  ]);
  expect(files.map(({ roots }) => roots[0]?.names)).toEqual([[], ['one'], ['one', 'two'], ['two']]);
  expect(files.map(({ roots }) => roots[0]?.parent)).toEqual([
    null,
    ...files.slice(0, -1).map(({ roots }) => roots[0]?.id),
  ]);
  expect(JSON.stringify(h.bodies())).not.toContain('files changed');
});

test('a session goes back with conversation and files, tells what stays done, and undoes that (T6 T7 T8)', async () => {
  const h = await harness({
    script: [
      reply([toolUse('write', { path: 'one', content: 'a\n' })]),
      reply('First.'),
      reply([bash('echo b >> one; echo x > two; echo pushed > ../pushed')]),
      reply([toolUse('edit', { path: 'one', old_string: 'b', new_string: 'c' })]),
      reply('Second.'),
      reply('Instead.'),
      reply('Once more.'),
    ],
    worker: { config: { snapshots: true } },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  await session.send('Second prompt.');
  await session.ended(2);
  const client = createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    visibility: async () => false,
  });
  const file = (name: string): string | null => {
    const path = join(h.cwd, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  };
  expect(await client.rewind(session.id, { dryRun: true })).toMatchObject({
    prompt: 'Second prompt.',
    turns: 3,
    rewound: null,
  });
  expect(file('two')).toBe('x\n');
  const done = await client.rewind(session.id);
  expect(done.effects.map(({ name }) => name)).toEqual(['bash']);
  expect(done.rewound?.files).toMatchObject([{ root: h.cwd, files: 2 }]);
  expect([file('one'), file('two')]).toEqual(['a\n', null]);
  await session.send('Another.');
  await session.ended(3);
  const sent = JSON.stringify(h.bodies().at(-1)?.messages);
  expect(sent).toContain('First.');
  expect(sent).not.toContain('Second');
  const entries = await session.entries();
  expect(entries.filter(({ kind }) => kind === 'steered')).toMatchObject([{ steered: { action: 'rewind' } }]);
  await client.undoRewind(session.id);
  expect([file('one'), file('two')]).toEqual(['a\nc\n', 'x\n']);
  await session.send('And on.');
  await session.ended(4);
  expect(JSON.stringify(h.bodies().at(-1)?.messages)).toContain('Second prompt.');
  expect(JSON.stringify(h.bodies().at(-1)?.messages)).not.toContain('Instead.');
  await keepHistory('a session that went back, undid that and went on', session.handle);
});

test('a session that runs, and files that someone else has changed, refuse a rewind with a sentence (T7 T9)', async () => {
  const h = await harness({
    script: [reply([toolUse('write', { path: 'one', content: 'a\n' })]), reply('Done.'), reply([bash('sleep 600')])],
    worker: { config: { snapshots: true } },
  });
  writeFileSync(join(h.cwd, 'mine'), 'by hand\n');
  const session = await h.open('Go.');
  await session.ended(1);
  const client = createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    visibility: async () => false,
  });
  writeFileSync(join(h.cwd, 'one'), 'mine\n');
  const { position } = await client.rewind(session.id, { to: '1.2', dryRun: true });
  await expect(client.rewind(session.id, { to: position })).rejects.toThrow('one was changed by someone else');
  expect(readFileSync(join(h.cwd, 'one'), 'utf8')).toBe('mine\n');
  await client.rewind(session.id, { to: position, force: true, conversation: false });
  expect(existsSync(join(h.cwd, 'one'))).toBe(false);
  expect(readFileSync(join(h.cwd, 'mine'), 'utf8')).toBe('by hand\n');
  await session.send('Wait.');
  await until(async () => ((await session.memo())?.phase === 'running' ? true : null));
  await expect(client.rewind(session.id)).rejects.toThrow('The session is running');
});
