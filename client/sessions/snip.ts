// Hides entries from the model, by position; they stay in the transcript (L7). The session ignores
// unknown positions and entries that a snip cannot hide, so this code reports them to the caller.
import type { SessionId } from '../../workflows/contract/ids.ts';
import { MOST_SNIPS, SIGNALS } from '../../workflows/contract/session.ts';
import type { Entry } from '../../store/log/entries.ts';
import { ClientProblem } from '../problem.ts';
import { formatCount } from '../units.ts';
import type { ClientMeans } from './client-means.ts';
import { sendSignal } from './send.ts';
import { inView, isShown } from '../../store/view/in-view.ts';
import { noticeForModel } from '../../store/view/notices.ts';

export type Snipped = {
  /**
   * Positions that disappear only when the model has ended its turn: signed thinking must go back
   * to it until then (L59).
   */
  readonly later: readonly number[];
};

/** Throws ClientProblem, StoreError. */
export async function snipEntries(
  means: ClientMeans,
  session: SessionId,
  positions: readonly number[],
  by: string,
): Promise<Snipped> {
  await means.lookAtOpen(session);
  const there = await means.reader.entries(session, await means.head(session));
  refuse(absentProblem(session, positions, there.length));
  const effects = snipEffects(there, positions);
  for (const [index, position] of positions.entries())
    refuse(effectProblem(session, position, there[position] as Entry, effects[index] as SnipEffect));
  await sendSignal(means.options.temporal, session, SIGNALS.snip, [{ entries: positions, by }]);
  return { later: positions.filter((_position, index) => effects[index]?.kind === 'later') };
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new ClientProblem('refused', problem);
}

/** Returns a sentence that says what is wrong with the positions in any session, or undefined. */
export function snipProblem(positions: readonly number[]): string | undefined {
  if (positions.length === 0) return 'no entry is named: `perdure show ID --json` has their positions';
  if (positions.length > MOST_SNIPS) return `${positions.length} entries are named: give at most ${MOST_SNIPS} at once`;
  const wrong = positions.find((entry) => !Number.isSafeInteger(entry) || entry < 0);
  return wrong === undefined ? undefined : `${wrong} is no position of an entry: give whole numbers from 0`;
}

/** `there` counts the session's entries, at positions from 0. */
function absentProblem(session: SessionId, positions: readonly number[], there: number): string | undefined {
  const absent = positions.find((entry) => entry >= there);
  if (absent === undefined) return undefined;
  const has = there === 0 ? 'none yet' : `${formatCount(there, 'entry', 'entries')}, the last at ${there - 1}`;
  return `session ${session} has no entry at position ${absent}, for it has ${has}: \`perdure show ${session} --json\` lists them`;
}

const entryTexts: Readonly<Record<Entry['kind'], string>> = {
  run_started: 'the start of a run',
  user: 'a prompt',
  reply: 'a reply',
  outcomes: 'the results of calls',
  boundary: 'a compaction',
  microcompact: 'the shrinking of old results',
  collapse_staged: 'the short form of a stretch',
  collapse_committed: 'the collapse of a stretch',
  snip: 'a snip',
  wait: 'which calls wait',
  settled: 'how a wait ended',
  budget: 'a wait at the budget',
  steered: 'who steered the session',
  epoch: 'the system prompt and the tools',
  files: 'a snapshot of files',
  notice: 'a notice',
  transition: 'a transition',
  run_ended: 'the end of a run',
  session_closed: 'the end of the session',
};

/** Says why a snip would not hide the entry, and what to name instead. */
function effectProblem(session: SessionId, position: number, { kind }: Entry, effect: SnipEffect): string | undefined {
  const what = `entry ${position} is ${entryTexts[kind]}`;
  switch (effect.kind) {
    case 'removed':
    case 'later':
      return undefined;
    case 'with_reply':
      return `${what}, which go with the reply that made them: name entry ${effect.reply}`;
    case 'out_of_sight':
      return `${what} and out of the model’s sight already: name another that it sees, or none`;
    case 'never': {
      const rest = kind === 'notice' ? ' that only people see' : '';
      const can = 'prompts, replies and notices to the model can be snipped';
      return `${what}${rest}, which cannot be snipped; ${can}: \`perdure show ${session} --json\` lists them`;
    }
  }
}

// Predicts what a snip of entries hides, by the rules that make the model's view (L7, L59).
type SnipEffect =
  /** Hidden from the next request on, or already hidden by a snip. */
  | { readonly kind: 'removed' }
  /** Hidden when its trajectory is closed, because its thinking is signed (L59). */
  | { readonly kind: 'later' }
  /** Outcomes disappear only with the reply at this position. */
  | { readonly kind: 'with_reply'; readonly reply: number }
  /** Something else hides the entry or replaces it. */
  | { readonly kind: 'out_of_sight' }
  /** A snip cannot hide the entry. */
  | { readonly kind: 'never' };

/**
 * Returns the effect on the entry at each position of `named` when they are snipped together.
 * Positions beyond the entries are `never`.
 */
function snipEffects(entries: readonly Entry[], named: readonly number[]): readonly SnipEffect[] {
  const { shown: visible, marks } = inView(entries);
  const before = new Set(visible.flatMap((each) => (each.kind === 'entry' ? [each.position] : [])));
  const left = inView([...entries, { kind: 'snip', entries: named }]).shown;
  const after = new Set(left.flatMap((each) => (each.kind === 'entry' ? [each.position] : [])));
  return named.map((position) => {
    const entry = entries[position];
    if (entry === undefined || !isForModel(entry)) return { kind: 'never' };
    if (!before.has(position)) return { kind: marks.snipped.has(position) ? 'removed' : 'out_of_sight' };
    if (!after.has(position)) return { kind: 'removed' };
    if (entry.kind !== 'outcomes') return { kind: 'later' };
    const reply = entries.slice(0, position).findLastIndex(({ kind }) => kind === 'reply');
    return named.includes(reply) ? { kind: 'later' } : { kind: 'with_reply', reply };
  });
}

function isForModel(entry: Entry): boolean {
  return isShown(entry) && (entry.kind !== 'notice' || noticeForModel(entry.notice) !== null);
}
