// How soon a session of 10,000 iterations is there to be seen, on the page and in a terminal. Alone
// on the machine: it is a measurement.
import { expect, test } from 'vitest';
import { transcriptText } from '../../cli/render/transcript.ts';
import { createPaint } from '../../client/paint.ts';
import { readSessionAt } from '../../client/sessions/read.ts';
import { createLimit } from '../../system/async.ts';
import type { Entry } from '../../store/log/entries.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { Store } from '../../store/values/store.ts';
import { nextSegment } from '../../store/view/append.ts';
import { emptyView } from '../../store/view/view.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { description } from '../client/support.ts';
import { atBest } from '../support/at-best.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { stagedPage } from '../support/page-ports.ts';
import { tempDir } from '../support/temp-dir.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  textBlock,
  transition,
  user,
} from '../support/transcript.ts';

const ITERATIONS = 10_000;
/** Milliseconds of CPU. On a quiet machine either takes less than a second. */
const MOST_MS = 1_500;

test('a session of 10,000 iterations is on the page, and in the terminal, for 1.5 s of CPU (O13)', async () => {
  const store = fileStore({ dir: tempDir() });
  const config = await store.put(Buffer.from('{}'));
  const head = await writeIterations(store, config);
  const seen = { phase: 'running', status: 'open', head } as const;
  const open = async (): Promise<number> => {
    const { text } = await stagedPage({ seen, ports: { store, head: () => Promise.resolve(head) } });
    return cpuTime(async () => expect(await text('/sessions/s-1')).toContain(`src/file-${ITERATIONS}.ts`));
  };
  const show = (): Promise<number> =>
    cpuTime(async () => {
      const reading = await readSessionAt(store, description(seen), head);
      expect(transcriptText(createPaint(true), reading)).toContain(`src/file-${ITERATIONS}.ts`);
    });
  expect(await atBest(MOST_MS, 5, open)).toBeLessThanOrEqual(MOST_MS);
  expect(await atBest(MOST_MS, 5, show)).toBeLessThanOrEqual(MOST_MS);
});

/** Each with a text, a call, and 900 bytes of what it read. Returns the head. */
async function writeIterations(store: Store, config: Hash): Promise<Hash> {
  let view = emptyView(session);
  const [inTurn, written] = [createLimit(32), [] as Promise<unknown>[]];
  for (let n = 1; n <= ITERATIONS; n += 1) {
    const entries: readonly Entry[] = [
      ...(n > 1 ? [transition(n, 'next_turn')] : [runStarted(1, config), user('Begin.')]),
      reply(
        [textBlock(`Iteration ${n}: the next file. `.repeat(4)), callBlock(`c${n}`, { path: `src/file-${n}.ts` })],
        { iteration: n },
      ),
      outcomes(outcome(1, 'a line of a file\n'.repeat(53), { toolUseId: `c${n}` })),
    ];
    const next = nextSegment(view, entries);
    written.push(inTurn(() => store.put(next.bytes)));
    ({ view } = next);
  }
  await Promise.all(written);
  return view.head as Hash;
}
