// What is stored is damaged while a session lives: it is said, and the session stays usable as far
// as that can be.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { fileLayout } from '../../store/values/file-reads.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

const waits = reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]);

test('a damaged outcome of a call is an unknown outcome that the model can read (L39 L40)', async () => {
  const h = await harness({ script: [waits, reply('I will check.')] });
  const session = await h.open('Do it.');
  await until(() => existsSync(join(h.cwd, 'begun')));
  const calls = join(h.storePlace, 'keys', 'calls', session.id);
  const [claim = ''] = readdirSync(calls).filter((name) => name.endsWith('.claim'));
  writeFileSync(join(calls, claim.replace(/claim$/, 'outcome')), 'garbage');
  writeFileSync(join(h.cwd, 'go'), '');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.bodies()[1]?.messages.at(-1)).toMatchObject({
    content: [{ type: 'tool_result', is_error: true, content: expect.stringMatching(/unknown.*damaged/s) }],
  });
});

test('a damaged transcript ends the run with a sentence, and the session can still be cancelled (L20 L49)', async () => {
  const h = await harness({ script: [reply('Hello.')] });
  const session = await h.open('Hi.');
  const { head } = await until(async () => {
    const memo = await session.memo();
    return memo?.phase === 'idle' ? memo : null;
  });
  await h.worker.stop();
  writeFileSync(fileLayout(h.storePlace).blob(head!), 'garbage');
  // Another worker, without the view in its memory.
  const worker = await h.startWorker();
  await session.send('And now?');
  const last = await until(async () => {
    const summary = (await session.memo())?.last;
    return summary?.run === 2 ? summary : null;
  });
  expect(last).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining(session.id) },
    head,
  });
  await session.handle.cancel();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  await worker.stop();
});
