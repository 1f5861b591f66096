// Folds the items of a transcript, one after the other, and keeps the result while it grows: a new
// look costs only what was added (O13).
import type { Outcome } from '../../../store/log/entries.ts';
import { isReply, type Item, type ReplyItem } from './items.ts';

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
