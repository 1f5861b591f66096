// The activities as one session schedules them: which queue, timeouts and retries. What each
// failure means is the activity's.
import {
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import { activityType, type Answer, type Registered, type SessionActivities } from './contract/activities.ts';
import { hostQueue, recordsQueue, type SessionHost } from './contract/session.ts';
import { findUndecodable, profiles, STORE_CORRUPT, type Profile } from './contract/failures.ts';

/**
 * No maximumAttempts: an activity decides itself when to give up, by returning a value or a
 * non-retryable failure.
 */
const retry = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** A stop waits until the activity has said what became of it. */
const cancellationType = 'WAIT_CANCELLATION_COMPLETED';

/** The time in which handlers may begin on a host that is away. */
const HANDLERS_WAIT = '10 minutes';

/** For one session; made once. `host`: that has its folder, when something is scheduled. */
export function createPorts(
  profile: Profile = 'machine',
  host: () => SessionHost | null = () => null,
): SessionActivities {
  const { heartbeatTimeout, recordsTimeout } = profiles[profile];
  const waited: ActivityOptions = { heartbeatTimeout, cancellationType, retry };
  /** A model streams, a tool or a hook runs, for as long as it heartbeats. */
  const long: ActivityOptions = { ...waited, startToCloseTimeout: '7 days' };
  /** The hooks of a session's start are asked. */
  const opening: ActivityOptions = { ...waited, startToCloseTimeout: '10 minutes' };
  /**
   * A few writes to the store. They have slots of their own: what ends a run never queues behind
   * the long ones of other sessions.
   */
  const records: ActivityOptions = {
    ...opening,
    heartbeatTimeout: recordsTimeout,
    taskQueue: recordsQueue(workflowInfo().taskQueue),
  };
  /** Beside the loop: what they cannot do in time, or in a few tries, is left undone (L42, L56). */
  const summary: ActivityOptions = { ...waited, startToCloseTimeout: '2 minutes' };
  const summing: ActivityOptions = { ...waited, startToCloseTimeout: '30 minutes' };
  /** Whoever asks waits for it. */
  const aside: ActivityOptions = { ...waited, startToCloseTimeout: '5 minutes', scheduleToCloseTimeout: '10 minutes' };
  const handlers: ActivityOptions = { ...waited, startToCloseTimeout: '1 hour' };
  const worktree: ActivityOptions = { ...waited, startToCloseTimeout: '1 hour' };
  /** Never behind the calls of other sessions: whoever is to be told is told soon. */
  const alerts: ActivityOptions = { ...records, retry: { ...retry, initialInterval: '1s', backoffCoefficient: 3 } };
  /** Where the folder is. What ends or records needs none, and goes on while a host is away. */
  const there = (options: ActivityOptions, more: ActivityOptions = {}): ActivityOptions => {
    const at = host();
    return at === null ? options : { ...options, ...more, taskQueue: hostQueue(workflowInfo().taskQueue, at) };
  };
  return {
    callModel: port('callModel', () => there(long)),
    compact: port('compact', () => there(long)),
    prepareCompaction: port('prepareCompaction', () => there(summing)),
    collapse: port('collapse', () => there(long)),
    runStopHooks: port('runStopHooks', () => there(long)),
    findReply: port('findReply', () => records),
    readResult: port('readResult', () => records),
    commit: port('commit', () => records),
    summarizeBatch: port('summarizeBatch', () => summary),
    answerAside: port('answerAside', () => aside),
    afterStop: port('afterStop', () => there(handlers, { scheduleToStartTimeout: HANDLERS_WAIT })),
    endWorktree: port('endWorktree', () => there(worktree, { scheduleToStartTimeout: HANDLERS_WAIT })),
    tellAlert: port('tellAlert', () => alerts),
    lookAtFiring: port('lookAtFiring', () => records),
    openRun: port('openRun', ({ begins, onHost }) => (onHost ? there(opening) : begins ? opening : records)),
    runTool: port('runTool', ({ stopped }) => (stopped ? records : there(long))),
  };
}

/**
 * Named by its step, which no other of the session has, also after a handover: what a codec binds
 * to the name of an activity is the answer to this one and to no other.
 */
function port<Name extends keyof SessionActivities>(
  name: Name,
  optionsFor: (input: Parameters<SessionActivities[Name]>[0]) => ActivityOptions,
): SessionActivities[Name] {
  type Result = Awaited<ReturnType<SessionActivities[Name]>>;
  const call = async (input: Parameters<SessionActivities[Name]>[0]): Promise<Result> => {
    const activityId = `${name}.${input.step}`;
    const type = activityType(name);
    const offered = proxyActivities<Registered>({ ...optionsFor(input), activityId });
    const scheduled = offered[type] as (given: typeof input) => Promise<Answer<Result>>;
    const answer = await scheduled(input);
    const unread = findUndecodable(answer);
    if (unread) throw unreadable(type, activityId, `its result ${unread.why}`);
    if (!isAnswer(answer)) throw unreadable(type, activityId, 'its result is none that a worker gives');
    return answer.done;
  };
  return call as SessionActivities[Name];
}

/** Anyone who reaches the server can complete an activity, with anything. */
function isAnswer(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'done' in answer;
}

function unreadable(type: string, activityId: string, why: string): ActivityFailure {
  const cause = ApplicationFailure.nonRetryable(why, 'UnreadableResult');
  return new ActivityFailure(why, type, activityId, 'NON_RETRYABLE_FAILURE', undefined, cause);
}

// Why an activity failed for good. The loop goes on with it as a value: thrown on, it would end the
// workflow, and the session with it.

export type ActivityProblem = { readonly damaged: boolean; readonly detail: string };

/**
 * `damaged`: what is stored. Every other failure that is not retried is a defect, of ours or of who
 * failed it by hand. Null when it is no activity's; to be asked when nothing was stopped, for what
 * was cancelled fails as well.
 */
export function activityProblem(error: unknown): ActivityProblem | null {
  if (!(error instanceof ActivityFailure)) return null;
  const { cause, activityType: type } = error;
  if (cause instanceof ApplicationFailure && cause.type === STORE_CORRUPT)
    return { damaged: true, detail: cause.message };
  const why = cause?.message ?? error.message;
  return { damaged: false, detail: `internal error: ${type} failed and is not tried again: ${why}` };
}
