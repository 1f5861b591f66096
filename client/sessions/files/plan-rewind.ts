// Plans a rewind (T6–T8): the head to go back to, the snapshots of each folder, and what is left
// behind. It only reads.
import type { Entry, ReplyEntry, Segment } from '../../../store/log/entries.ts';
import { forkIn, type StoredSegment } from '../../../store/log/read-chain.ts';
import {
  findPosition,
  firstSnapshots,
  lastSnapshots,
  parsePoint,
  withMovedRoots,
} from '../../../store/snapshots/snapshot-points.ts';
import { nestedWith, withoutOutdated } from '../../../store/snapshots/nested-roots.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import {
  type KnownFolder,
  MOST_KNOWN,
  type RewindRequest,
  type FolderRewind,
} from '../../../workflows/contract/rewind.ts';
import { ClientProblem } from '../../problem.ts';
import { entriesBefore, listLeftEffects, type RemainingEffect } from './calls-behind.ts';

/** `conversation: false` leaves the conversation as it is, `files: false` the files. */
export type RewindChoice = { readonly conversation?: boolean; readonly files?: boolean; readonly force?: boolean };

export type RewindPlan = {
  /** The request to the session. */
  readonly rewind: RewindRequest;
  /** The position of the first entry that is left behind. */
  readonly position: number;
  /**
   * The prompt before which the session goes back, in the first of its words; null within a run.
   */
  readonly prompt: string | null;
  /** Replies that are left behind. */
  readonly turns: number;
  /** Calls that are left behind and may have done what no snapshot holds. */
  readonly effects: readonly RemainingEffect[];
};

/**
 * `to`: a position, `RUN.ITERATION`, or the id of a message; absent: the last prompt. Throws
 * ClientProblem `refused` for a point that is not there.
 */
export function planRewind(chain: readonly StoredSegment[], to: string | undefined, choice: RewindChoice): RewindPlan {
  const entries = entriesIn(chain);
  const position = findAsked(entries, to);
  const at = chain.findLastIndex(({ segment }) => segment.first <= position);
  const { segment } = chain[at] as StoredSegment;
  const { first } = segment;
  const left = entries.slice(first);
  const renamed = withMovedRoots(entries);
  const files = choice.files === false ? [] : rootsToRewind(renamed, first);
  const rewind: RewindRequest = {
    from: (chain.at(-1) as StoredSegment).hash,
    ...(choice.conversation !== false && {
      ...goBack(entries.slice(0, first), headBefore(chain, segment)),
      ...knownAfter(renamed.slice(0, first), renamed, files),
    }),
    ...(files.length > 0 && { files }),
    ...(choice.force === true && { force: true as const }),
  };
  if (rewind.to === undefined && rewind.files === undefined)
    throw new ClientProblem('refused', 'No files were captured at that point, so there is nothing to restore.');
  const prompt = entries[position];
  return {
    rewind,
    position: first,
    prompt: prompt?.kind === 'user' ? wordsOf(prompt) : null,
    turns: left.filter(({ kind }) => kind === 'reply').length,
    effects: listLeftEffects(entries, first, files.length > 0),
  };
}

export const entriesIn = (chain: readonly StoredSegment[]): readonly Entry[] =>
  chain.flatMap(({ segment }) => segment.entries);

/**
 * Returns the head that the session has before a segment; null before the first. Throws
 * ClientProblem for what a fork shares with its origin.
 */
function headBefore(chain: readonly StoredSegment[], { parent, first }: Segment): Hash | null {
  const fork = chain.findLast(({ segment }) => forkIn(segment))?.segment;
  const origin = fork && forkIn(fork);
  if (origin && first <= fork.first)
    throw new ClientProblem(
      'refused',
      `The fork begins after that point. Fork session ${origin.session} from there instead.`,
    );
  return parent;
}

export function findAsked(entries: readonly Entry[], to: string | undefined): number {
  if (to === undefined) {
    const last = entries.findLastIndex(({ kind }) => kind === 'user');
    if (last < 0) throw new ClientProblem('refused', 'This session has no prompts, so there is nothing to rewind.');
    return last;
  }
  const point = parsePoint(to);
  const named = entries.findIndex((entry) => entry.kind === 'user' && entry.id === to);
  const found = named >= 0 ? named : point === null ? null : findPosition({ entries, first: 0 }, point);
  if (found === null)
    throw new ClientProblem(
      'refused',
      `${JSON.stringify(to)} is not a point in this transcript. Use an entry position from \`perdure show ID --json\`, RUN.ITERATION, or a message ID.`,
    );
  return found;
}

/** Goes back to a head; the context is as full as its last reply counted it. */
export function goBack(entries: readonly Entry[], to: Hash | null): Pick<RewindRequest, 'to' | 'contextTokens'> {
  const last = entries.findLast((entry): entry is ReplyEntry => entry.kind === 'reply');
  const usage = last?.message.usage;
  const cached = (usage?.cache_read_input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0);
  return { to, contextTokens: (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0) + cached };
}

function rootsToRewind(entries: readonly Entry[], position: number): readonly FolderRewind[] {
  const before = entriesBefore(entries, position);
  const then = lastSnapshots(before);
  const known = lastSnapshots(entries);
  return withoutOutdated([...then.keys()], before).map((root): FolderRewind => {
    const to = then.get(root) as string;
    return { root, known: known.get(root) ?? to, to, ...nestedIn(root, known) };
  });
}

/** Says what is known of folders that lie in one that goes back, or around it. */
export function nestedIn(root: string, known: ReadonlyMap<string, string>): Pick<FolderRewind, 'nested'> {
  const nested = nestedWith(root, known).slice(-MOST_KNOWN);
  return nested.length > 0 ? { nested } : {};
}

/**
 * Says what lies in the folders that do not go back with the conversation: the entries that are
 * kept do not tell it. `all` are the entries of now.
 */
export function knownAfter(
  remaining: readonly Entry[],
  all: readonly Entry[],
  files: readonly FolderRewind[],
): Pick<RewindRequest, 'known'> {
  const [keptFirst, keptLast, first] = [firstSnapshots(remaining), lastSnapshots(remaining), firstSnapshots(all)];
  const going = new Set(files.map(({ root }) => root));
  const known = [...lastSnapshots(all)].flatMap(([root, id]): readonly KnownFolder[] => {
    if (going.has(root) || keptLast.get(root) === id) return [];
    const initial = keptFirst.has(root) ? id : (first.get(root) ?? id);
    return [{ root, id, ...(initial !== id && { first: initial }) }];
  });
  return known.length === 0 ? {} : { known: known.slice(-MOST_KNOWN) };
}

const LONGEST_WORDS = 120;

function wordsOf({ body }: Extract<Entry, { readonly kind: 'user' }>): string {
  return body.kind === 'text' ? body.text.trim().slice(0, LONGEST_WORDS) : '';
}
