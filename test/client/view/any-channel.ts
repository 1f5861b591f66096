// Random streams of a live channel as followers get them: steps whose attempts are killed, taken
// back and begun again, facts that the next attempt repeats, calls side by side, stored steps.
import type { ChannelItem, LiveEvent } from '../../../store/live/events.ts';
import type { Random } from '../../support/random.ts';
import { runEnded } from '../../support/transcript.ts';

const HEAD = 'a'.repeat(64);

export function anyChannel(from: Random): readonly ChannelItem[] {
  const items: ChannelItem[] = [];
  const push = (step: number, attempt: number, ...events: readonly unknown[]): void => {
    for (const event of events) items.push({ ...(event as LiveEvent), step, attempt });
  };
  let step = 0;
  const runs = 1 + from.nat(1);
  for (let run = 1; run <= runs; run += 1) {
    step += 1;
    push(step, 1, { type: 'run_start', run, queryId: 'q', depth: 0, cwd: '/w', model: 'm', scripted: true });
    push(step, 1, { type: 'stored', head: HEAD });
    const iterations = 1 + from.nat(3);
    for (let iteration = 1; iteration <= iterations; iteration += 1) {
      step += 1;
      const facts = anyFacts(from, run, iteration);
      const attempts = 1 + from.nat(2);
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        const isLast = attempt === attempts;
        const told = [...facts, ...anyReply(from, iteration)];
        push(step, attempt, ...(isLast ? told : told.slice(0, from.nat(told.length))));
        if (!isLast && from.bool()) push(step, attempt, retryOf(iteration, attempt));
        const retold = from.nat(5) === 0 ? { retold: true } : {};
        if (!isLast) push(step, attempt, { type: 'tombstone', iteration, why: 'it died', ...retold });
        // The call after a parking tells the facts once more, in a step of its own.
        if (!isLast && from.nat(3) === 0) step += 1;
      }
      if (from.nat(4) > 0) push(step, attempts, { type: 'stored', head: HEAD });
      step = tellCalls(push, from, step, iteration);
    }
    step += 1;
    const { ended } = runEnded(run) as Extract<ReturnType<typeof runEnded>, { kind: 'run_ended' }>;
    push(step, 1, { type: 'run_end', ended: { ...ended, run }, head: HEAD });
  }
  return items;
}

const retryOf = (iteration: number, failures: number) =>
  ({ type: 'retry', iteration, failures, delayMs: 1_000, error: '529 overloaded' }) as const;

function anyFacts({ nat, bool, pick }: Random, run: number, iteration: number): readonly unknown[] {
  return [
    ...(iteration > 1 ? [{ type: 'transition', iteration, reason: pick(['next_turn', 'model_fallback']) }] : []),
    ...(bool() ? [{ type: 'user', id: `m-${run}-${iteration}`, text: `prompt ${iteration}` }] : []),
    ...(bool() ? [{ type: 'notice', notice: { kind: 'batch_summary', text: `${iteration}` } }] : []),
    ...(nat(3) === 0 ? [{ type: 'notice', notice: { kind: 'error', text: 'the same words' } }] : []),
    ...(nat(4) === 0 ? [{ type: 'microcompact', before: iteration, freed: 100 }] : []),
    ...(nat(4) === 0 ? [{ type: 'collapse_committed', count: iteration }] : []),
    ...(nat(4) === 0 ? [{ type: 'snip', entries: [run, iteration] }] : []),
  ];
}

function anyReply({ nat, bool }: Random, iteration: number): readonly unknown[] {
  const deltas = (type: string, index: number): readonly unknown[] =>
    Array.from({ length: 1 + nat(3) }, (_, n) => ({ type, iteration, index, text: `${type} ${n}. ` }));
  const calls = Array.from({ length: nat(2) }, (_, n) => callOf(iteration, 2 + n));
  return [
    ...(bool()
      ? [
          { type: 'hook_start', iteration, hook: 'h' },
          { type: 'hook_end', iteration, hook: 'h', result: 'r' },
        ]
      : []),
    { type: 'request_start', iteration, attempt: 1 + nat(1), model: 'm' },
    ...(bool() ? deltas('thinking_delta', 0) : []),
    ...(nat(4) > 0 ? deltas('text_delta', 1) : []),
    ...calls,
    { type: 'reply', iteration, stopReason: 'tool_use', fate: nat(5) === 0 ? 'cut' : 'whole' },
  ];
}

const callOf = (iteration: number, index: number) => {
  const name = index === 2 ? 'bash' : 'read';
  return { type: 'tool_use', iteration, index, id: `c${iteration}${index}`, name, input: { path: 'a' } } as const;
};

/** Calls run side by side, each in a step of its own, which may die as well. */
function tellCalls(
  push: (step: number, attempt: number, ...events: readonly unknown[]) => void,
  { nat, bool }: Random,
  before: number,
  iteration: number,
): number {
  const steps = Array.from({ length: nat(2) }, (_, n) => ({ step: before + 1 + n, index: 2 + n }));
  const call = (index: number) => ({ iteration, index, name: index === 2 ? 'bash' : 'read' });
  for (const { step, index } of steps) {
    if (nat(3) === 0) {
      push(step, 1, { type: 'tool_start', ...call(index), early: false });
      push(step, 1, { type: 'tombstone', iteration, why: 'its worker ended' });
    }
    push(step, 2, { type: 'tool_start', ...call(index), early: bool() });
  }
  for (const { step, index } of steps) {
    if (bool()) push(step, 2, { type: 'tool_progress', iteration, index, text: 'on it' });
    const end = { isError: nat(4) === 0, content: 'done', durationMs: 5 };
    push(step, 2, { type: 'tool_end', ...call(index), ...end });
  }
  return before + steps.length;
}
