// What a walk knows of a session: the moments at which its folder was captured, by the turns of its
// conversation, and what it last did.
import type { Entry } from '../../store/log/entries.ts';
import type { Moment } from './expect-files.ts';
import type { RawPath } from './look-folder.ts';

/** The moments of a turn: before its first step, and after each step that had an effect. */
export type TurnMoments = { begin: Moment | null; readonly steps: Moment[] };

export type LastRewind = {
  /** The folder right before; null where no files went back. */
  readonly before: Moment | null;
  /** The conversation right before; null where it stayed. */
  readonly entries: readonly Entry[] | null;
};

/** A walk has no more sessions than these. */
export const MOST_SESSIONS = 4;

export type WalkSession = {
  readonly id: string;
  readonly folder: string;
  readonly turns: Map<string, TurnMoments>;
  /** Of the first snapshot of its conversation, and the newest one. */
  readonly first: Moment;
  known: Moment;
  /** Empty folders that others have made before its rewinds so far. */
  others: ReadonlySet<RawPath>;
  /** Whether nothing but captures happened since `known`. */
  isNext: boolean;
  /** Positions of entries below it are those of its origin. */
  readonly floor: number;
  last: LastRewind | null;
  /** Whether the session went on since. */
  wentOn: boolean;
};

export function keyOf(entry: Entry): string | undefined {
  if (entry.kind !== 'user' || entry.body.kind !== 'text') return undefined;
  return /TURN=(\w+)/.exec(entry.body.text)?.[1];
}

/** The keys of the turns of a conversation, in order. */
export const keysIn = (entries: readonly Entry[]): readonly string[] => entries.flatMap((entry) => keyOf(entry) ?? []);

/** The keys of the turns that a model is sent: those before a compaction are summed up. */
export function keysShown(entries: readonly Entry[]): readonly string[] {
  const last = entries.findLast((entry) => entry.kind === 'boundary');
  const isShown = (at: number): boolean => !last || at >= last.from || last.prompts.includes(at);
  return keysIn(entries.filter((_, at) => isShown(at)));
}

/** Outcomes of calls that ran and may have had an effect; those without a key had none. */
const isEffect = (entry: Entry): boolean =>
  entry.kind === 'outcomes' && entry.outcomes.some(({ log }) => log.decision === 'allowed' && log.key !== null);

/** Finds the files that belong to a conversation which ends before `position`. */
export function momentBefore(session: WalkSession, entries: readonly Entry[], position: number): Moment | null {
  const next = entries.slice(position).find((entry) => ['user', 'outcomes', 'reply'].includes(entry.kind));
  const key = next && keyOf(next);
  if (key !== undefined) return session.turns.get(key)?.begin ?? null;
  return momentOf(session, entries.slice(0, position));
}

/** Finds the files as they were at an entry: before the calls of a reply, after those of outcomes. */
export function momentAt(session: WalkSession, entries: readonly Entry[], position: number): Moment | null {
  return momentOf(session, entries.slice(0, position + 1));
}

function momentOf({ turns }: WalkSession, entries: readonly Entry[]): Moment | null {
  const at = entries.findLastIndex((entry) => keyOf(entry) !== undefined);
  const asked = entries[at];
  const turn = asked && turns.get(keyOf(asked) ?? '');
  const effects = entries.slice(at).filter(isEffect).length;
  return (effects === 0 ? turn?.begin : turn?.steps[effects - 1]) ?? null;
}

export type Place = { readonly point: string; readonly position: number; readonly kind: Entry['kind'] };

/** Places of a conversation that a person may name: prompts by their ids, replies by their number. */
export function listPlaces(entries: readonly Entry[]): readonly Place[] {
  const places: Place[] = [];
  let run = 1;
  for (const [position, entry] of entries.entries()) {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind === 'user') places.push({ point: entry.id, position, kind: 'user' });
    if (entry.kind === 'reply') places.push({ point: `${run}.${entry.iteration}`, position, kind: 'reply' });
    if (isEffect(entry)) places.push({ point: String(position), position, kind: 'outcomes' });
  }
  return places;
}
