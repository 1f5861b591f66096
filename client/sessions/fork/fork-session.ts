// Forks a session (T10): writes the segment that links the fork to its origin, then starts the
// fork. Killed in between, nothing is there but a value that `gc` drops.
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Entry } from '../../../store/log/entries.ts';
import { lastSnapshots, type SnapshotsAt, withMovedRoots } from '../../../store/snapshots/snapshot-points.ts';
import type { Store } from '../../../store/values/store.ts';
import { nextSegment } from '../../../store/view/append.ts';
import {
  type CheckOut,
  FORK_FILES_KEY,
  FORK_KEY,
  type ForkNotice,
  type ForkedFrom,
  type ForkFiles,
} from '../../../workflows/contract/fork.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { withChanges } from '../../../workflows/contract/options-problem.ts';
import { present } from '../../../workflows/contract/present.ts';
import type { OptionChanges, RunOptions, SessionInput, UserMessage } from '../../../workflows/contract/session.ts';
import type { ForWorkers } from '../../../workflows/contract/task-queue.ts';
import { ClientProblem } from '../../problem.ts';
import { carryAt, type CarryAt, optionsOf } from '../carry-at.ts';
import type { ActOptions } from '../waiting-approval.ts';
import { findUncapturedOutcome, snapshotsBefore } from '../files/calls-behind.ts';
import { goBack } from '../files/plan-rewind.ts';
import type { SessionDescription } from '../info.ts';
import type { NewestStep } from '../newest-head.ts';
import { findWrongOption, messageOf } from '../message.ts';
import type { Prompt } from '../prompt.ts';
import { startCarried } from '../send.ts';
import { newSessionId, parseSessionId } from '../ids.ts';
import { type ClientOptions, sessionIdOfMessage, sessionInput } from '../start.ts';
import { answerOpenCalls, endOfLastRun, entriesAt, findForkPoint, type ForkPoint } from './plan-fork.ts';

/** Options of `fork()`. */
export type ForkOptions = ActOptions & {
  /**
   * A position of an entry, `RUN.ITERATION`, or a message's id: the fork has what was before it.
   * Absent: all that is there now.
   */
  readonly at?: string | number;
  /** The first message of the fork. */
  readonly prompt?: Prompt;
  /**
   * The id of that message. Without `newId` the fork's id is derived from it and from `by`: a
   * repeated fork is the same one.
   */
  readonly messageId?: string;
  /**
   * Absolute path of a new folder for the files of that point, as snapshots have them. `false`: the
   * fork works in the same folder. Absent: a folder beside the session's own where there are
   * snapshots, else the same.
   */
  readonly files?: string | false;
  /** The folder becomes a git work tree on a branch of its own. */
  readonly worktree?: boolean;
  /** Changes of the session's options for the fork; null takes one back. */
  readonly options?: OptionChanges;
  /** The id of the fork; absent: chosen here. */
  readonly newId?: string;
  /** Workers for the fork; absent: those of the session. */
  readonly workers?: ForWorkers;
};

export type ForkResult = {
  /** The fork. */
  readonly session: SessionId;
  readonly forkedFrom: ForkedFrom;
  /** Where it works. */
  readonly cwd: string;
  /** Its folder is a copy of its own; false where it works in the same folder. */
  readonly files: boolean;
  /** The id of its first message; null without one. */
  readonly messageId: string | null;
};

type ForkPorts = ClientOptions & {
  readonly look: (session: SessionId) => Promise<SessionDescription>;
  readonly step: (session: SessionId) => Promise<NewestStep>;
};

/** Resolves when the fork is durable. Throws ClientProblem. */
export async function startFork(
  ports: ForkPorts,
  origin: SessionId,
  { at, newId, workers, ...request }: ForkOptions & { readonly by: string },
): Promise<ForkResult> {
  const wrong = request.options && (await findWrongOption(request.options));
  if (wrong !== undefined) throw new ClientProblem('refused', wrong);
  const derived = request.messageId === undefined ? undefined : sessionIdOfMessage(request.by, request.messageId);
  const session = parseSessionId(newId ?? derived ?? newSessionId());
  const before = derived === session ? await findFork(ports, session) : null;
  if (before) return before;
  const described = await lookAtOrigin(ports, origin);
  const newest = await ports.step(origin);
  const findPoint = (place: string | undefined): Promise<ForkPoint> =>
    findForkPoint(ports.store, origin, newest, place);
  const askedPoint = await findPoint(at === undefined ? undefined : String(at));
  if (![...entriesAt(askedPoint), ...askedPoint.rest].some(({ kind }) => kind === 'user' || kind === 'boundary'))
    throw new ClientProblem('refused', `Session ${origin} has no prompts yet, so there is nothing to fork.`);
  const inherited = await optionsOf(ports.temporal, origin);
  refuseOutside(origin, inherited);
  const files = await planFiles({ described, point: askedPoint, session, head: newest.head }, request);
  // The conversation tells of nothing that its files do not have yet.
  const uncaptured = files && findUncapturedOutcome(entriesAt(askedPoint), askedPoint.rest);
  const point = uncaptured === null ? askedPoint : await findPoint(String(uncaptured));
  const options = withChanges<RunOptions>({ ...inherited, ...(files && { cwd: files.to }) }, request.options ?? {});
  const queue = await firstMessages(ports, request);
  const { runs } = described;
  const folder = files?.from ?? described.cwd;
  const link = await writeLink(ports.store, { session, point, by: request.by, origin: folder, files, runs });
  const carry = {
    ...carryAt({ ...link, options, queue }),
    ...present({ host: described.host, checkOut: files ?? undefined }),
  };
  const input: SessionInput & { readonly carry: typeof carry } = {
    ...(await sessionInput(ports, options, described.title)),
    carry,
  };
  const forkedFrom: ForkedFrom = { session: origin, position: point.position };
  const waits: ForkFiles | null = files && { state: 'pending', folder: files.to };
  const { taskQueue, configuration } = described;
  await startCarried(ports.temporal, {
    session,
    input,
    workers: workers ?? { taskQueue, configuration },
    store: await ports.storeId?.(),
    now: Date.now(),
    memo: link,
    more: { [FORK_KEY]: forkedFrom, ...(waits && { [FORK_FILES_KEY]: waits }) },
  });
  return { session, forkedFrom, cwd: options.cwd, files: files !== null, messageId: queue[0]?.id ?? null };
}

/** Returns the fork that an earlier try of the same request has begun; null without one. */
async function findFork({ look }: ForkPorts, session: SessionId): Promise<ForkResult | null> {
  try {
    const { forkedFrom, forkFiles, cwd } = await look(session);
    return forkedFrom ? { session, forkedFrom, cwd, files: forkFiles !== undefined, messageId: null } : null;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return null;
    throw error;
  }
}

async function lookAtOrigin({ look }: ForkPorts, origin: SessionId): Promise<SessionDescription> {
  const described = await look(origin);
  const { agent } = described.facts ?? {};
  if (!agent) return described;
  throw new ClientProblem('refused', `session ${origin} is an agent's: fork ${agent.root}, which began it`);
}

/** Refuses sessions with outside calls: their app knows only its own session, not a fork. */
function refuseOutside(origin: SessionId, { outsideTools, environment }: RunOptions): void {
  if (outsideTools === undefined && environment === undefined) return;
  throw new ClientProblem(
    'refused',
    `Session ${origin} has tools whose results come from outside, and nobody would give a fork's: start a new session instead.`,
  );
}

async function firstMessages(
  ports: ForkPorts,
  { prompt, messageId: id, by }: Pick<ForkOptions, 'prompt' | 'messageId' | 'by'>,
): Promise<readonly UserMessage[]> {
  return prompt === undefined ? [] : [await messageOf(ports, prompt, { ...present({ id, by }), options: undefined })];
}

type Link = {
  readonly session: SessionId;
  readonly point: ForkPoint;
  readonly by: string;
  /** The folder that the origin works in. */
  readonly origin: string;
  readonly files: CheckOut | null;
  /** The runs of the origin, for a point whose runs were not read. */
  readonly runs: number;
};

type Begun = Pick<CarryAt, 'head' | 'runs' | 'last'> & { readonly contextTokens: number };

/**
 * Stores the fork's first segment: what it shares in part, what closes open calls, and the link.
 */
export async function writeLink(store: Store, { session, point, by, origin, files, runs }: Link): Promise<Begun> {
  const now = Date.now();
  const [from, cwd] = [nameAtPoint(point, origin), files?.to ?? origin];
  const { before, again, position } = point;
  const entries = entriesAt(point);
  const last = endOfLastRun(entries, now);
  const forked: ForkNotice = {
    kind: 'forked',
    session: before.session,
    head: before.head,
    position,
    at: now,
    by,
    ...(from !== cwd && { moved: { from, to: cwd } }),
    ...(hasBackground(entries) && { background: true }),
  };
  const own: readonly Entry[] = [
    ...again,
    ...(files ? captureOf(point, files, from) : []),
    ...(await answerOpenCalls(store, files ? { ...point, chain: null } : point)),
    ...(last?.isCut ? [{ kind: 'run_ended', ended: last.ended } as const] : []),
    { kind: 'notice', notice: forked },
  ];
  const { bytes } = nextSegment({ ...before, session }, own);
  const head = await store.put(bytes);
  const { contextTokens = 0 } = goBack(entries, head);
  if (last === null) return { head, runs: position === 0 ? 0 : runs, last: null, contextTokens };
  const { spend: _, durationMs: __, at: ___, agents: ____, ...summary } = last.ended;
  return { head, runs: summary.run, last: { ...summary, head }, contextTokens };
}

/** Tells whether calls have started something in the background. */
function hasBackground(entries: readonly Entry[]): boolean {
  return entries.some(
    (entry) =>
      entry.kind === 'reply' &&
      entry.message.content.some(
        (block) =>
          block.type === 'tool_use' && (block.input as { readonly background?: unknown } | null)?.background === true,
      ),
  );
}

type FilesAbout = {
  readonly described: SessionDescription;
  readonly point: ForkPoint;
  readonly session: SessionId;
  /** The newest head of the origin. */
  readonly head: Hash | null;
};

/** Returns what is checked out; null where the fork works in the same folder. */
async function planFiles(
  about: FilesAbout,
  { files, worktree = false }: Pick<ForkOptions, 'files' | 'worktree'>,
): Promise<CheckOut | null> {
  if (files === false && worktree) throw new ClientProblem('refused', 'a work tree needs files: leave `files` out');
  if (files === false) return null;
  if (files !== undefined && !isAbsolute(files))
    throw new ClientProblem('refused', `${JSON.stringify(files)} is no absolute path`);
  const { described, session, head } = about;
  if (files !== undefined) await refuseFilled(described, files);
  const cwd = await realpath(described.cwd).catch(() => described.cwd);
  const snapshot = snapshotsAtPoint(about.point).get(cwd);
  if (snapshot === undefined) {
    if (files === undefined && !worktree) return null;
    throw new ClientProblem(
      'refused',
      `no files of session ${described.session} were captured there: fork it without files`,
    );
  }
  return {
    from: cwd,
    snapshot,
    to: files === undefined ? `${cwd}-${session}` : await realFolder(described, files),
    ...(worktree && { worktree }),
    ...(head !== null && { origin: { session: described.session, head } }),
  };
}

/** Returns a folder that may not be there yet by the name that captures give it. */
async function realFolder({ host }: SessionDescription, folder: string): Promise<string> {
  const above = host ? dirname(folder) : await realpath(dirname(folder)).catch(() => dirname(folder));
  return join(above, basename(folder));
}

/** Throws ClientProblem for a folder of this machine that has files; the worker looks again. */
async function refuseFilled({ host }: SessionDescription, folder: string): Promise<void> {
  // The same path is another folder where hosts have disks of their own.
  const names = host ? [] : await readdir(folder).catch(() => []);
  if (names.length > 0)
    throw new ClientProblem('refused', `${folder} already exists and isn't empty. Choose another folder.`);
}

const allEntries = (point: ForkPoint): readonly Entry[] => withMovedRoots([...entriesAt(point), ...point.rest]);

/** Returns the snapshots of the files as they were at the point. */
export function snapshotsAtPoint(point: ForkPoint): SnapshotsAt {
  return snapshotsBefore(allEntries(point), point.position);
}

/** Returns the name that a folder of the origin had at the point: forks may have moved it since. */
function nameAtPoint({ rest }: ForkPoint, folder: string): string {
  return rest.reduceRight((name, entry) => {
    const moved = entry.kind === 'notice' && entry.notice.kind === 'forked' ? entry.notice.moved : undefined;
    return moved?.to === name ? moved.from : name;
  }, folder);
}

/**
 * Returns the capture that a fork's files are of, where its origin has stored it after the point:
 * of the folder under the `name` that it had there.
 */
function captureOf(point: ForkPoint, { from, snapshot }: CheckOut, name: string): readonly Entry[] {
  const entries = allEntries(point);
  if (lastSnapshots(entries.slice(0, point.position)).get(from) === snapshot) return [];
  for (const entry of entries.slice(point.position)) {
    const found = entry.kind === 'files' && entry.roots.find(({ root, id }) => root === from && id === snapshot);
    if (entry.kind === 'files' && found) return [{ ...entry, roots: [{ ...found, root: name }] }];
  }
  return [];
}
