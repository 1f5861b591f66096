// Turns what the workflow wants appended into the entries that are stored. They depend on the
// inputs and on recorded facts, never on the time or the attempt: a second attempt makes the same
// segment with the same hash.
import type { Append, OutcomeItem } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash } from '../../workflows/contract/ids.ts';
import type { Entry, Outcome, ReplyEntry } from '../log/entries.ts';
import { takeBoundary } from '../transcript/prepared-boundary.ts';
import { hashOf, type Store, StoreError, isDamage } from '../values/store.ts';
import { agentNotice } from './agent-end.ts';
import { lastReply, type View } from './shared-view.ts';
import type { StoredMedium } from '../../workflows/contract/people.ts';
import { fitsMessage, TOO_MANY_MEDIA } from '../transcript/media.ts';
import { PREVIEW_LIMIT, previewText, resultName } from '../transcript/preview.ts';
import { behindOf } from './behind.ts';
import { encodeSegment, hasNear, hasPage } from '../log/segments.ts';
import { type AskedCall, placeInName, type WaitEntry, type WaitingCall } from '../../workflows/contract/waits.ts';
import { loadRun } from './view.ts';

export type AppendDeps = {
  readonly store: Store;
  /** Reads the outcome that `runTool` recorded under a call's key, or null. */
  readonly readOutcome: (key: CallKey) => Promise<Outcome | null>;
};

/**
 * Throws StoreError `missing` when an outcome should be recorded, is not, and has no note in its
 * place.
 */
export async function prepareAppend(view: View, appends: readonly Append[], deps: AppendDeps): Promise<Entry[]> {
  const round = lastRound(view);
  const entries: Entry[] = [];
  for (const append of appends) {
    if (append.kind === 'agent_ended') {
      entries.push({ kind: 'notice', notice: await agentNotice(deps.store, append.ended) });
      continue;
    }
    if (append.kind === 'prepared_boundary') {
      const boundary = await takeBoundary(deps.store, append.boundary, [...view.entries, ...entries]);
      if (boundary) entries.push(boundary);
      continue;
    }
    if (append.kind === 'wait') {
      entries.push(await withAskedCalls(deps.store, append));
      continue;
    }
    if (append.kind !== 'outcomes') {
      entries.push(append);
      continue;
    }
    const outcomes = await prepareOutcomes(view, round, append.items, deps);
    if (outcomes.length > 0) entries.push({ kind: 'outcomes', outcomes });
    round.outcomes.push(...outcomes);
  }
  return entries;
}

/** The last reply and the outcomes stored since. */
type Round = { readonly reply: ReplyEntry | null; readonly outcomes: Outcome[] };

function lastRound(view: View): Round {
  const last = lastReply(view);
  if (!last) return { reply: null, outcomes: [] };
  const since = view.from(last.position + 1);
  return { reply: last.reply, outcomes: since.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : [])) };
}

/**
 * Returns the new outcomes in the model's order, at most one for each call, without those that are
 * stored already (L39), fitted into one message (L6).
 */
async function prepareOutcomes(
  view: View,
  { reply, outcomes }: Round,
  items: readonly OutcomeItem[],
  deps: AppendDeps,
): Promise<Outcome[]> {
  const done = new Set(outcomes.map((outcome) => outcome.index));
  const fresh = new Map<number, OutcomeItem>();
  for (const item of items) {
    if (!done.has(item.index) && !fresh.has(item.index)) fresh.set(item.index, item);
  }
  const inOrder = [...fresh.values()].sort((a, b) => a.index - b.index);
  const prepared = await Promise.all(inOrder.map((item) => outcomeOf(view, reply, item, deps)));
  return fitOutcomes(deps.store, prepared, {
    characters: countCharacters(outcomes),
    media: outcomes.flatMap(({ media = [] }) => media),
    calls: reply?.message.content.filter((block) => block.type === 'tool_use').length ?? 0,
  });
}

async function outcomeOf(
  view: View,
  reply: ReplyEntry | null,
  item: OutcomeItem,
  { readOutcome }: AppendDeps,
): Promise<Outcome> {
  const { index } = item;
  const call = reply?.message.content[index];
  if (call?.type !== 'tool_use') {
    throw new Error(
      `session ${view.session}: an outcome is given for block ${index} of the last reply, which is no call`,
    );
  }
  const { key, note } = item;
  const recorded = key === undefined ? null : await readOutcome(key);
  if (recorded) return { ...recorded, index, toolUseId: call.id };
  if (note === undefined) {
    const what = `the outcome of ${call.name} (block ${index} of the last reply) is not recorded under ${key ?? 'no key'}`;
    throw new StoreError('missing', `session ${view.session}: ${what}: restore the store from a backup`);
  }
  // A line about the batch reads it before its end is recorded, and records nothing.
  const fate = item.ended
    ? ({ decision: 'allowed', outcome: 'ok' } as const)
    : item.begun
      ? ({ decision: 'allowed', outcome: 'cancelled' } as const)
      : ({ decision: 'not_run', outcome: item.unknown ? 'unknown' : 'not_run' } as const);
  const log = { key: key ?? null, name: call.name, duration: 0, ...fate };
  return { index, toolUseId: call.id, isError: !item.ended, content: note, log };
}

/** Characters of all outcomes of one reply together. */
export const MESSAGE_LIMIT = 200_000;
/** The most characters that a preview adds around the text it keeps. */
const FRAME = 500;

type StoredBefore = {
  /** Characters of the outcomes of the same reply that are stored already. */
  readonly characters: number;
  readonly media?: readonly StoredMedium[];
  /** Calls of the reply: with very many, previews get shorter. */
  readonly calls: number;
};

/**
 * Fits the outcomes of one reply into one message: together they must not crowd out everything else
 * (L6). Stores the largest outcomes that are not previews yet and replaces them by previews, until
 * all fit or only previews are left. It depends on its arguments alone, so that the choice is the
 * same on every attempt; stored with the entry, it never changes.
 */
export async function fitOutcomes(store: Store, all: readonly Outcome[], before: StoredBefore): Promise<Outcome[]> {
  const outcomes = withFittingMedia(all, before.media ?? []);
  const limit = Math.max(0, Math.min(PREVIEW_LIMIT, Math.floor(MESSAGE_LIMIT / before.calls) - FRAME));
  const fitted = [...outcomes];
  let total = before.characters + countCharacters(outcomes);
  for (const position of largestFirst(outcomes)) {
    if (total <= MESSAGE_LIMIT) break;
    const outcome = outcomes[position] as Outcome;
    if (outcome.content.length <= limit + FRAME) break;
    const replaced = await replaceByPreview(store, outcome, limit);
    total += replaced.content.length - outcome.content.length;
    fitted[position] = replaced;
  }
  return fitted;
}

/**
 * Keeps as many images and documents of one reply as fit into one message, in order, and names
 * those that are left out (L85).
 */
function withFittingMedia(outcomes: readonly Outcome[], before: readonly StoredMedium[]): readonly Outcome[] {
  const accepted = [...before];
  return outcomes.map((outcome) => {
    const { media, ...rest } = outcome;
    if (media === undefined) return outcome;
    if (!fitsMessage([...accepted, ...media]))
      return { ...rest, content: `${rest.content}\n(not shown: ${TOO_MANY_MEDIA}; ask for fewer at once)` };
    accepted.push(...media);
    return outcome;
  });
}

function countCharacters(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, outcome) => sum + outcome.content.length, 0);
}

function largestFirst(outcomes: readonly Outcome[]): number[] {
  const size = (position: number): number => outcomes[position]?.content.length ?? 0;
  const positions = outcomes.flatMap((outcome, position) => (outcome.whole ? [] : [position]));
  return positions.sort((a, b) => size(b) - size(a) || a - b);
}

async function replaceByPreview(store: Store, outcome: Outcome, limit: number): Promise<Outcome> {
  const bytes = Buffer.from(outcome.content);
  const hash = await store.put(bytes);
  const content = previewText(outcome.content, limit, resultName(hash));
  return { ...outcome, content, whole: { hash, bytes: bytes.length } };
}

// Builds the segment that new entries make after a view.
export type NextSegment = {
  readonly hash: Hash;
  readonly bytes: Uint8Array;
  /** The view with the segment, valid once `bytes` are stored. */
  readonly view: View;
};

/**
 * Returns the segment that `entries` (at least one) make after `view`. It is not stored: give
 * `bytes` to `put` or `writeStep`.
 */
export function nextSegment(view: View, entries: readonly Entry[]): NextSegment {
  if (entries.length === 0) throw new RangeError('a segment needs at least one entry');
  const bounded = entries.some(({ kind }) => kind === 'boundary');
  const behind = bounded ? behindOf([...view.entries, ...entries], view.begin) : undefined;
  const bytes = encodeSegment({
    v: 1,
    session: view.session,
    parent: view.head,
    n: view.segments,
    first: view.length,
    ...(hasPage(view.segments) && { page: view.recent }),
    ...(hasNear(view.segments) && { near: view.recent }),
    ...(behind && { behind }),
    entries,
  });
  const hash = hashOf(bytes);
  return { hash, bytes, view: view.grow({ hash, bytes: bytes.length, entries }) };
}

/**
 * Copies waiting calls of threads into the session's transcript, which then shows them whatever
 * becomes of the threads' own (G68). A thread whose transcript cannot be read is left out: its call
 * can be decided in its own session. Throws StoreError.
 */
async function withAskedCalls(store: Store, entry: WaitEntry): Promise<WaitEntry> {
  const calls = await Promise.all(entry.calls.map((one) => withAskedCall(store, one).catch(nullIfDamaged)));
  return { ...entry, calls: calls.filter((one) => one !== null) };
}

function nullIfDamaged(error: unknown): null {
  if (isDamage(error)) return null;
  throw error;
}

async function withAskedCall(store: Store, { head, ...waiting }: WaitingCall): Promise<WaitingCall> {
  const { thread, call } = waiting;
  if (thread === undefined || head === undefined) return waiting;
  const { run, iteration, index } = placeInName(call);
  const { entries } = await loadRun(store, thread, head, { run });
  const reply = entries.findLast((one) => one.kind === 'reply' && one.iteration === iteration);
  const block = reply?.kind === 'reply' ? reply.message.content[index] : undefined;
  if (block?.type !== 'tool_use') throw new StoreError('missing', `thread ${thread} has no call ${call}`);
  return { ...waiting, asked: { tool: block.name, input: block.input as AskedCall['input'] } };
}
