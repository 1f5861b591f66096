// Records what a follower has shown, minus what was taken back, and compares it with the
// transcript. The live channel is best effort; the store is the truth. Each comparison takes back
// what differs and tells what is missing, so that both are equal afterwards, whatever the channel
// has lost, doubled, or kept of an attempt that did not count (L16).
import type { LiveEvent, WatchedEvent } from '../../store/live/events.ts';
import { listContentEvents, listOutcomeEvents, replyEvent, SHOWN_OF_OUTCOME } from '../../store/live/retell.ts';
import { type Outcome, type ReplyEntry, isRepeated } from '../../store/log/entries.ts';
import type { RunEntries } from '../sessions/transcript-reader.ts';

export type Ledger = {
  /** Must be called with every shown event, in order. */
  hear(event: WatchedEvent): void;
  /**
   * Returns the events that make both equal; they count as heard. With `over`, `since` is final and
   * everything is compared. Otherwise only events since the last comparison are, and calls of the
   * last reply may wait for the step that stores their outcomes.
   */
  settle(since: RunEntries, over: boolean): readonly WatchedEvent[];
};

type Place = { readonly step: number; readonly attempt: number };
/** The parts of one reply, each with the place where it was shown. */
type ShownReply = {
  texts: (Place & { text: string })[];
  calls: (Place & { readonly index: number; readonly id: string })[];
  outcomes: (Place & { readonly index: number; readonly isError: boolean; content: string })[];
};

/** Opens a ledger. `run` is the first followed run. */
export function openLedger(run: number): Ledger {
  /** Shown replies by their names. */
  const shown = new Map<string, ShownReply>();
  const unchecked = new Set<string>();
  let current = run;

  const take = (place: Place): void => {
    const stands = (one: Place): boolean => one.step !== place.step || one.attempt !== place.attempt;
    for (const of of shown.values()) {
      of.texts = of.texts.filter(stands);
      of.calls = of.calls.filter(stands);
      of.outcomes = of.outcomes.filter(stands);
    }
  };
  const hear = (event: WatchedEvent): void => {
    if (event.type === 'run_start') current = event.run;
    if (event.type === 'tombstone') return take(event);
    if (!('iteration' in event)) return;
    const name = event.step === 0 ? nameByPosition(event.attempt) : nameByIteration(current, event.iteration);
    const of = shown.get(name) ?? { texts: [], calls: [], outcomes: [] };
    if (!add(of, event)) return;
    shown.set(name, of);
    unchecked.add(name);
  };
  return {
    hear,
    settle: (since, over) => {
      const stored = repliesIn(since);
      const compared = { shown, stored, owners: ownersOf(stored) };
      const wrong = wrongPlaces(compared, over ? shown.keys() : unchecked, over);
      const back = wrong.map((place): WatchedEvent => ({
        type: 'tombstone',
        ...place,
        iteration: null,
        why: OTHERWISE,
      }));
      back.forEach(hear);
      const told = stored.flatMap((one) =>
        missingOf(compared, one).map((event): WatchedEvent => ({ ...event, step: 0, attempt: one.position })),
      );
      told.forEach(hear);
      unchecked.clear();
      return [...back, ...told];
    },
  };
}

const OTHERWISE = 'the transcript has it otherwise';

const nameByPosition = (position: number): string => `at ${position}`;
const nameByIteration = (run: number, iteration: number): string => `${run}.${iteration}`;

function add(of: ShownReply, { step, attempt, ...event }: Exclude<WatchedEvent, { type: 'tombstone' }>): boolean {
  const place = { step, attempt };
  const isOurs = (one: Place): boolean => one.step === step && one.attempt === attempt;
  switch (event.type) {
    case 'text_delta':
    case 'reply': {
      const said = event.type === 'reply' ? '' : event.text;
      const known = of.texts.find(isOurs);
      if (known) known.text += said;
      else of.texts.push({ ...place, text: said });
      return true;
    }
    case 'tool_use':
      of.calls.push({ ...place, index: event.index, id: event.id });
      return true;
    case 'tool_end':
      of.outcomes.push({ ...place, index: event.index, isError: event.isError, content: event.content });
      return true;
    default:
      return false;
  }
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
  readonly shown: ReadonlyMap<string, ShownReply>;
  readonly stored: readonly StoredReply[];
  readonly owners: Owners;
};

/**
 * Finds attempts that have shown anything the transcript lacks. They are taken back completely, and
 * their correct parts are told again.
 */
function wrongPlaces({ shown, stored, owners }: Comparison, names: Iterable<string>, over: boolean): readonly Place[] {
  const wrong = new Map<string, Place>();
  const free = new Set(stored);
  for (const name of names) {
    const { texts = [], calls = [], outcomes = [] } = shown.get(name) ?? {};
    const all = owners.get(name) ?? [];
    const waits = !over && all[0] === stored.at(-1);
    const isWrong = [
      ...texts.filter(({ text }) => {
        const same = all.find((one) => free.has(one) && one.text === text);
        return !same || !free.delete(same);
      }),
      ...calls.filter((call) => !all.some((one) => hasCall(one, call))),
      ...outcomes.filter((outcome) => {
        const kept = all[0]?.outcomes.get(outcome.index);
        return kept ? !isShownAs(kept, outcome) : !waits;
      }),
    ];
    for (const { step, attempt } of isWrong) wrong.set(`${step}.${attempt}`, { step, attempt });
  }
  return [...wrong.values()];
}

function missingOf({ shown, owners }: Comparison, one: StoredReply): readonly LiveEvent[] {
  const { reply, names, text, outcomes } = one;
  const [told, live] = names.map((name) => shown.get(name));
  const texts = [...(told?.texts ?? []), ...(live?.texts ?? [])];
  const calls = [...(told?.calls ?? []), ...(live?.calls ?? [])];
  const results = [...(told?.outcomes ?? []), ...(owners.get(names[1])?.[0] === one ? (live?.outcomes ?? []) : [])];
  const isSaid = texts.some((each) => each.text === text);
  const content = listContentEvents(reply).filter((event) =>
    event.type === 'tool_use'
      ? !isRepeated(reply, event.index) && !calls.some(({ index, id }) => index === event.index && id === event.id)
      : !isSaid,
  );
  const ends = [...outcomes.values()].flatMap((outcome) =>
    results.some((shownOne) => shownOne.index === outcome.index && isShownAs(outcome, shownOne))
      ? []
      : listOutcomeEvents(reply, outcome, false),
  );
  return [...content, ...ends, ...(isSaid ? [] : [replyEvent(reply)])];
}

function hasCall({ reply }: StoredReply, { index, id }: { readonly index: number; readonly id: string }): boolean {
  const block = reply.message.content[index];
  return block?.type === 'tool_use' && block.id === id;
}

function isShownAs(kept: Outcome, shown: Pick<Outcome, 'isError' | 'content'>): boolean {
  // A preview may have replaced what was shown (L6).
  const same = kept.whole !== undefined || kept.content.slice(0, SHOWN_OF_OUTCOME) === shown.content;
  return same && kept.isError === shown.isError;
}
