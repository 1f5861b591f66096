// Records what a follower has shown, minus what was taken back, and compares it with the
// transcript. The live channel is best effort; the store is the truth. Each comparison takes back
// what differs and adds what is missing, so both are equal afterwards, whatever the channel has
// lost, doubled, or kept of an attempt that did not count (L16).
import { type LiveEvent, tombstoneOf, type WatchedEvent, type ChannelItem } from '../../store/live/events.ts';
import type { AttemptName } from '../../store/live/files.ts';
import { listContentEvents, listOutcomeEvents, replyEvent, SHOWN_OF_OUTCOME } from '../../store/live/tell.ts';
import { type Outcome, type ReplyEntry, isRepeated } from '../../store/log/entries.ts';
import { attemptName, type ItemEvent, type ViewItem, LiveView, reduceLive } from '../view/reduce-live.ts';
import type { RunEntries, EntryMark, TranscriptReader } from '../sessions/transcript-reader.ts';
import { StoreError } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';

type Ledger = {
  /** Must be called with every shown event, in order. */
  hear(event: WatchedEvent): void;
  /**
   * Returns the events that make both equal; they count as heard. With `over`, `since` is final and
   * everything is compared. Otherwise only events since the last comparison are, and calls of the
   * last reply may wait for the step that stores their outcomes.
   */
  settle(since: RunEntries, over: boolean): readonly WatchedEvent[];
};

/** Opens a ledger. `run` is the first followed run. */
function openLedger(run: number): Ledger {
  const view = new LiveView(run);
  /** The items of shown replies, by the names of these. */
  const visible = new Map<string, Set<ViewItem>>();
  const unchecked = new Set<string>();

  const hear = (event: WatchedEvent): void => {
    // An input is not compared, and may be large.
    for (const change of reduceLive(view, event.type === 'tool_use' ? { ...event, input: null } : event)) {
      if (change.do === 'revoke') for (const item of change.items) visible.get(replyName(item))?.delete(item);
      if ((change.do !== 'put' && change.do !== 'patch') || !COMPARED.has(change.item.event.type)) continue;
      const name = replyName(change.item);
      visible.set(name, (visible.get(name) ?? new Set<ViewItem>()).add(change.item));
      unchecked.add(name);
    }
  };
  return {
    hear,
    settle: (since, over) => {
      const stored = repliesIn(since);
      const visibleParts: Comparison['visibleParts'] = (...names) =>
        partsOf(names.flatMap((name) => [...(visible.get(name) ?? [])]));
      const compared = { visibleParts, stored, owners: ownersOf(stored) };
      const wrong = wrongPlaces(compared, over ? visible.keys() : unchecked, over);
      const back = wrong.map((place) => tombstoneOf(place, { why: 'the transcript has it otherwise' }));
      back.forEach(hear);
      const missing = stored.flatMap((one) =>
        missingOf(compared, one).map((event): WatchedEvent => ({ ...event, step: 0, attempt: one.position })),
      );
      missing.forEach(hear);
      unchecked.clear();
      return [...back, ...missing];
    },
  };
}

const COMPARED: ReadonlySet<string> = new Set(['text_delta', 'reply', 'tool_use', 'tool_end']);

const nameByPosition = (position: number): string => `at ${position}`;
const nameByIteration = (run: number, iteration: number): string => `${run}.${iteration}`;

/** Events without an iteration get a name that no reply has. */
function replyName({ event, run }: ViewItem): string {
  if (event.step === 0) return nameByPosition(event.attempt);
  return nameByIteration(run, 'iteration' in event ? event.iteration : 0);
}

type Told<Type extends ItemEvent['type']> = Extract<ItemEvent, { readonly type: Type }>;

/** The shown parts of one reply, with a text for each attempt that told some of it. */
type ShownParts = {
  readonly texts: readonly (AttemptName & { readonly text: string })[];
  readonly calls: readonly Told<'tool_use'>[];
  readonly outcomes: readonly Told<'tool_end'>[];
};

function partsOf(items: readonly ViewItem[]): ShownParts {
  const texts = new Map<string, AttemptName & { text: string }>();
  for (const { event, text } of items) {
    if (event.type !== 'text_delta' && event.type !== 'reply') continue;
    const { step, attempt } = event;
    const previous = texts.get(attemptName(event)) ?? { step, attempt, text: '' };
    texts.set(attemptName(event), { ...previous, text: previous.text + text });
  }
  const events = items.map(({ event }) => event);
  return {
    texts: [...texts.values()],
    calls: events.filter((event) => event.type === 'tool_use'),
    outcomes: events.filter((event) => event.type === 'tool_end'),
  };
}

type StoredReply = {
  readonly position: number;
  readonly reply: ReplyEntry;
  /** The name under which the transcript tells it, and the name that live events give it. */
  readonly names: readonly [string, string];
  readonly text: string;
  readonly outcomes: Map<number, Outcome>;
};

function repliesIn({ run: from, first, entries }: RunEntries): readonly StoredReply[] {
  const found: StoredReply[] = [];
  let run = from;
  for (const [offset, entry] of entries.entries()) {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind === 'run_ended') run = entry.ended.run + 1;
    if (entry.kind === 'outcomes') for (const one of entry.outcomes) found.at(-1)?.outcomes.set(one.index, one);
    if (entry.kind !== 'reply') continue;
    const text = entry.message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const position = first + offset;
    const names = [nameByPosition(position), nameByIteration(run, entry.iteration)] as const;
    found.push({ position, reply: entry, names, text, outcomes: new Map() });
  }
  return found;
}

type Owners = ReadonlyMap<string, readonly StoredReply[]>;

/**
 * Groups replies by name. If two share a name, the second sums up the run, and none of its calls
 * runs (L51).
 */
function ownersOf(stored: readonly StoredReply[]): Owners {
  const owners = new Map<string, StoredReply[]>();
  for (const one of stored) for (const name of one.names) owners.set(name, [...(owners.get(name) ?? []), one]);
  return owners;
}

type Comparison = {
  /** Returns what was shown of the replies of these names. */
  readonly visibleParts: (...names: readonly string[]) => ShownParts;
  readonly stored: readonly StoredReply[];
  readonly owners: Owners;
};

/**
 * Finds attempts that have shown anything the transcript lacks. They are taken back completely, and
 * their correct parts are told again.
 */
function wrongPlaces(
  { visibleParts, stored, owners }: Comparison,
  names: Iterable<string>,
  over: boolean,
): readonly AttemptName[] {
  const wrong = new Map<string, AttemptName>();
  const free = new Set(stored);
  for (const name of names) {
    const { texts, calls, outcomes } = visibleParts(name);
    const all = owners.get(name) ?? [];
    const waits = !over && all[0] === stored.at(-1);
    const isWrong = [
      ...texts.filter(({ text }) => {
        const same = all.find((one) => free.has(one) && one.text === text);
        return !same || !free.delete(same);
      }),
      ...calls.filter((call) => !all.some((one) => hasCall(one, call))),
      ...outcomes.filter((outcome) => {
        const expected = all[0]?.outcomes.get(outcome.index);
        return expected ? !isShownAs(expected, outcome) : !waits;
      }),
    ];
    for (const { step, attempt } of isWrong) wrong.set(`${step}.${attempt}`, { step, attempt });
  }
  return [...wrong.values()];
}

function missingOf({ visibleParts, owners }: Comparison, one: StoredReply): readonly LiveEvent[] {
  const { reply, names, text, outcomes } = one;
  const { texts, calls } = visibleParts(...names);
  const isFirst = owners.get(names[1])?.[0] === one;
  const { outcomes: results } = visibleParts(...names.slice(0, isFirst ? 2 : 1));
  const isSaid = texts.some((each) => each.text === text);
  const content = listContentEvents(reply).filter((event) =>
    event.type === 'tool_use'
      ? !isRepeated(reply, event.index) && !calls.some(({ index, id }) => index === event.index && id === event.id)
      : !isSaid,
  );
  const ends = [...outcomes.values()].flatMap((outcome) =>
    results.some((part) => part.index === outcome.index && isShownAs(outcome, part))
      ? []
      : listOutcomeEvents(reply, outcome, false),
  );
  return [...content, ...ends, ...(isSaid ? [] : [replyEvent(reply)])];
}

function hasCall({ reply }: StoredReply, { index, id }: { readonly index: number; readonly id: string }): boolean {
  const block = reply.message.content[index];
  return block?.type === 'tool_use' && block.id === id;
}

function isShownAs(stored: Outcome, visible: Pick<Outcome, 'isError' | 'content'>): boolean {
  // A preview may have replaced what was shown (L6).
  const same = stored.whole !== undefined || stored.content.slice(0, SHOWN_OF_OUTCOME) === visible.content;
  return same && stored.isError === visible.isError;
}

type Converger = {
  /** Returns the events to show for `item`: itself, or the transcript's version if that differs. */
  pass(item: ChannelItem): Promise<readonly WatchedEvent[]>;
  /**
   * Run `run` has ended: returns the events that make all that was shown of it, and of earlier
   * runs, equal to what `head` stores.
   */
  end(head: Hash, run: number): Promise<readonly WatchedEvent[]>;
};

/**
 * Keeps what a follower shows equal to the transcript: compares the two after each step that stored
 * something, and completely at a run's end. `from` is the first followed run. `onHead` gets each
 * head that a step has stored, after `reader` has looked at it.
 */
export function createConverger(
  reader: Pick<TranscriptReader, 'since'>,
  session: SessionId,
  from: number,
  onHead: (head: Hash) => void = () => undefined,
): Converger {
  let first = from;
  let ledger = openLedger(first);
  /** Where the next comparison begins; everything before it has been compared. */
  let next: EntryMark | undefined;

  const step = async (head: Hash): Promise<readonly WatchedEvent[]> => {
    const since = await readIfStored(reader.since(session, head, first, next));
    next = (since && lastReply(since)) ?? next;
    onHead(head);
    return since ? ledger.settle(since, false) : [];
  };
  const end: Converger['end'] = async (head, run) => {
    if (run < first) return [];
    const since = await readIfStored(reader.since(session, head, first));
    const events = since ? ledger.settle(trimAfterRun(since, run), true) : [];
    first = run + 1;
    ledger = openLedger(first);
    next = undefined;
    return events;
  };
  return {
    end,
    pass: async (item) => {
      if (item.type === 'stored') return step(item.head);
      if (item.type === 'run_end') return [...(await end(item.head, item.ended.run)), item];
      ledger.hear(item);
      return [item];
    },
  };
}

/** Returns null for an unreadable transcript. The reader of the run's end reports why. */
async function readIfStored(reading: Promise<RunEntries>): Promise<RunEntries | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

/** Finds the last reply, since its calls may still get outcomes. */
function lastReply({ run: from, first, entries }: RunEntries): EntryMark | null {
  const offset = entries.findLastIndex(({ kind }) => kind === 'reply');
  const entry = entries[offset];
  if (!entry) return null;
  const started = entries.slice(0, offset).findLast(({ kind }) => kind === 'run_started');
  return { run: started?.kind === 'run_started' ? started.run : from, position: first + offset, entry };
}

function trimAfterRun({ run: from, first, entries }: RunEntries, run: number): RunEntries {
  const end = entries.findIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  return { run: from, first, entries: end < 0 ? entries : entries.slice(0, end + 1) };
}
