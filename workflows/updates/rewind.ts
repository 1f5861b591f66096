// Takes a session back to an earlier point (T6): its files first, then its conversation, then an
// entry that says so. Only a session at rest goes back, and no run begins meanwhile. What its files
// would do is looked at before, and that leaves nothing behind.
import { ApplicationFailure, CancellationScope, defineUpdate, isCancellation, setHandler } from '@temporalio/workflow';
import { activityProblem } from '../activity-problem.ts';
import type { Hash } from '../contract/ids.ts';
import { present } from '../contract/present.ts';
import { rewindProblem } from '../contract/rewind.ts';
import type {
  FilesPreview,
  FilesRewound,
  RewindRequest,
  RewindFiles,
  RewindRecord,
  FolderRewindRecord,
} from '../contract/rewind.ts';
import { UPDATES } from '../contract/session.ts';
import { isOnce, unwrapRequest, type Signature, type UpdateOnce } from '../contract/steered.ts';
import { commitEntries } from '../run/commit-entries.ts';
import type { Session } from '../session/session.ts';
import { refuse, UPDATE_DESCRIPTIONS } from './approvals.ts';

type RewindUpdate = RewindRequest | UpdateOnce<RewindRequest>;

export function handleRewinds(session: Session): void {
  const { steered, facts, memoWriter } = session;
  const problem = (request: RewindUpdate): string | undefined => {
    if (steered.isClosing) return 'the session is closing: nothing can be taken back in it';
    const wrong = steered.once.problem(UPDATES.rewind, request) ?? rewindProblem(unwrapRequest(request));
    return wrong ?? restProblem(session, unwrapRequest(request).from);
  };
  const rewind = async (request: RewindUpdate, by?: Signature): Promise<RewindRecord> => {
    steered.once.note(request);
    const { from, to, contextTokens = 0, files, known, force } = unwrapRequest(request);
    session.isRewinding = true;
    try {
      const done = files && (await rewindFiles(session, { from, roots: files, ...present({ force }) }));
      const rewound: RewindRecord = { from, ...present({ to, files: done, known }) };
      if (to !== undefined) facts.rewind(to, contextTokens);
      steered.note({ action: 'rewind', rewound }, isOnce(request) ? request : by);
      facts.moveHead(await commitEntries(session, facts.now.head, steered.take()));
      memoWriter.markChanged();
      return rewound;
    } finally {
      session.isRewinding = false;
    }
  };
  const validator = (request: RewindUpdate, _by?: Signature): void => refuse(problem(request));
  const update = defineUpdate<RewindRecord, [RewindUpdate, Signature?]>(UPDATES.rewind);
  setHandler(update, rewind, { validator, description: UPDATE_DESCRIPTIONS.rewind });
}

/** Says what a rewind of files would do; the session may go on meanwhile. */
export function handleRewindPreviews(session: Session): void {
  const { steered, facts, ports } = session;
  const problem = (request: RewindUpdate): string | undefined => {
    if (steered.isClosing) return 'the session is closing: nothing can be taken back in it';
    const wanted = unwrapRequest(request);
    const wrong = steered.once.problem(UPDATES.previewRewind, request) ?? rewindProblem(wanted);
    if (wrong !== undefined) return wrong;
    return wanted.files ? restProblem(session, wanted.from) : 'the rewind names no folders to look at';
  };
  const preview = async (request: RewindUpdate): Promise<FilesPreview> => {
    steered.once.note(request);
    const { from, files = [], force } = unwrapRequest(request);
    const input = { from, roots: files, ...present({ force }), step: facts.nextStep() };
    try {
      return await ports.previewRewind(input);
    } catch (error) {
      const failure = activityProblem(error);
      if (failure === null || isCancellation(error)) throw error;
      return { kind: 'refused', problem: failure.detail };
    }
  };
  const validator = (request: RewindUpdate): void => refuse(problem(request));
  const update = defineUpdate<FilesPreview, [RewindUpdate]>(UPDATES.previewRewind);
  setHandler(update, preview, { validator, description: UPDATE_DESCRIPTIONS.previewRewind });
}

function restProblem(session: Session, from: Hash): string | undefined {
  if (session.run !== null || session.inbox.count > 0)
    return 'The session is running or has messages waiting. Interrupt it first.';
  if (session.hosting.isMoving) return 'The session is moving to another host. Wait until it has.';
  if (session.isRewinding) return 'Another rewind of this session is in progress. Wait for it to finish.';
  if (session.facts.now.checkOut) return 'The files of this fork are not checked out yet. Wait until they are.';
  return session.facts.now.head === from ? undefined : 'The session has continued in the meantime. Look at it again.';
}

async function rewindFiles(
  { ports, facts }: Session,
  request: Omit<RewindFiles, 'step'>,
): Promise<readonly FolderRewindRecord[]> {
  const input = { ...request, step: facts.nextStep() };
  let end: FilesRewound;
  try {
    end = await CancellationScope.nonCancellable(() => ports.rewindFiles(input));
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null || isCancellation(error)) throw error;
    end = { kind: 'refused', problem: problem.detail };
  }
  if (end.kind === 'refused') throw ApplicationFailure.nonRetryable(end.problem, 'NotRewound');
  return end.roots;
}
