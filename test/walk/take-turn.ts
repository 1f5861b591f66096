// A turn of a walk: the scripted model asks for one command a step, and before each of its answers
// the folder is looked at, while the product captures it.
import { until } from '../support/until.ts';
import type { Reply } from '../../scripted-model/index.ts';
import { withMeanwhile, type Moment } from './expect-files.ts';
import { compareLooks, lookAtFolder, type FolderLook } from './look-folder.ts';
import type { Operation } from './operations.ts';
import type { ModelRequest } from './product.ts';
import {
  change,
  compareAround,
  compareEntries,
  lookAround,
  lookNow,
  readTranscript,
  withTools,
  type Walk,
} from './walk.ts';
import { MOST_SESSIONS, keysShown, type TurnMoments, type WalkSession } from './walk-session.ts';

type Turn = Extract<Operation, { readonly kind: 'turn' }>;

const FAULTS = {
  overloaded: { status: 529 },
  broken: { status: 500 },
  dropped: { hangUp: true },
  cut: { cutAfterEvent: 3 },
} as const;

const LONGEST_MS = 300_000;

/** Takes a turn of a session, or opens one: the first, or another in the same folder. */
export async function takeTurn(walk: Walk, chosen: WalkSession | null, turn: Turn): Promise<void> {
  const { product, problems } = walk;
  const session = turn.anew === true && walk.sessions.length < MOST_SESSIONS ? null : chosen;
  const key = `${walk.name}t${(walk.count += 1)}`;
  const folder = chosen?.folder ?? walk.folder;
  const moments: TurnMoments = { begin: null, steps: [] };
  const keys = session ? [...keysShown(await readTranscript(walk, session.id)), key] : [key];
  let failing = turn.failing ? 1 : 0;
  let seen: FolderLook | null = null;
  let killed = turn.killedAt === undefined;
  product.answers.set(key, async (request) => {
    const script = turn.meanwhile?.step === request.step ? turn.meanwhile.script : undefined;
    seen = noteMoment(walk, { session, folder, moments }, request.step, script);
    if (request.keys.join() !== keys.join())
      problems.push(`the model was asked about the turns ${request.keys.join()}, not ${keys.join()}`);
    if (!killed && turn.killedAt === request.step) {
      killed = true;
      await product.killWorker();
      await product.startWorker();
      return { fault: { hangUp: true } };
    }
    if (turn.failing?.step === request.step && failing-- > 0) return { fault: FAULTS[turn.failing.how] };
    return replyOf(turn, request);
  });
  const text = `Do it. TURN=${key}`;
  const sent = session
    ? await product.sessions.send(session.id, text)
    : await product.sessions.start(text, { cwd: folder });
  const ended = await waitForEnd(walk, sent.session, sent.messageId);
  if (ended !== 'completed') problems.push(`the turn ${key} ended with ${ended}`);
  const last = moments.steps.at(-1) ?? moments.begin;
  if (!last || !moments.begin || !seen) return void problems.push(`the model was never asked about the turn ${key}`);
  problems.push(...compareLooks(seen, lookAtFolder(folder, walk.contents)).map((what) => `at its end: ${what}`));
  noteTurn(walk, session, { id: sent.session, folder, key, moments, first: moments.begin, last });
}

/** Has a session sum up what was said: nothing goes, and a run has begun and ended. */
export async function compact(walk: Walk, session: WalkSession): Promise<void> {
  const { product, problems } = walk;
  const [entries, around] = [await readTranscript(walk, session.id), lookAround(walk)];
  const ran = await product.run('compact', session.id);
  const ended = ran.status === 0 ? await waitForEnd(walk, session.id, ran.out.trim()) : ran.err;
  if (ended !== 'completed') problems.push(`the compaction ended with ${ended}`);
  problems.push(...compareAround(around, lookAround(walk)));
  problems.push(...compareEntries(entries, await readTranscript(walk, session.id), Infinity));
  session.known = lookNow(walk, session.folder, session);
  session.isNext = true;
  session.wentOn = true;
}

type Underway = { readonly session: WalkSession | null; readonly folder: string; readonly moments: TurnMoments };

/**
 * Notes the moment before a step, in which a person runs `script` while the folder is captured, and
 * returns what lies there then. A step that is asked for again is looked at again.
 */
function noteMoment(walk: Walk, { session, folder, moments }: Underway, step: number, script?: string): FolderLook {
  const before = step === 0 ? session?.known : step === 1 ? moments.begin : moments.steps[step - 2];
  const isNext = step > 0 || (session?.isNext ?? true);
  const seen = lookNow(walk, folder, before ? ({ known: before, isNext } as WalkSession) : null);
  if (script !== undefined) change(walk, folder, script);
  const after = script === undefined ? seen.look : lookAtFolder(folder, walk.contents);
  const moment = script === undefined ? seen : withMeanwhile(seen, after);
  if (step === 0) moments.begin = moment;
  else moments.steps[step - 1] = moment;
  return after;
}

function replyOf({ steps }: Turn, { step }: ModelRequest): Reply {
  const command = steps[step];
  if (command === undefined) return { content: [{ type: 'text', text: 'Done.' }] };
  return { content: [{ type: 'tool_use', name: 'bash', input: { command: withTools(command) } }] };
}

async function waitForEnd({ product }: Walk, id: string, messageId: string): Promise<string> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  for await (const event of product.sessions.follow(id, { messageId, signal }))
    if (event.type === 'result') {
      // A run has ended before its session is at rest.
      await until(async () => (await product.sessions.describe(id)).phase === 'idle');
      return event.reason;
    }
  return 'nothing';
}

type Taken = {
  readonly id: string;
  readonly folder: string;
  readonly key: string;
  readonly moments: TurnMoments;
  readonly first: Moment;
  readonly last: Moment;
};

function noteTurn(walk: Walk, session: WalkSession | null, { id, folder, key, moments, first, last }: Taken): void {
  const of: WalkSession = session ?? {
    id,
    folder,
    turns: new Map(),
    first,
    known: last,
    isNext: true,
    floor: 0,
    last: null,
    others: new Set(),
    wentOn: false,
  };
  of.turns.set(key, moments);
  of.known = last;
  of.isNext = true;
  of.wentOn = true;
  if (!session) walk.sessions.push(of);
}
