// Workers that are killed while a session goes back to an earlier point: the next one ends it.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { stopRestoreWhen } from '../support/still-restore.ts';

const bash = (command: string) => toolUse('bash', { command });

/** Files that take long enough to be written that a worker can be killed meanwhile. */
const BYTES = 4_000_000;
const LARGE = `for n in 11 12 13 14 15 16 17 18 19; do head -c ${BYTES} /dev/urandom > large$n; done`;

test('a rewind whose workers are killed in the middle of the files is ended by the next one, once (T7 T9)', async () => {
  const h = await crashHarness({
    script: [
      reply([bash(`echo one > a; mkdir -p b/deep empty; echo two > b/deep/two; ${LARGE}`)]),
      reply('First.'),
      reply([
        bash(
          'echo more >> a; rm -r b; echo file > b; rmdir empty; echo new > c; for n in large*; do echo x >> $n; done',
        ),
      ]),
      reply('Second.'),
      reply('Instead.'),
    ],
    config: { snapshots: true },
  });
  const has = (name: string): boolean => existsSync(join(h.cwd, name));
  const look = () => {
    const script = 'find . -printf "%y %P\\n" | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum';
    return spawnSync('bash', ['-ec', script], { cwd: h.cwd, encoding: 'utf8' }).stdout;
  };
  const first = await h.worker();
  const session = await h.open('Go.');
  await session.ended(1);
  const target = look();
  await session.send('Second prompt.');
  await session.ended(2);
  const start = look();
  const client = createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    visibility: async () => false,
    taskQueue: h.taskQueue,
  });

  const isBack = (name: string): boolean => statSync(join(h.cwd, name)).size === BYTES;
  const rewinding = client.rewind(session.id);
  await stopRestoreWhen(h.cwd, () => isBack('large11'));
  await first.kill();
  // What is deleted goes last.
  expect([readFileSync(join(h.cwd, 'a'), 'utf8'), has('b/deep/two'), has('c')]).toEqual(['one\n', true, true]);

  const second = await h.worker();
  await stopRestoreWhen(h.cwd, () => isBack('large15'));
  await second.kill();
  expect([has('c'), has('empty')]).toEqual([true, false]);

  const third = await h.worker();
  expect((await rewinding).rewound?.files).toMatchObject([{ root: h.cwd, files: 13 }]);
  expect(look()).toBe(target);
  const steered = (await session.entries()).filter(({ kind }) => kind === 'steered');
  expect(steered).toMatchObject([{ steered: { action: 'rewind' } }]);
  await session.send('Another.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  const sent = JSON.stringify(h.bodies().at(-1)?.messages);
  expect(sent).toContain('First.');
  expect(sent).not.toContain('Second');
  await client.undoRewind(session.id);
  expect(look()).toBe(start);
  await replays(h.client, session);
  await third.drain();
});
