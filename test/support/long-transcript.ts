// A transcript of 1,002 entries in 251 segments, each a turn that read a file.
import type { Store } from '../../store/values/store.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { callBlock, outcome, outcomes, reply, runStarted, stored, textBlock, transition, user } from './transcript.ts';

/** Its head. */
export async function longTranscript(store: Store): Promise<Hash | null> {
  const turns = Array.from({ length: 250 }, (_, n) => [
    reply([textBlock(`Step ${n}.`), callBlock(`c${n}`, { path: 'notes.txt' })], { at: n }),
    outcomes(outcome(1, `${n} `.padEnd(1_500, 'line of a file, '))),
    transition(n, 'next_turn'),
    user(`Note ${n}.`),
  ]);
  return (await stored(store, [runStarted(1), user('go')], ...turns)).head;
}
