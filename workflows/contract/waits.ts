// Calls that wait for a person or for somebody outside, as the transcript records them where a run
// asks for it (G37), the result of a call that somebody outside gives (G53), and the wait of a run
// at its session's budget (G69).
import type { OutsideKind, OutsideResult } from './delegation.ts';
import type { Spend } from './loop.ts';

/** Marks the sessions that store waits, or have calls for somebody outside: `patched` with this id. */
export const WAITS_CHANGE = 'perdure-waits';

/** `ask`: a person has to decide. Otherwise somebody outside has to give the result. */
export type WaitReason = 'ask' | OutsideKind;

/** `call` is its name, used once: the one under which it is decided or given its result. */
export type WaitingCall = { readonly call: string; readonly why: WaitReason };

/** Calls that have begun to wait together. `at`: milliseconds since the epoch. */
export type WaitEntry = { readonly kind: 'wait'; readonly calls: readonly WaitingCall[]; readonly at: number };

/**
 * The end of a wait, before the outcome of the call. `by`: the name of the person. `message`: the
 * reason of a denial. `result`: with `how: 'result'`. `expired`: nobody decided in time.
 */
export type SettledEntry = {
  readonly kind: 'settled';
  readonly call: string;
  readonly how: 'allow' | 'deny' | 'expired' | 'result';
  readonly by?: string;
  readonly message?: string;
  readonly result?: OutsideResult;
  readonly at: number;
};

/** Marks the sessions of which a run has waited at the budget: `patched` with this id. */
export const BUDGET_CHANGE = 'perdure-session-budget';

/**
 * The run waits at the session's budget, or leaves it since that was raised or removed. `limitUsd`:
 * US dollars, null once it was removed. `spend`: of the run and of its agents so far. `at`:
 * milliseconds since the epoch.
 */
export type BudgetEntry = {
  readonly kind: 'budget';
  readonly state: 'reached' | 'left';
  readonly limitUsd: number | null;
  readonly spend: Spend;
  readonly at: number;
};

/** A tool as the model is shown it. `by`: who gives the results of its calls. */
export type OutsideTool = {
  readonly by: OutsideKind;
  readonly name: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
};

/** Outside tools of one run. */
export const MOST_OUTSIDE = 128;

const VALID_NAME = /^[A-Za-z0-9_-]{1,128}$/;

/** Options may come from any Temporal client. */
export function isOutsideTool(value: unknown): value is OutsideTool {
  const { by, name, description, input_schema } = (value ?? {}) as { readonly [Key in keyof OutsideTool]?: unknown };
  return (
    (by === 'custom' || by === 'sandbox' || by === 'worker') &&
    typeof name === 'string' &&
    VALID_NAME.test(name) &&
    typeof description === 'string' &&
    typeof input_schema === 'object' &&
    input_schema !== null &&
    !Array.isArray(input_schema)
  );
}

/** The argument of the update that gives an outside call its result. */
export type GivenResult = { readonly call: string; readonly result: OutsideResult; readonly by?: string };

const UNKNOWN = 'outcome unknown: ';
const LOOK = 'It may have taken effect: check before repeating it.';

/** The result of a call whose worker is gone: nobody knows what became of it (L40). */
export const describeLost = ({ at }: { readonly at: number }): string =>
  `${UNKNOWN}the sandbox was given this call at ${new Date(at).toISOString()}, and its worker has not answered. ${LOOK} The sandbox may be a new one, without files that were only there.`;

/** The result of a call that was interrupted and whose worker has not answered since (G96). */
export const INTERRUPTED_CALL = `${UNKNOWN}interrupted, and the sandbox may go on with it. ${LOOK}`;

/** Tells whether a call was concluded by Perdure, without a result of its worker. */
export const isLostEnd = ({ by, result }: SettledEntry): boolean =>
  by === undefined && result?.isError === true && result.body.kind === 'text' && result.body.text.startsWith(UNKNOWN);

/** The argument of the update that says that workers of a sandbox take work and do none. */
export type SilentWorkers = { readonly work: string; readonly items: number };

/** Bytes of the text of a result. */
export const LARGEST_GIVEN = 1_500_000;

/** Reads the place of a call from its name, `run.iteration.index` with `+n` for a later question. */
export function placeInName(call: string): { readonly index: number; readonly count: number } {
  const [place = '', count = '1'] = call.split('+');
  return { index: Number(place.split('.')[2]), count: Number(count) };
}
