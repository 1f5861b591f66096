// Rewinds and undos of a walk, held against the model: files, conversation, what lies around, and
// refusals that name a file and change nothing (T6, T7).
import type { Entry } from '../../store/log/entries.ts';
import { showPath } from '../../store/snapshots/listing.ts';
import {
  checkFiles,
  expectFiles,
  findOthersFolders,
  type Expected,
  type Going,
  type IsHeld,
  type Moment,
} from './expect-files.ts';
import { compareLooks, isSame, lookAtFolder, type RawPath } from './look-folder.ts';
import type { Operation } from './operations.ts';
import type { Ran } from './product.ts';
import { compareAround, compareEntries, lookAround, lookNow, readTranscript, type Walk } from './walk.ts';
import { listPlaces, momentBefore, type Place, type WalkSession } from './walk-session.ts';

type Rewind = Extract<Operation, { readonly kind: 'rewind' }>;
type Undo = Extract<Operation, { readonly kind: 'undo' }>;

/** The means to carry a rewind out: the command line, or one that is killed in the middle. */
export type RunRewind = (...args: readonly string[]) => Promise<Ran>;

type Asked = {
  readonly args: readonly string[];
  /** The files to go back to; null where they stay. */
  readonly past: Moment | null;
  readonly force: boolean;
  readonly entries: readonly Entry[];
  /** The conversation to go back to; null where it stays. */
  readonly kept: readonly Entry[] | null;
  /** A sentence that must refuse it, whatever the files are. */
  readonly refused?: RegExp;
  /** It may be refused, whatever the files are. */
  readonly mayBeRefused?: boolean;
};

export async function goBack(walk: Walk, session: WalkSession, rewind: Rewind, run: RunRewind): Promise<void> {
  const entries = await readTranscript(walk, session.id);
  const places = listPlaces(entries).filter(({ kind }) => kind !== 'outcomes');
  const users = places.filter(({ kind }) => kind === 'user');
  const place = rewind.to === null ? users.at(-1) : places[rewind.to % places.length];
  if (!place) return;
  const position = await findBeginning(walk, session, place);
  const isFork = position < session.floor;
  const goesFiles = rewind.part !== 'conversation';
  const past = goesFiles ? momentBefore(session, entries, position) : null;
  if (goesFiles && past === null) return void walk.problems.push(`no moment was seen before ${position}`);
  const part = rewind.part === 'both' ? [] : [`--${rewind.part}`];
  const force = rewind.force ? ['--force'] : [];
  const to = rewind.to === null ? [] : ['--to', place.point];
  await carryOut(walk, session, run, {
    args: [...to, ...part, ...force],
    past,
    force: rewind.force,
    entries,
    kept: rewind.part === 'files' ? null : entries.slice(0, position),
    // Its files alone may have gone further back with its origin.
    ...(isFork && (rewind.part === 'files' ? { mayBeRefused: true } : { refused: /the fork begins/i })),
  });
}

/** Asks where the step begins in which a place lies: a conversation goes back to a step's beginning. */
async function findBeginning({ product }: Walk, { id }: WalkSession, { point, position }: Place): Promise<number> {
  const asked = { to: point, dryRun: true, conversation: false };
  const planned = await product.sessions.rewind(id, asked).catch(() => null);
  return planned?.position ?? position;
}

export async function undo(walk: Walk, session: WalkSession, { force }: Undo, run: RunRewind): Promise<void> {
  const entries = await readTranscript(walk, session.id);
  const { last } = session;
  await carryOut(walk, session, run, {
    args: ['--undo', ...(force ? ['--force'] : [])],
    past: last?.before ?? null,
    force,
    entries,
    kept: last?.entries ?? null,
    ...(last === null ? { refused: /./ } : session.wentOn && { mayBeRefused: true }),
  });
}

async function carryOut(walk: Walk, session: WalkSession, run: RunRewind, asked: Asked): Promise<void> {
  const { problems } = walk;
  const { folder } = session;
  const [now, around] = [lookNow(walk, folder, session), lookAround(walk, folder)];
  const { known, others } = session;
  const going = asked.past && { now, known, past: asked.past, others, force: asked.force };
  const expected = going && expectFiles(going);
  const ran = await run('rewind', session.id, ...asked.args);
  const after = lookAtFolder(folder, walk.contents);
  problems.push(...compareAround(around, lookAround(walk, folder)));
  const entries = await readTranscript(walk, session.id);
  if (ran.status !== 0) {
    problems.push(...checkRefusal(asked, expected, ran));
    problems.push(...compareLooks(now.look, after).map((what) => `refused, and yet ${what}`));
    problems.push(...compareEntries(asked.entries, entries, 0));
    if (going) noteLook(session, going.now);
    return;
  }
  if (asked.refused) problems.push(`it was not refused with ${asked.refused}`);
  for (const [path, why] of expected?.stops ?? []) problems.push(`it went back, although of ${path} ${why}`);
  if (going && expected) problems.push(...checkFiles(going, expected, after));
  else problems.push(...compareLooks(now.look, after));
  problems.push(...compareEntries(asked.kept ?? asked.entries, entries, 1));
  noteGone(walk, session, asked, going);
}

/** What a rewind has looked at before it was refused may be captured from here on, as it is (T2). */
function noteLook(session: WalkSession, now: Moment): void {
  const { known } = session;
  const isNew = ([path, is]: readonly [RawPath, IsHeld]): boolean =>
    is !== 'no' && (known.held.get(path) ?? 'no') === 'no';
  const seen = [...now.held].filter(isNew).map(([path]): [RawPath, IsHeld] => [path, 'maybe']);
  session.known = { ...known, held: new Map([...known.held, ...seen]) };
}

function checkRefusal({ refused, mayBeRefused }: Asked, expected: Expected | null, { err }: Ran): readonly string[] {
  if (refused) return refused.test(err) ? [] : [`it was refused with ${err}`];
  if (mayBeRefused) return [];
  const paths = [...(expected?.stops.keys() ?? []), ...(expected?.mayStop.keys() ?? [])];
  if (paths.length === 0) return [`it was refused: ${problemIn(err)}`];
  return paths.some((path) => err.includes(showPath(path)))
    ? []
    : [`the refusal names none of ${paths.slice(0, 5).join(', ')}: ${problemIn(err)}`];
}

const problemIn = (err: string): string => err.slice(err.lastIndexOf('perdure: '));

function noteGone(walk: Walk, session: WalkSession, asked: Asked, going: Going | null): void {
  session.last = { before: going?.now ?? null, entries: asked.kept && asked.entries };
  session.wentOn = false;
  if (!going) return;
  const is = lookNow(walk, session.folder, null);
  const held = [...is.held.keys()].map((path) => {
    const isOfThen = isSame(is.look.entries.get(path), going.past.look.entries.get(path));
    if (isOfThen && going.past.held.get(path) === 'yes') return [path, 'yes'] as const;
    // What was captured, or is seen now, may be captured from here on.
    const isSeen = [going.now.held.get(path), is.held.get(path)].some((one) => one !== undefined && one !== 'no');
    return [path, isSeen ? 'maybe' : 'no'] as const;
  });
  // A folder that stayed for what it has is in no snapshot.
  const folders = [...is.folders].filter((path) => going.past.folders.has(path));
  session.others = findOthersFolders(going);
  session.known = { ...is, held: new Map(held), folders: new Set(folders) };
  session.isNext = false;
}
