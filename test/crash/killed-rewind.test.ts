// Workers that are killed while a session goes back to an earlier point: the next one ends it.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { placeOfRoot } from '../../store/snapshots/shadow.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { clientOf } from '../support/client-of.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { dieAt, holdRestore } from '../support/dying-restore.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => toolUse('bash', { command });

test('a rewind whose worker is killed in the middle of the files is ended by the next one, once (T7 T9)', async () => {
  const h = await crashHarness({
    script: [
      reply([bash('echo one > a; mkdir -p b/deep empty; echo two > b/deep/two')]),
      reply('First.'),
      reply([bash('echo more >> a; rm -r b; echo file > b; rmdir empty; echo new > c')]),
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
  const { own } = placeOfRoot(h.dataDir, session.id, h.cwd);
  const client = clientOf(h);

  const goOn = holdRestore(own);
  const rewinding = client.rewind(session.id);
  await until(() => existsSync(join(own, 'restore.json')));
  await first.kill();
  expect(look()).toBe(start);
  goOn();
  // It dies where all is written, and nothing but what stood where a folder is to be has gone.
  dieAt(join(own, 'restore.json'), 'delete', 2);
  expect([readFileSync(join(h.cwd, 'a'), 'utf8'), has('b/deep/two'), has('c')]).toEqual(['one\n', true, true]);
  expect(has('empty')).toBe(false);

  const second = await h.worker();
  expect((await rewinding).rewound?.files).toMatchObject([{ root: h.cwd, files: 4 }]);
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
  await second.drain();
});
