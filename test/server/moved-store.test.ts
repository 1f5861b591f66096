// A store whose folder is moved away while a session works, and back.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('a run whose store is moved away during a call goes on when it is back; the call is unknown and ran once (L39 F13)', async () => {
  const command = 'echo ran >> runs; touch begun; until [ -e go ]; do sleep 0.05; done';
  const h = await harness({ script: [reply([toolUse('bash', { command })]), reply('Done.')] });
  const session = await h.open('Go.');
  await until(() => existsSync(join(h.cwd, 'begun')));
  renameSync(h.storePlace, `${h.storePlace}.away`);
  writeFileSync(join(h.cwd, 'go'), '');
  await until(async () => {
    const { pendingActivities } = (await session.handle.describe()).raw;
    return pendingActivities?.some(({ attempt }) => (attempt ?? 1) > 2);
  });
  renameSync(`${h.storePlace}.away`, h.storePlace);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(readFileSync(join(h.cwd, 'runs'), 'utf8')).toBe('ran\n');
  expect(h.bodies()[1]?.messages.at(-1)).toMatchObject({
    content: [{ type: 'tool_result', is_error: true, content: expect.stringContaining('outcome unknown') }],
  });
});
