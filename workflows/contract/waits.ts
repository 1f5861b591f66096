// Calls that wait for a person or for somebody outside, as the transcript records them where a run
// asks for it (G37), the result of a call that somebody outside gives (G53), and the wait of a run
// at its session's budget (G69).
import type { OutsideKind, OutsideResult } from './delegation.ts';
import { isHash, type Hash, type SessionId } from './ids.ts';
import type { Spend } from './loop.ts';
import { isBody, type SystemMessage } from './people.ts';

/** The id of `patched` for sessions that store waits, or have calls for somebody outside. */
export const WAITS_CHANGE = 'perdure-waits';

/** `ask`: a person has to decide. Otherwise somebody outside has to give the result. */
export type WaitReason = 'ask' | OutsideKind;

/**
 * `call` is its name, used once: the one under which it is decided or given its result. `thread`:
 * the session of the agent whose call it is, where it is none of the session's own (G68).
 */
export type WaitingCall = {
  readonly call: string;
  readonly why: WaitReason;
  readonly thread?: SessionId;
  /** The thread's transcript that holds the call; once stored, `asked` has its contents instead. */
  readonly head?: Hash;
  readonly asked?: AskedCall;
};

/** The call as the model of the thread made it. */
export type AskedCall = { readonly tool: string; readonly input: Readonly<Record<string, unknown>> };

/** Names a call that waits among those of the session and its threads. */
export const waitKey = ({ call, thread = '' as SessionId }: Pick<WaitingCall, 'call' | 'thread'>): string =>
  `${thread} ${call}`;

/** A call that waits for the session of an agent of the run's roster, which has begun (G68). */
export type AgentWait = { readonly call: string; readonly session: SessionId };

/**
 * Calls that have begun to wait together; those of `agents` wait for no person. `at`: milliseconds
 * since the epoch.
 */
export type WaitEntry = {
  readonly kind: 'wait';
  readonly calls: readonly WaitingCall[];
  readonly agents?: readonly AgentWait[];
  readonly at: number;
};

/**
 * The end of a wait, before the outcome of the call. `by`: the name of the person. `message`: the
 * reason of a denial. `result`: with `how: 'result'`. `expired`: nobody decided in time.
 */
export type SettledEntry = {
  readonly kind: 'settled';
  readonly call: string;
  readonly thread?: SessionId;
  readonly how: 'allow' | 'deny' | 'expired' | 'result';
  readonly by?: string;
  readonly message?: string;
  readonly result?: OutsideResult;
  readonly at: number;
};

/** Outside tools of one run. */
export const MOST_OUTSIDE = 128;

/**
 * What a thread tells its parent by the signal of its reports: waits that it has stored, and the
 * transcript that holds them.
 */
export type ThreadNews = {
  readonly session: SessionId;
  readonly head: Hash;
  readonly told: readonly (WaitEntry | SettledEntry)[];
};

const MOST_TOLD = 2 * MOST_OUTSIDE;
const LONGEST_CALL = 100;

/** Anyone can signal, so the shape is checked. */
export function isThreadNews(value: unknown): value is ThreadNews {
  const { session, head, told } = (value ?? {}) as { readonly [Key in keyof ThreadNews]?: unknown };
  return (
    typeof session === 'string' &&
    isHash(head) &&
    Array.isArray(told) &&
    told.length <= MOST_TOLD &&
    told.every(isToldWait)
  );
}

function isToldWait(value: unknown): boolean {
  const { kind, calls, call, how, result } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'settled') return isCallName(call) && isEnd(how, result);
  return kind === 'wait' && Array.isArray(calls) && calls.every(isToldCall);
}

const isEnd = (how: unknown, result: unknown): boolean =>
  how === 'result' ? isOutsideResult(result) : how === 'allow' || how === 'deny' || how === 'expired';

function isOutsideResult(value: unknown): boolean {
  const { body, isError } = (value ?? {}) as { readonly [Key in keyof OutsideResult]?: unknown };
  return isBody(body) && (isError === undefined || isError === true);
}

function isToldCall(value: unknown): boolean {
  const { call, why } = (value ?? {}) as { readonly [Key in keyof WaitingCall]?: unknown };
  return isCallName(call) && (why === 'ask' || why === 'custom');
}

const isCallName = (call: unknown): boolean => typeof call === 'string' && call.length <= LONGEST_CALL;

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
export type GivenResult = {
  readonly call: string;
  readonly result: OutsideResult;
  readonly by?: string;
  readonly system?: SystemMessage;
};

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

type NamedPlace = { readonly run: number; readonly iteration: number; readonly index: number; readonly count: number };

/** Parses the place of a call from its name: `run.iteration.index`, `+n` for a later question. */
export function placeInName(call: string): NamedPlace {
  const [place = '', count = '1'] = call.split('+');
  const [run, iteration, index] = place.split('.').map(Number);
  return { run: run!, iteration: iteration!, index: index!, count: Number(count) };
}
