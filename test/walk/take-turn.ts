// A turn of a walk: the scripted model asks for one command a step, and before each of its answers
// the folder is looked at, while the product captures it.
import { until } from '../support/until.ts';
import type { Reply } from '../../scripted-model/index.ts';
import type { Moment } from './expect-files.ts';
import { compareLooks, lookAtFolder } from './look-folder.ts';
import type { Operation } from './operations.ts';
import type { ModelRequest } from './product.ts';
import { lookNow, readTranscript, withTools, type Walk } from './walk.ts';
import { keysIn, type TurnMoments, type WalkSession } from './walk-session.ts';

type Turn = Extract<Operation, { readonly kind: 'turn' }>;

const FAULTS = {
  overloaded: { status: 529 },
  broken: { status: 500 },
  dropped: { hangUp: true },
  cut: { cutAfterEvent: 3 },
} as const;

const LONGEST_MS = 300_000;

/** Takes a turn of a session, or opens the first session. */
export async function takeTurn(walk: Walk, session: WalkSession | null, turn: Turn): Promise<void> {
  const { product, problems } = walk;
  const key = `${walk.name}t${(walk.count += 1)}`;
  const folder = session?.folder ?? walk.folder;
  const moments: TurnMoments = { begin: null, steps: [] };
  const keys = session ? [...keysIn(await readTranscript(walk, session.id)), key] : [key];
  let failing = turn.failing ? 1 : 0;
  let killed = turn.killedAt === undefined;
  product.answers.set(key, async (request) => {
    noteMoment(walk, { session, folder, moments }, request.step);
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
  if (!last || !moments.begin) return void problems.push(`the model was never asked about the turn ${key}`);
  problems.push(...compareLooks(last.look, lookAtFolder(folder, walk.contents)).map((what) => `at its end: ${what}`));
  noteTurn(walk, session, { id: sent.session, folder, key, moments, first: moments.begin, last });
}

type Underway = { readonly session: WalkSession | null; readonly folder: string; readonly moments: TurnMoments };

/** A step that is asked for again is looked at again. */
function noteMoment(walk: Walk, { session, folder, moments }: Underway, step: number): void {
  const before = step === 0 ? session?.known : step === 1 ? moments.begin : moments.steps[step - 2];
  const isNext = step > 0 || (session?.isNext ?? true);
  const seen = lookNow(walk, folder, before ? ({ known: before, isNext } as WalkSession) : null);
  if (step === 0) moments.begin = seen;
  else moments.steps[step - 1] = seen;
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
    wentOn: false,
  };
  of.turns.set(key, moments);
  of.known = last;
  of.isNext = true;
  of.wentOn = true;
  if (!session) walk.sessions.push(of);
}
