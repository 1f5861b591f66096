// Forks the sessions of query(), goes back in them, and brings their files back, as the SDK does:
// points are messages, by their uuids.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry, OpenedServer, ForWorkers } from '../../faces/types.ts';
import { forItsProgram, isForItsProgram } from '../../faces/contract.ts';
import { newSessionId } from '../../faces/basics.ts';
import { ClientProblem } from '../../faces/start.ts';
import { resultUuid } from '../tool-responses.ts';
import { uuidOf } from '../values.ts';
import type { Options } from '../shapes/options.ts';
import type { RewindFilesResult } from '../shapes/query.ts';

type Sessions = Pick<OpenedServer, 'sessions'>;

export type ForkAsked = {
  readonly origin: string;
  /** The id of the fork; absent: a new one. */
  readonly newId?: string | undefined;
  /** The uuid of the last message that the fork has; absent: all of them. */
  readonly upTo?: string | undefined;
  /** Absent: those that the origin is for, or the program that goes on with the fork. */
  readonly workers?: ForWorkers;
};

/** Returns the id of the fork. It works in the same folder. Throws ClientProblem. */
export async function forkUpTo({ sessions }: Sessions, { origin, newId, upTo, workers }: ForkAsked): Promise<string> {
  const session = newId ?? newSessionId();
  const { taskQueue, configuration } = await sessions.describe(origin);
  const own = isForItsProgram({ taskQueue }, origin) ? { ...forItsProgram(session), configuration } : null;
  const at = upTo === undefined ? undefined : (await findMessage({ sessions }, origin, upTo)) + 1;
  const { session: fork } = await sessions.fork(origin, {
    newId: session,
    files: false,
    ...(at !== undefined && { at }),
    ...((workers ?? own) && { workers: (workers ?? own) as ForWorkers }),
  });
  return fork;
}

/**
 * Makes the session of a query end with the message of the model that `resumeSessionAt` names, or
 * be empty where it names the first prompt. What came after it stays stored, and is never sent.
 * Throws ClientProblem `refused`.
 */
export async function resumeAt(
  { sessions }: Sessions,
  session: string,
  { resumeSessionAt, resumeDropsTurn }: Options,
): Promise<void> {
  if (resumeSessionAt === undefined) return;
  const position = await findMessage({ sessions }, session, resumeSessionAt);
  const later = await entriesAfter({ sessions }, session, position);
  const foreign = later.find(
    (each) => each.entry.kind === 'user' && resumeDropsTurn !== undefined && !isMessage(session, each, resumeDropsTurn),
  );
  if (foreign)
    throw new ClientProblem(
      'refused',
      `Resume rejected by --resume-drops-turn: entry ${foreign.position} is a message of another turn`,
    );
  const next = later.find(({ entry }) => entry.kind === 'reply' || entry.kind === 'run_started');
  if (next === undefined) return;
  await awaitRest({ sessions }, session);
  const { position: target, rewind } = await sessions.rewind(session, {
    to: next.position,
    files: false,
    dryRun: 'snapshots',
  });
  // Before the first prompt is nothing: the conversation is empty then.
  if (target <= position && rewind.to !== null)
    throw new ClientProblem(
      'refused',
      'A session continues after a message of the model. Name one of those, or set forkSession.',
    );
  await sessions.rewind(session, { to: next.position, files: false });
}

/** Brings the files of a session back to how they were at a message of its user. */
export async function rewindFilesTo(
  { sessions }: Sessions,
  session: string,
  uuid: string,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<RewindFilesResult> {
  try {
    const to = await findMessage({ sessions }, session, uuid);
    if (!dryRun) await awaitRest({ sessions }, session);
    const { files, problems } = await sessions.rewind(session, { to, conversation: false, dryRun });
    const [problem] = problems;
    if (problem !== undefined) return { canRewind: false, error: problem };
    const sum = (of: 'insertions' | 'deletions'): number =>
      (files ?? []).reduce((all, file) => all + (file[of] ?? 0), 0);
    const filesChanged = (files ?? []).map(({ root, path }) => `${root}/${path}`);
    return { canRewind: true, filesChanged, insertions: sum('insertions'), deletions: sum('deletions') };
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'refused') return { canRewind: false, error: error.message };
    throw error;
  }
}

type Placed = { readonly position: number; readonly entry: Entry };

/**
 * A streamed message has the uuid that its program gave it, too, and an entry with several outcomes
 * has a message for each.
 */
function isMessage(session: string, { position, entry }: Placed, uuid: string): boolean {
  if (entry.kind === 'outcomes') return entry.outcomes.some((_, at) => resultUuid(session, position, at) === uuid);
  return uuidOf(session, position) === uuid || (entry.kind === 'user' && entry.id === uuid);
}

async function findMessage({ sessions }: Sessions, session: string, uuid: string): Promise<number> {
  for await (const each of sessions.transcript(session)) if (isMessage(session, each, uuid)) return each.position;
  throw new ClientProblem('refused', `No message found with message.uuid of: ${uuid}`);
}

async function entriesAfter({ sessions }: Sessions, session: string, position: number): Promise<readonly Placed[]> {
  const later: Placed[] = [];
  for await (const each of sessions.transcript(session, { from: position + 1 })) later.push(each);
  return later;
}

const LOOK_MS = 50;
/** A run that has told its result is over a moment later. */
const MOST_LOOKS = 100;

async function awaitRest({ sessions }: Sessions, session: string): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const { phase, unseen } = await sessions.describe(session);
    if (phase === 'idle' && !unseen) return;
    await sleep(LOOK_MS);
  }
}
