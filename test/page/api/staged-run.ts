// The events of a run as a follower tells them: iterations of attempts that may die, and notices of
// no iteration.
import type { Followed } from '../../../client/follow/news.ts';
import { random } from '../../support/random.ts';
import { runEnded, session } from '../../support/transcript.ts';

const MOST_ITERATIONS = 4;

export function runOf(seed: number, run: number): readonly Followed[] {
  const from = random(seed);
  let step = run * 100;
  const place = (attempt = 1) => ({ step, attempt });
  const events: Followed[] = [];
  const push = (...some: readonly unknown[]): void => void events.push(...(some as readonly Followed[]));
  push({ type: 'run_start', run, queryId: 'q', depth: 0, cwd: '/', model: 'm', scripted: true, ...place() });
  push({ type: 'user', id: `m-${run}`, text: `prompt ${run}`, ...place() });
  const iterations = 1 + from.nat(MOST_ITERATIONS - 1);
  for (let iteration = 1; iteration <= iterations; iteration += 1) {
    step += 1;
    const attempts = 1 + from.nat(2);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      if (from.nat(3) === 0)
        push({ type: 'notice', notice: { kind: 'error', text: `${seed} ${step}` }, ...place(attempt) });
      push({ type: 'request_start', iteration, model: 'm', ...place(attempt) });
      for (let part = 0; part <= from.nat(3); part += 1)
        push({ type: 'text_delta', iteration, index: 0, text: `${step}.${attempt}.${part}`, ...place(attempt) });
      if (attempt < attempts) push({ type: 'tombstone', iteration, why: 'died', ...place(attempt) });
      else push({ type: 'reply', iteration, stopReason: 'tool_use', fate: 'whole', ...place(attempt) });
    }
    step += 1;
    push({ type: 'tool_start', iteration, index: 1, name: 'read', early: false, ...place() });
    // A hook's words come in the step of the iteration, after its last event.
    if (from.nat(2) === 0) push({ type: 'notice', notice: { kind: 'stop_hook', text: `${step}` }, ...place() });
  }
  step += 1;
  const { ended } = runEnded(run) as Extract<ReturnType<typeof runEnded>, { kind: 'run_ended' }>;
  push({
    type: 'run_end',
    ended: { ...ended, run, messages: [`m-${run}`] },
    head: 'h',
    ...place(),
  });
  push({ type: 'result', sessionId: session, run });
  return events;
}
