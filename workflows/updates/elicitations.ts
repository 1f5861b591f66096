// Puts questions of running calls to people (L77). The activity of a call signals its question and
// queries the answer; the workflow lists it among the approvals. A call asks one question at a
// time, and its questions end with it.
import { CancellationScope } from '@temporalio/workflow';
import type { RunToolResult } from '../contract/activities.ts';
import type { Elicitation, ElicitationEnd } from '../contract/people.ts';
import { type CallKey, isHash } from '../contract/ids.ts';
import type { PersonDecision } from './approvals.ts';

type Asker = (elicitation: Elicitation) => void;

type Counts = readonly (readonly [call: CallKey, count: number])[];

/** How many ends are kept: the activities query them soon. */
const MOST_ENDS = 100;

export class Elicitations {
  private readonly askers = new Map<CallKey, Asker>();
  private readonly ends = new Map<string, ElicitationEnd>();
  private readonly counts: Map<CallKey, number>;

  /** `carried`: the counts of calls that were open at a handover. */
  constructor(carried: Counts = []) {
    this.counts = new Map(carried);
  }

  /**
   * How many questions each open call has asked: an activity that runs again asks under other
   * names.
   */
  get asked(): Counts {
    return [...this.counts];
  }

  /** Forgets the counts: all calls of the reply have ended. */
  forget(): void {
    this.counts.clear();
  }

  /**
   * Takes a signal's value. Anyone can signal: a question of a call that does not run is ignored.
   */
  hear(value: unknown): void {
    if (isElicitation(value)) this.askers.get(value.key)?.(value);
  }

  endOf(id: unknown): ElicitationEnd {
    return this.ends.get(String(id)) ?? { kind: 'waiting' };
  }

  /**
   * Runs a call. `ask` puts its questions; it is cancelled when the call asks anew, takes its
   * question back, or has ended.
   */
  async during(
    key: CallKey,
    run: () => Promise<RunToolResult>,
    ask: (elicitation: Elicitation, count: number) => Promise<PersonDecision | null>,
  ): Promise<RunToolResult> {
    let scope: CancellationScope | null = null;
    let asking: Promise<void> = Promise.resolve();
    this.askers.set(key, (elicitation) => {
      scope?.cancel();
      scope = null;
      if (elicitation.inputHash === undefined) return;
      const own = new CancellationScope();
      const nth = (this.counts.get(key) ?? 0) + 1;
      this.counts.set(key, nth);
      scope = own;
      const before = asking;
      asking = own.run(async () => {
        await before;
        this.settle(elicitation.id, endOf(own.consideredCancelled ? null : await ask(elicitation, nth)));
      });
    });
    try {
      return await run();
    } finally {
      this.askers.delete(key);
      (scope as CancellationScope | null)?.cancel();
      await asking;
    }
  }

  private settle(id: string, end: ElicitationEnd): void {
    this.ends.set(id, end);
    for (const oldest of [...this.ends.keys()].slice(0, -MOST_ENDS)) this.ends.delete(oldest);
  }
}

function endOf(decision: PersonDecision | null): ElicitationEnd {
  if (decision?.kind === 'answered') return { kind: 'answered', body: decision.body };
  return { kind: decision?.kind === 'deny' && !decision.expired ? 'declined' : 'unanswered' };
}

const LONGEST_REASON = 500;
const MOST_OPTIONS = 20;
const LONGEST_OPTION = 200;

function isElicitation(value: unknown): value is Elicitation {
  const { key, id, inputHash, reason, options } = (value ?? {}) as { readonly [Key in keyof Elicitation]?: unknown };
  return (
    typeof key === 'string' &&
    typeof id === 'string' &&
    (inputHash === undefined || (isHash(inputHash) && typeof reason === 'string' && reason.length <= LONGEST_REASON)) &&
    (options === undefined || (Array.isArray(options) && options.length <= MOST_OPTIONS && options.every(isOption)))
  );
}

const isOption = (option: unknown): boolean => typeof option === 'string' && option.length <= LONGEST_OPTION;
