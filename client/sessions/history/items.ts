// Prepares a transcript for people: entries in order, each with its run, and each call with its
// outcome, which is stored after it. It grows with the transcript and reports which older items an
// addition changes.
import type { Entry, Outcome, ReplyEntry } from '../../../store/log/entries.ts';

export type Item = {
  readonly position: number;
  readonly entry: Entry;
  readonly run: number;
  /** Outcomes of a reply's calls, by the index of their block. */
  readonly outcomes: ReadonlyMap<number, Outcome>;
  /**
   * Name of a reply in links; null for other entries. If an iteration has two replies, the second
   * sums up the run (L51).
   */
  readonly anchor: string | null;
};

export type ReplyItem = Item & { readonly entry: ReplyEntry; readonly anchor: string };

export type Items = {
  readonly all: readonly Item[];
  /** The entry of each. */
  readonly entries: readonly Entry[];
  /** Returns the new items and the older ones that have changed. */
  add(entries: readonly Entry[]): { readonly added: readonly Item[]; readonly changed: readonly Item[] };
  /** Returns the first reply of an iteration, named `run.iteration`. */
  reply(name: string): ReplyItem | undefined;
};

export function transcriptItems(first = 0): Items {
  const all: Item[] = [];
  const allEntries: Entry[] = [];
  const replies = new Map<string, number>();
  let run = 1;
  let last = -1;
  const itemOf = (entry: Entry): Item => {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind === 'run_ended') run = entry.ended.run;
    const at = { position: first + all.length, entry, run, outcomes: new Map<number, Outcome>() };
    if (entry.kind !== 'reply') return { ...at, anchor: null };
    const name = `${run}.${entry.iteration}`;
    last = all.length;
    if (replies.has(name)) return { ...at, anchor: `${run}-${entry.iteration}-end` };
    replies.set(name, all.length);
    return { ...at, anchor: `${run}-${entry.iteration}` };
  };
  /** The first outcome of a call counts (L39). */
  const adopt = (outcomes: readonly Outcome[]): Item | null => {
    const item = all[last];
    if (!item) return null;
    const known = new Map(item.outcomes);
    for (const outcome of outcomes) if (!known.has(outcome.index)) known.set(outcome.index, outcome);
    return (all[last] = { ...item, outcomes: known });
  };
  return {
    all,
    entries: allEntries,
    add: (entries) => {
      const before = all.length;
      const touched = new Set<number>();
      for (const entry of entries) {
        if (entry.kind === 'outcomes' && adopt(entry.outcomes)) touched.add(last);
        all.push(itemOf(entry));
        allEntries.push(entry);
      }
      const changed = [...touched].filter((index) => index < before).flatMap((index) => all[index] ?? []);
      return { added: all.slice(before), changed };
    },
    reply: (name) => {
      const item = all[replies.get(name) ?? -1];
      return item && isReply(item) ? item : undefined;
    },
  };
}

export function isReply(item: Item): item is ReplyItem {
  return item.entry.kind === 'reply';
}

/**
 * Returns the position that a link means, to an iteration (`2.17`), an entry (`e300`) or a run
 * (`r2`); null when it does not exist.
 */
export function positionOf(items: Items, at: string): number | null {
  const named = /^(\d{1,9})\.(\d{1,9})$/.exec(at);
  if (named) return items.reply(`${Number(named[1])}.${Number(named[2])}`)?.position ?? null;
  const run = /^r(\d{1,9})$/.exec(at)?.[1];
  if (run !== undefined) {
    const started = items.all.find(({ entry }) => entry.kind === 'run_started' && entry.run === Number(run));
    return started?.position ?? null;
  }
  const entry = /^e(\d{1,9})$/.exec(at)?.[1];
  const position = entry === undefined ? -1 : Number(entry);
  const from = items.all[0]?.position ?? 0;
  return position >= from && position < from + items.all.length ? position : null;
}

// Folds the items of a transcript, one after the other, and keeps the result while it grows: a new
// look costs only what was added (O13).
/**
 * An item may be added before the outcomes of its calls are known, so `add` learns of these by the
 * entries that bring them.
 */
export type ItemFold<State> = { begin(): State; add(state: State, item: Item): void };

type Known = { length: number; readonly state: unknown };

/** By list of items, which only grows, and by fold. */
const known = new WeakMap<readonly Item[], Map<object, Known>>();

/** Returns the state after all items. It changes when it is asked for after the list has grown. */
export function foldItems<State>(fold: ItemFold<State>, items: readonly Item[]): State {
  const folds = known.get(items) ?? new Map<object, Known>();
  known.set(items, folds);
  const found = folds.get(fold) ?? { length: 0, state: fold.begin() };
  folds.set(fold, found);
  const state = found.state as State;
  for (; found.length < items.length; found.length += 1) fold.add(state, items[found.length] as Item);
  return state;
}

/** A call as its reply asks for it. */
export type OpenCall = {
  readonly reply: ReplyItem;
  readonly index: number;
  /** Its name in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
};

/** The calls of the last reply that have no outcome yet, by the index of their block. */
export type OpenCalls = Map<number, OpenCall>;

type CallNews = {
  readonly asked: readonly OpenCall[];
  readonly ended: readonly { readonly call: OpenCall; readonly outcome: Outcome }[];
};

const NO_NEWS: CallNews = { asked: [], ended: [] };

/** Returns what an item tells of calls. The first outcome of a call counts (L39). */
export function takeCalls(open: OpenCalls, item: Item): CallNews {
  if (isReply(item)) {
    open.clear();
    for (const call of callsOf(item)) open.set(call.index, call);
    return { asked: [...open.values()], ended: [] };
  }
  const { entry } = item;
  if (entry.kind !== 'outcomes') return NO_NEWS;
  const completed = entry.outcomes.flatMap((outcome) => {
    const call = open.get(outcome.index);
    open.delete(outcome.index);
    return call ? [{ call, outcome }] : [];
  });
  return { asked: [], ended: completed };
}

export function callsOf(reply: ReplyItem): readonly OpenCall[] {
  return reply.entry.message.content.flatMap((block, index) => {
    if (block.type !== 'tool_use') return [];
    const input = typeof block.input === 'object' && block.input !== null ? block.input : {};
    return [{ reply, index, anchor: `${reply.anchor}-${index}`, name: block.name, input: input as OpenCall['input'] }];
  });
}
