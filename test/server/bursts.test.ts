// More messages at once than a run of the workflow may hold.
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { chainOf } from '../support/chain.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('a thousand messages in a burst, over many handovers, arrive each once and in order (L61 L4)', async () => {
  const h = await harness({
    script: {
      replies: [
        { ...reply([toolUse('glob', { pattern: '*' })]), times: 12 },
        { ...reply('Done.'), times: 'any' },
      ],
    },
    handover: { events: 2_000, signals: 100, iterations: 2 },
  });
  const session = await h.open('0');
  const texts = Array.from({ length: 999 }, (_, n) => String(n + 1));
  for (const each of texts) await session.send(each);
  const total = await until(async () => {
    const entries = await session.entries();
    const taken = entries.flatMap((entry) =>
      entry.kind === 'user' && entry.body.kind === 'text' ? [entry.body.text] : [],
    );
    return taken.length >= 1_000 ? taken : null;
  });
  expect(total).toEqual(['0', ...texts]);
  let runs = 0;
  for await (const _ of chainOf(h.client, session)) runs += 1;
  expect(runs).toBeGreaterThan(5);
});
