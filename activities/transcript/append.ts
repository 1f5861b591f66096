// From what the workflow asks to append to the entries that are stored. They depend on the inputs and on what is recorded,
// never on the time or the attempt: a second attempt makes the same segment with the same hash.
import type { Append, OutcomeItem } from '../../workflows/contract/activities.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import type { Entry, Outcome, ReplyEntry } from './entries.ts';
import { characters, fitOutcomes } from './outcome-budget.ts';
import { type Store, StoreError } from './store.ts';
import { lastReply, type View } from './shared-view.ts';

export type AppendDeps = {
  readonly store: Store;
  /** What `runTool` recorded under a call's key, or null. */
  readonly readOutcome: (key: CallKey) => Promise<Outcome | null>;
};

/** Throws StoreError `missing` when an outcome should be recorded, is not, and no note stands for it. */
export async function prepareAppend(view: View, appends: readonly Append[], deps: AppendDeps): Promise<Entry[]> {
  const round = lastRound(view);
  const entries: Entry[] = [];
  for (const append of appends) {
    if (append.kind !== 'outcomes') {
      entries.push(append);
      continue;
    }
    const outcomes = await newOutcomes(view, round, append.items, deps);
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

/** In the model's order, at most one for each call, those stored already left out (L39), and fitted (L6). */
async function newOutcomes(
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
  const made = await Promise.all(inOrder.map((item) => outcomeOf(view, reply, item, deps)));
  return fitOutcomes(deps.store, made, {
    characters: characters(outcomes),
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
  const outcome = item.unknown ? 'unknown' : 'not_run';
  const log = { key: key ?? null, name: call.name, decision: 'not_run', duration: 0, outcome } as const;
  return { index, toolUseId: call.id, isError: true, content: note, log };
}
