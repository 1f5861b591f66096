// Plans a rewind (T6–T8): the head to go back to, the snapshots of each folder, and what is left
// behind. It only reads.
import type { Entry, Outcome, ReplyEntry, Segment } from '../../../store/log/entries.ts';
import { forkIn, type StoredSegment } from '../../../store/log/read-chain.ts';
import { withMovedRoots } from '../../../store/snapshots/moved-roots.ts';
import { findPosition, lastSnapshots, parsePoint } from '../../../store/snapshots/snapshot-points.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import type { Rewind, RootRewind } from '../../../workflows/contract/rewind.ts';
import { ClientProblem } from '../../problem.ts';
import { findChangingCall } from './calls-behind.ts';
import { snapshotsBefore } from './captured-files.ts';

/** `conversation: false` leaves the conversation as it is, `files: false` the files. */
export type RewindChoice = { readonly conversation?: boolean; readonly files?: boolean; readonly force?: boolean };

export type RewindPlan = {
  /** The request to the session. */
  readonly rewind: Rewind;
  /** The position of the first entry that is left behind. */
  readonly position: number;
  /**
   * The prompt before which the session goes back, in the first of its words; null within a run.
   */
  readonly prompt: string | null;
  /** Replies that are left behind. */
  readonly turns: number;
  /** Calls that are left behind and may have done what no snapshot holds. */
  readonly effects: readonly LeftEffect[];
};

/** `unknown`: nobody knows what became of the call. */
export type LeftEffect = {
  readonly name: string;
  readonly input: unknown;
  readonly outcome: Outcome['log']['outcome'];
};

/**
 * `to`: a position, `RUN.ITERATION`, or the id of a message; absent: the last prompt. Throws
 * ClientProblem `refused` for a point that is not there.
 */
export function planRewind(chain: readonly StoredSegment[], to: string | undefined, choice: RewindChoice): RewindPlan {
  const entries = chain.flatMap(({ segment }) => segment.entries);
  const asked = findAsked(entries, to);
  const at = chain.findLastIndex(({ segment }) => segment.first <= asked);
  const { segment } = chain[at] as StoredSegment;
  const from = (chain.at(-1) as StoredSegment).hash;
  const left = entries.slice(segment.first);
  const files = choice.files === false ? [] : rootsToRewind(withMovedRoots(entries), segment.first);
  const conversation =
    choice.conversation === false ? {} : goBack(entries.slice(0, segment.first), headBefore(chain, segment));
  const rewind: Rewind = {
    from,
    ...conversation,
    ...(files.length > 0 && { files }),
    ...(choice.force === true && { force: true as const }),
  };
  if (rewind.to === undefined && rewind.files === undefined)
    throw new ClientProblem('refused', 'the files are as they were then, as far as the session knows');
  const prompt = entries[asked];
  return {
    rewind,
    position: segment.first,
    prompt: prompt?.kind === 'user' ? wordsOf(prompt) : null,
    turns: left.filter(({ kind }) => kind === 'reply').length,
    effects: listLeftEffects(left, entries.slice(0, segment.first), files.length > 0),
  };
}

/** Throws ClientProblem where the session has no head before that. */
function headBefore(chain: readonly StoredSegment[], { parent, first }: Segment): Hash {
  const fork = chain.findLast(({ segment }) => forkIn(segment))?.segment;
  const origin = fork && forkIn(fork);
  if (origin && first <= fork.first)
    throw new ClientProblem('refused', `the fork begins after that: fork session ${origin.session} there instead`);
  if (parent === null)
    throw new ClientProblem('refused', 'nothing was before that: start a session of its own instead');
  return parent;
}

export function findAsked(entries: readonly Entry[], to: string | undefined): number {
  if (to === undefined) {
    const last = entries.findLastIndex(({ kind }) => kind === 'user');
    if (last < 0) throw new ClientProblem('refused', 'the session has no prompt to go back to');
    return last;
  }
  const point = parsePoint(to);
  const named = entries.findIndex((entry) => entry.kind === 'user' && entry.id === to);
  const found = named >= 0 ? named : point === null ? null : findPosition({ entries, first: 0 }, point);
  if (found === null)
    throw new ClientProblem(
      'refused',
      `${JSON.stringify(to)} is no place of the transcript: give a position as \`perdure show ID --json\` lists it, RUN.ITERATION, or a message's id`,
    );
  return found;
}

/** Goes back to a head; the context is as full as its last reply counted it. */
export function goBack(kept: readonly Entry[], to: Hash): Pick<Rewind, 'to' | 'contextTokens'> {
  const last = kept.findLast((entry): entry is ReplyEntry => entry.kind === 'reply');
  const usage = last?.message.usage;
  const cached = (usage?.cache_read_input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0);
  return { to, contextTokens: (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0) + cached };
}

function rootsToRewind(entries: readonly Entry[], position: number): readonly RootRewind[] {
  const then = snapshotsBefore(entries, position);
  const known = lastSnapshots(entries);
  return [...then].map(([root, to]) => ({ root, known: known.get(root) ?? to, to }));
}

/** Finds calls whose effects stay: where files go back, edits and writes go with them. */
function listLeftEffects(left: readonly Entry[], kept: readonly Entry[], goFiles: boolean): readonly LeftEffect[] {
  let reply = kept.findLast((entry): entry is ReplyEntry => entry.kind === 'reply');
  const effects: LeftEffect[] = [];
  for (const entry of left) {
    if (entry.kind === 'reply') reply = entry;
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) {
      const call = findChangingCall(reply, outcome);
      if (call && !(goFiles && FILE_TOOLS.has(call.name)))
        effects.push({ name: call.name, input: call.input, outcome: outcome.log.outcome });
    }
  }
  return effects;
}

const FILE_TOOLS: ReadonlySet<string> = new Set(['edit', 'write']);
const LONGEST_WORDS = 120;

function wordsOf({ body }: Extract<Entry, { readonly kind: 'user' }>): string {
  return body.kind === 'text' ? body.text.trim().slice(0, LONGEST_WORDS) : '';
}
