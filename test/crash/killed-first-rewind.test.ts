// Workers that are killed while a session goes back to before its first prompt: the next one ends
// it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { placeOfRoot } from '../../store/snapshots/shadow.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { clientOf } from '../support/client-of.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';

test('a rewind of the only prompt whose workers are killed is ended by the next one, once, and undone whole (T7 T9)', async () => {
  const change = 'for n in $(seq 200); do echo $n > new-$n; echo more >> old-$n; done; rm -r gone';
  const h = await crashHarness({
    script: [reply([toolUse('bash', { command: change })]), reply('First.'), reply('Anew.')],
    config: { snapshots: true },
  });
  const sh = (script: string): string =>
    spawnSync('bash', ['-ec', script], { cwd: h.cwd, encoding: 'utf8', timeout: 60_000 }).stdout;
  const look = () => sh('find . -printf "%y %P\\n" | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum');
  sh('for n in $(seq 200); do echo $n > old-$n; done; mkdir gone; echo x > gone/x');
  const target = look();
  const first = await h.worker();
  const session = await h.open('Go.');
  await session.ended(1);
  const start = look();
  expect(start).not.toBe(target);
  const client = clientOf(h);
  const { own } = placeOfRoot(h.dataDir, session.id, h.cwd);

  // Its first worker has captured what lies there, and may have begun to write.
  const rewinding = client.rewind(session.id);
  await until(() => existsSync(join(own, 'rewind.json')));
  await first.kill();
  // The second one has written at least a part.
  const second = await h.worker();
  await until(() => existsSync(join(h.cwd, 'gone/x')));
  await second.kill();
  const third = await h.worker();
  expect(await rewinding).toMatchObject({ rewound: { to: null, files: [{ root: h.cwd, files: 401 }] } });
  expect(look()).toBe(target);
  expect(await session.entries()).toMatchObject([{ kind: 'steered', steered: { action: 'rewind' } }]);

  await session.send('Another.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages)).not.toContain('Go.');
  expect(await client.undoRewind(session.id)).toMatchObject({ turns: 1 });
  expect(look()).toBe(start);
  await replays(h.client, session);
  await third.drain();
});
