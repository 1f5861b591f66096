// A fork costs the same whatever its origin is long (T10).
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { harness } from '../support/harness.ts';

const TURNS = 200;
const FORKS = 15;

test.each([undefined, '1.100'])(
  'a fork without files of a session with 200 turns takes at most 200 ms, at %s',
  async (at) => {
    let turn = 0;
    const h = await harness({
      script: () => ((turn += 1) % TURNS === 0 ? reply('Done.') : reply([toolUse('glob', { pattern: '*' })])),
    });
    const session = await h.open('Go.', { maxTurns: TURNS + 1 });
    await session.ended(1);
    const store = fileStore({ dir: h.storePlace });
    const client = createClient({
      temporal: h.client,
      store,
      live: async function* () {},
      visibility: async () => false,
    });
    const times: number[] = [];
    for (let n = 0; n < FORKS; n += 1) {
      const from = performance.now();
      const { session: fork } = await client.fork(session.id, { files: false, ...(at !== undefined && { at }) });
      times.push(performance.now() - from);
      onTestFinished(async () => void (await h.client.workflow.getHandle(fork).terminate()));
    }
    expect(times.toSorted((one, other) => one - other)[Math.floor(FORKS / 2)]).toBeLessThanOrEqual(200);
  },
);
