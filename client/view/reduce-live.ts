// The only fold of the live channel: events in, changes of items out. An item belongs to the
// attempt that told it; it goes when that attempt becomes void (L16), or when its step is stored.
// Pure, and an event costs the same however much the view holds.
import { RecentMap } from '../../system/recent-map.ts';
import { type ChannelItem, isTombstone, type LiveEvent, type PlacedTombstone } from '../../store/live/events.ts';
import type { AttemptName } from '../../store/live/files.ts';

type Placed<Event> = Event & AttemptName;

/** An event that becomes an item, or a part of one. */
export type ItemEvent = Placed<
  Exclude<LiveEvent, { readonly type: 'run_start' | 'run_end' | 'tool_start' | 'tool_progress' }>
>;

export type ViewItem = {
  /** Its number in the view. */
  readonly id: number;
  readonly run: number;
  /** The event that told it; the first of a block that streams. */
  readonly event: ItemEvent;
  /**
   * Names what a step appends to the transcript. It stays true when the attempt dies, and the next
   * one tells it again. Null for everything else.
   */
  readonly fact: string | null;
  /** All that a block has streamed so far. */
  text: string;
};

export type Revocation = {
  readonly do: 'revoke';
  readonly tombstone: PlacedTombstone;
  readonly items: readonly ViewItem[];
  /** The attempt has told words, or of calls. */
  readonly hadOutput: boolean;
};

export type ViewChange =
  /** `again`: it is a fact of an attempt that died. */
  | { readonly do: 'put'; readonly item: ViewItem; readonly again: boolean }
  /** A block has streamed `text` as well. */
  | { readonly do: 'patch'; readonly item: ViewItem; readonly text: string }
  /** The reply that was asked for, or the transcript, has come in their place. */
  | { readonly do: 'drop'; readonly items: readonly ViewItem[] }
  | Revocation;

export class LiveView {
  /** The run that events belong to. */
  run: number;
  /** Items by attempt, in the order in which they were told. */
  readonly attempts: RecentMap<string, Map<string, ViewItem>>;
  readonly withOutput = new Set<string>();
  /** Facts of attempts that died, until another tells them, or a reply that is stored with them. */
  readonly pendingFacts = new Map<string, ViewItem>();
  /** Number of items so far. */
  count = 0;

  /** `most`: the number of attempts whose items are kept. */
  constructor(run = 0, most = Infinity) {
    this.run = run;
    this.attempts = new RecentMap(most);
  }

  get items(): readonly ViewItem[] {
    return listItems(this.attempts.values());
  }
}

/** A fact that two attempts have told is listed once. */
function listItems(attempts: Iterable<ReadonlyMap<string, ViewItem>>): readonly ViewItem[] {
  return [...new Set([...attempts].flatMap((items) => [...items.values()]))];
}

/** Changes the view by an event, and returns what has changed. */
export function reduceLive(view: LiveView, event: ChannelItem): readonly ViewChange[] {
  if (isTombstone(event)) return [revokeAttempt(view, event)];
  if (/^(?:text|thinking|tool)_/.test(event.type)) view.withOutput.add(attemptName(event));
  switch (event.type) {
    case 'run_start':
      view.run = event.run;
      return [];
    case 'tool_start':
    case 'tool_progress':
      return [];
    case 'stored':
      // A stored step was preceded by all earlier ones.
      return dropThrough(view, event.step);
    case 'run_end':
      // The transcript has the whole run by now, whatever the channel tells again of it.
      return dropThrough(view, Infinity);
    default:
      return tellItem(view, event);
  }
}

/** The name of an attempt of a step, `step.attempt`. */
export const attemptName = ({ step, attempt }: AttemptName): string => `${step}.${attempt}`;

function itemsOf({ attempts }: LiveView, place: AttemptName): Map<string, ViewItem> {
  const name = attemptName(place);
  const items = attempts.get(name) ?? new Map<string, ViewItem>();
  if (!attempts.has(name)) attempts.set(name, items);
  return items;
}

function tellItem(view: LiveView, event: ItemEvent): readonly ViewChange[] {
  const { run, pendingFacts } = view;
  const items = itemsOf(view, event);
  const fact = factOf(event);
  const key = fact ?? keyOf(event, view.count);
  const known = items.get(key);
  const text = event.type === 'text_delta' || event.type === 'thinking_delta' ? event.text : null;
  if (known && text !== null) {
    known.text += text;
    return [{ do: 'patch', item: known, text }];
  }
  const again = pendingFacts.get(key);
  const item = again ?? { id: known?.id ?? (view.count += 1), run, event, fact, text: text ?? '' };
  items.set(key, item);
  pendingFacts.delete(key);
  // The facts before a reply are stored with it.
  if (event.type === 'reply') pendingFacts.clear();
  return [...answerRequest(items, event), { do: 'put', item, again: again !== undefined }];
}

/** The request of an attempt goes when its reply begins. */
function answerRequest(items: Map<string, ViewItem>, { type }: ItemEvent): readonly ViewChange[] {
  const request = items.get('request_start');
  if (!request || !/^(?:text_delta|thinking_delta|tool_use|reply)$/.test(type)) return [];
  items.delete('request_start');
  return [{ do: 'drop', items: [request] }];
}

function dropThrough({ attempts, withOutput }: LiveView, step: number): readonly ViewChange[] {
  const over = [...attempts].filter(([name]) => Number.parseInt(name, 10) <= step);
  for (const [name] of over) {
    attempts.delete(name);
    withOutput.delete(name);
  }
  return [{ do: 'drop', items: listItems(over.map(([, items]) => items)) }];
}

function revokeAttempt(view: LiveView, tombstone: PlacedTombstone): Revocation {
  const items = itemsOf(view, tombstone);
  const revoked: ViewItem[] = [];
  for (const [key, item] of items) {
    if (item.fact !== null) view.pendingFacts.set(key, item);
    // It stays true that there is a retry, and why.
    else if (item.event.type !== 'retry' && items.delete(key)) revoked.push(item);
  }
  return { do: 'revoke', items: revoked, tombstone, hadOutput: view.withOutput.delete(attemptName(tombstone)) };
}

/** The key of a block goes on with it, that of a request or a retry replaces it. */
function keyOf(event: ItemEvent, count: number): string {
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
      return `${event.type} ${event.iteration} ${event.index}`;
    case 'request_start':
    case 'retry':
      return event.type;
    default:
      return `${count}`;
  }
}

/** Names a fact in the same way whichever attempt tells it. */
function factOf(event: ItemEvent): string | null {
  switch (event.type) {
    case 'user':
      return `user ${event.id}`;
    case 'transition':
      return `transition ${event.iteration} ${event.reason}`;
    case 'microcompact':
      return `microcompact ${event.before}`;
    case 'collapse_committed':
      return `collapse_committed ${event.count}`;
    case 'snip':
    case 'steered':
    case 'notice': {
      const { step: _step, attempt: _attempt, ...fact } = event;
      return JSON.stringify(fact);
    }
    default:
      return null;
  }
}
