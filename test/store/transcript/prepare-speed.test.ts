// Measures the cost of getting a long transcript ready to be sent: little when it is warm, not much
// more from disk.
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import { createTranscripts, type Transcripts } from '../../../store/transcript/transcripts.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { cpuTime } from '../../support/cpu-time.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  stored,
  textBlock,
  transition,
  user,
} from '../../support/transcript.ts';

const turn = (n: number): Entry[] => [
  reply([textBlock(`Step ${n}.`), callBlock(`c${n}`, { path: `src/file-${n}.ts` })], { at: n }),
  outcomes(outcome(1, `${n} `.padEnd(1_500, 'line of a file, '))),
  transition(n, 'next_turn'),
  user(`Note ${n}.`),
];

function timePreparation(transcripts: Transcripts, head: Hash | null, turns: number): Promise<number> {
  return cpuTime(async () => {
    const extended = transcripts.shrinkResults(await transcripts.extend(session, head, []), 0, {});
    const sent = await transcripts.messages(extended, { name: 'claude-test' });
    expect(sent.messages).toHaveLength(2 * turns + 1);
  });
}

/**
 * The least of five times each, of a transcript on disk and of one that is cached: collecting
 * garbage makes a time longer, never shorter.
 */
async function measurePreparation(turns: number): Promise<{ readonly cold: number; readonly warm: number }> {
  const store = fileStore({ dir: tempDir() });
  const made = Array.from({ length: turns }, (_, n) => turn(n));
  const { head } = await stored(store, [runStarted(1), user('go')], ...made);
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let time = 0; time < 5; time += 1) {
    const transcripts = createTranscripts(store, () => Promise.resolve(null));
    cold.push(await timePreparation(transcripts, head, turns));
    warm.push(await timePreparation(transcripts, head, turns));
  }
  return { cold: Math.min(...cold), warm: Math.min(...warm) };
}

test('a cached transcript is ready in a fraction of the time from disk, which grows with its length (L5 L8)', async () => {
  const few = await measurePreparation(125);
  const many = await measurePreparation(500);
  console.info(
    `2,000 entries: cold ${many.cold.toFixed(0)} ms, warm ${many.warm.toFixed(1)} ms, 500 cold ${few.cold.toFixed(0)} ms`,
  );
  // A quiet machine takes 150 ms and 5 ms.
  expect(many.warm * 4).toBeLessThan(many.cold);
  // Four times as much where it is linear, sixteen times where it is quadratic.
  expect(many.cold).toBeLessThan(few.cold * 10);
});
