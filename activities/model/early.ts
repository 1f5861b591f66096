// Safe calls start while the reply still streams (L37). Their outcomes are adopted only with the stored reply: whoever drops this
// runner drops them, and a safe call that is run again has changed nothing.
import type { OutcomeFacts } from '../../workflows/contract/activities.ts';
import type { Outcome } from '../transcript/log/entries.ts';
import type { CallBlock } from './judge.ts';

export type EarlyOutcome = { readonly outcome: Outcome; readonly facts: OutcomeFacts };

export type EarlyTraits = {
  readonly safe: boolean;
  /** Safe, allowed without asking, and no pre-tool hook. */
  readonly early: boolean;
};

export type EarlyCalls = {
  /** At the end of its block, in the model's order. */
  offer(call: CallBlock): void;
  /** Everything that finished within `graceMs`; what did not is aborted and runs the regular way. */
  settle(graceMs: number): Promise<ReadonlyMap<number, EarlyOutcome>>;
  /** The attempt died: nothing it did counts. */
  abandon(): Promise<void>;
};

export function earlyCalls(
  traits: (call: CallBlock) => EarlyTraits,
  run: (call: CallBlock, signal: AbortSignal) => Promise<EarlyOutcome | null>,
): EarlyCalls {
  const abort = new AbortController();
  const finished = new Map<number, EarlyOutcome>();
  const running: Promise<void>[] = [];
  let open = true;
  const start = async (call: CallBlock): Promise<void> => {
    const done = await run(call, abort.signal);
    if (!done || abort.signal.reason === 'superseded') return;
    finished.set(call.index, done);
    if (done.facts.cancelsSiblings && !abort.signal.aborted) {
      open = false;
      abort.abort('sibling');
    }
  };
  const drop = async (): Promise<void> => {
    open = false;
    if (!abort.signal.aborted) abort.abort('superseded');
    await Promise.all(running);
  };
  return {
    offer(call) {
      const { safe, early } = traits(call);
      if (!safe) open = false;
      if (!open || !early) return;
      // What fails here runs the regular way, where the failure is reported: a reply that is paid for is not thrown away for it.
      running.push(start(call).catch(() => {}));
    },
    async settle(graceMs) {
      if (running.length > 0) await Promise.race([Promise.all(running), after(graceMs, abort.signal)]);
      await drop();
      return finished;
    },
    abandon: drop,
  };
}

function after(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    timer.unref();
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
