// Megabytes of waiting messages. Not in the uncached tier: there each task fetches and replays all of them again.
import { expect, it, onTestFinished } from 'vitest';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

it('L4 L43 L61 takes more messages than one payload holds, each once and in order', async () => {
  const h = await harness({
    script: {
      replies: [reply([toolUse('glob', { pattern: '*' })]), { ...reply('Seen.'), times: 'any' }],
    },
    handover: { events: 100, signals: 5_000 },
  });
  // With no worker alive they all wait together.
  await h.worker.stop();
  const session = await h.open('0');
  const texts = Array.from({ length: 320 }, (_, n) => `${n + 1} ${'x'.repeat(8_000)}`);
  for (const each of texts) await session.send(each);
  const worker = await h.startWorker();
  onTestFinished(() => worker.stop());
  const taken = await until(async () => {
    const entries = await session.entries();
    const said = entries.flatMap((entry) =>
      entry.kind === 'user' && entry.body.kind === 'text' ? [entry.body.text] : [],
    );
    return said.length > texts.length ? said : null;
  });
  expect(taken).toEqual(['0', ...texts]);
});
