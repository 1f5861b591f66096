// Says how a call came out as far as its result does not, and who allowed it; what an answer aside
// has cost; and in one line what a running session does now. Pure.
import type { Entry, Outcome, ReplyEntry } from '../../store/log/entries.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { oneLine } from '../paint.ts';
import type { RunningState, SessionActivity } from '../sessions/running/running-row.ts';
import type { SideAnswer } from '../sessions/updates/update.ts';
import { formatCount, formatMoney } from '../units.ts';
import { briefInput, NAME } from './tool-lines.ts';

/**
 * Says how a call came out as far as its result does not, and who allowed it. A call that ran as
 * the model asked yields nothing.
 */
export function outcomeWords({ content, log }: Pick<Outcome, 'content' | 'log'>): readonly string[] {
  const how = log.deniedBy === undefined ? endWord(log) : `denied by ${oneLine(log.deniedBy, NAME)}`;
  // Most results begin with it.
  const isInContent = how === null || content.slice(0, LOOKED_AT).toLowerCase().includes(how);
  return [...(isInContent ? [] : [how]), ...approvalWords(log)];
}

/** Characters of a result whose beginning is shown. */
const LOOKED_AT = 100;

/** Returns null for a call that ran to its end. */
export function endWord({ decision, outcome }: Pick<Outcome['log'], 'decision' | 'outcome'>): string | null {
  if (decision === 'denied') return 'denied';
  switch (outcome) {
    case 'not_run':
      return 'not run';
    case 'unknown':
      return 'outcome unknown';
    case 'cancelled':
      return 'cancelled';
    case 'ok':
    case 'error':
      return null;
  }
}

/** Says who allowed a call that was put to a person. */
export function approvalWords({ approved }: Pick<Outcome['log'], 'approved'>): readonly string[] {
  if (approved === undefined) return [];
  const who = approved.by === undefined ? 'a person' : oneLine(approved.by, NAME);
  return [`${who} allowed it${approved.editedHash === undefined ? '' : ' with another input'}`];
}

/** Describes the cost of an answer on one line. */
export function asideCost({ model, usage, costUsd, cut }: SideAnswer): string {
  const facts = [`aside, by ${oneLine(model, 100)}`, formatCount(totalTokens(usage), 'token'), formatMoney(costUsd)];
  return [...facts, ...(cut ? ['the rest of the answer is left out'] : [])].join(' · ');
}

const MOST = 100;
const FAILURE = 60;

/** Returns an empty text when nothing is known to be under way. */
export function nowText({ doing, model }: Pick<RunningState, 'doing' | 'model'>, most = MOST): string {
  const [first, ...others] = doing.toSorted((one, other) => rank(one) - rank(other));
  if (!first) return '';
  const more = others.length === 0 ? '' : ` · and ${formatCount(others.length, 'more step')}`;
  return oneLine(`${doingText(first, model, most)}${more}`, most + FAILURE);
}

/** The most tried comes first: someone should look at it. */
const rank = ({ attempt, kind }: SessionActivity): number => (attempt > 1 ? 0 : kind === 'agents' ? 2 : 1);

function doingText(doing: SessionActivity, model: string | null, most: number): string {
  const { attempt, failure, isTaken } = doing;
  const parts = [
    whatText(doing, model, most),
    ...(attempt > 1 ? [`attempt ${attempt}`] : isTaken ? [] : ['no worker has it yet']),
    ...(failure === null ? [] : [oneLine(failure, FAILURE)]),
  ];
  return parts.join(' · ');
}

const WORDS: Readonly<Record<string, string>> = {
  openRun: 'opens the run',
  commit: 'stores what was said',
  runStopHooks: 'runs stop hooks',
  gradeGoal: 'grades the goal',
  afterStop: 'ends the run',
  findReply: 'looks for the reply',
  endWorktree: 'ends its work tree',
};

function whatText({ kind, step, call, agents }: SessionActivity, model: string | null, most: number): string {
  if (kind === 'agents') return `waits for ${formatCount(agents, 'agent')}`;
  if (call) return oneLine(`${call.tool} ${briefInput(call.input, most)}`.trimEnd(), most);
  if (kind === 'tool') return 'runs a tool';
  if (kind === 'compaction') return 'compacts the context';
  if (step === 'callModel') return model === null ? 'calls the model' : `calls ${oneLine(model, 60)}`;
  return WORDS[step ?? ''] ?? 'works';
}

// Finds the outcome of each call in a transcript: outcomes are stored after their reply, and people
// read them at the call.
/**
 * Outcomes of a reply by the position of the call's block. A call without a stored outcome is
 * missing.
 */
export type PairedOutcomes = ReadonlyMap<ReplyEntry, ReadonlyMap<number, Outcome>>;

export const REPEATED = 'not run: a call before it has the same id';

export function pairOutcomes(entries: readonly Entry[]): PairedOutcomes {
  const paired = new Map<ReplyEntry, Map<number, Outcome>>();
  let open: Map<number, Outcome> | null = null;
  for (const entry of entries) {
    if (entry.kind === 'reply') paired.set(entry, (open = new Map()));
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) if (!open?.has(outcome.index)) open?.set(outcome.index, outcome);
  }
  return paired;
}
