// A running session as its workflow shows it now: what it does, what it has spent so far, and when
// it last did something. Lists otherwise know these numbers only as of the last change of phase or
// handover. Pure.
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { addSpend, totalTokens, type Spend } from '../../../workflows/contract/loop.ts';
import type { RunningAccount } from './account.ts';
import { BEAT_MS, BEATS } from './beats.ts';

/** One thing that a session does, or waits for. Times are in milliseconds since the epoch. */
export type SessionActivity = {
  /** `agents`: it waits for agents of its own. `other`: opening a run, ending it, hooks. */
  readonly kind: 'model' | 'tool' | 'compaction' | 'agents' | 'other';
  /** Name of the activity, such as callModel; null where no worker is asked. */
  readonly step: string | null;
  /** Since when, all attempts included. */
  readonly since: number;
  /** From 1. */
  readonly attempt: number;
  /** Why the attempt before died. */
  readonly failure: string | null;
  /** False while no worker has taken it, or the next attempt waits. */
  readonly isTaken: boolean;
  /** Identity of the process that has it, or had it last. */
  readonly worker: string | null;
  /** A call's tool and input; null where the transcript does not say. */
  readonly call: { readonly tool: string; readonly input: unknown } | null;
  /** Number of agents that it waits for; 0 for other kinds. */
  readonly agents: number;
};

export type RunningState = {
  readonly session: SessionId;
  /** When this was read, in milliseconds since the epoch. */
  readonly at: number;
  readonly doing: readonly SessionActivity[];
  /** Over all runs of the session. */
  readonly turns: number;
  readonly tokens: number;
  /** US cents, with compactions, notes and agents that have ended; null without a known price. */
  readonly cents: number | null;
  /** More was spent: agents are at work, whose spending counts when they end. */
  readonly isLeast: boolean;
  readonly model: string | null;
  /** Tokens in context, and the model's window where it is known; null before the first reply. */
  readonly context: { readonly tokens: number; readonly window: number | null } | null;
  /** When a step or its output was last seen to go on, in milliseconds since the epoch. */
  readonly lastSign: number;
  /** How often steps began or ended in each five minutes of the last hour, the oldest first. */
  readonly lastHour: readonly number[];
};

type RowFacts = Pick<RunningState, 'session' | 'at' | 'doing' | 'model'> & {
  /** The cost so far of steps under way. */
  readonly unsettled: Spend;
  readonly window: number | null;
  /** When the live channel last told of output; null when it does not say. */
  readonly liveSign: number | null;
};

export function runningRow(account: RunningAccount, { window, liveSign, unsettled, ...facts }: RowFacts): RunningState {
  const { turns, contextTokens, progressAt } = account;
  const spend = addSpend(account.spend, unsettled);
  return {
    ...facts,
    turns,
    tokens: totalTokens(spend.usage),
    cents: spend.usd === null ? null : Math.round(spend.usd * 100_000) / 1_000,
    isLeast: facts.doing.some(({ kind }) => kind === 'agents'),
    context: contextTokens === null ? null : { tokens: contextTokens, window },
    lastSign: Math.max(progressAt, liveSign ?? 0),
    lastHour: lastBeats(account, facts.at),
  };
}

function lastBeats({ beats }: Pick<RunningAccount, 'beats'>, now: number): readonly number[] {
  const last = Math.floor(now / BEAT_MS);
  return Array.from({ length: BEATS }, (_, at) => beats.get(last - (BEATS - 1 - at)) ?? 0);
}

/** Returns the share of the window that is full, or null when it is not known. */
export function contextShare({ context }: Pick<RunningState, 'context'>): number | null {
  return context?.window ? Math.min(1, context.tokens / context.window) : null;
}
