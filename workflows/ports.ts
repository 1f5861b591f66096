// Schedules the activities of a session: their queues, timeouts and retries. The caller decides
// what a failure means.
import {
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import {
  activityType,
  type ActivityAnswer,
  type RegisteredActivities,
  type SessionActivities,
} from './contract/activities.ts';
import { hostQueue, recordsQueue, type SessionHost } from './contract/session.ts';
import { findUndecodable } from './contract/undecodable.ts';
import { profiles, type Profile } from './contract/profiles.ts';

/**
 * No maximumAttempts: an activity decides itself when to give up, by returning a value or a
 * non-retryable failure.
 */
const retry = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** A stop waits until the activity has said what became of it. */
const cancellationType = 'WAIT_CANCELLATION_COMPLETED';

/** The time in which handlers may begin on a host that is away. */
const HANDLERS_WAIT = '10 minutes';

/** Each kind of activity with its timeouts. */
function listOptions(profile: Profile) {
  const { heartbeatTimeout, recordsTimeout } = profiles[profile];
  const cancellable: ActivityOptions = { heartbeatTimeout, cancellationType, retry };
  /** Opening a run asks the hooks of the session's start. */
  const opening: ActivityOptions = { ...cancellable, startToCloseTimeout: '10 minutes' };
  /**
   * A few writes to the store. They have slots of their own, so that the end of a run never queues
   * behind long activities of other sessions.
   */
  const records: ActivityOptions = {
    ...opening,
    heartbeatTimeout: recordsTimeout,
    taskQueue: recordsQueue(workflowInfo().taskQueue),
  };
  return {
    /** A model streams, or a tool or hook runs, for as long as it sends heartbeats. */
    long: { ...cancellable, startToCloseTimeout: '7 days' },
    opening,
    records,
    /**
     * The loop does not wait for these: what they cannot do in time, or in a few tries, is left
     * undone (L42, L56).
     */
    summary: { ...cancellable, startToCloseTimeout: '2 minutes' },
    preparation: { ...cancellable, startToCloseTimeout: '30 minutes' },
    /** A person waits for the answer. */
    answer: { ...cancellable, startToCloseTimeout: '5 minutes', scheduleToCloseTimeout: '10 minutes' },
    handlers: { ...cancellable, startToCloseTimeout: '1 hour' },
    worktree: { ...cancellable, startToCloseTimeout: '1 hour' },
    taking: { ...cancellable, startToCloseTimeout: '1 hour' },
    /**
     * Alerts have the slots of records, so that they never wait behind the calls of other sessions.
     */
    alerts: { ...records, retry: { ...retry, initialInterval: '1s', backoffCoefficient: 3 } },
  } satisfies Record<string, ActivityOptions>;
}

/** The host that has the session's folder, and how a step follows it to another (T18). */
type HostKeeper = {
  readonly current: SessionHost | null;
  onHost<Result>(schedule: (again: { readonly step?: number }) => Promise<Result>): Promise<Result>;
};

const noHosts: HostKeeper = { current: null, onHost: (schedule) => schedule({}) };

/** The time in which the host that is left may say what it has, and the chosen one take over. */
const MOVE_WAIT = '1 minute';

/** Creates the ports of one session. */
export function createPorts(profile: Profile = 'machine', hosts: HostKeeper = noHosts): SessionActivities {
  const { long, opening, records, taking, ...others } = listOptions(profile);
  const queueOf = (host: SessionHost): string => hostQueue(workflowInfo().taskQueue, host);
  /**
   * Schedules on the host that has the folder, and waits for that no longer than its grace. Ends
   * and records need no folder, and go on while the host is away.
   */
  const onItsHost = (options: ActivityOptions, more?: ActivityOptions): ActivityOptions => {
    const at = hosts.current;
    if (at === null) return options;
    const wait = at.graceMs === undefined ? {} : { scheduleToStartTimeout: at.graceMs };
    return { ...options, ...(more ?? wait), taskQueue: queueOf(at) };
  };
  const handlersWait = { scheduleToStartTimeout: HANDLERS_WAIT };
  const moveWait = { scheduleToStartTimeout: MOVE_WAIT };
  const keep = <Name extends keyof SessionActivities>(
    name: Name,
    optionsFor: (input: Parameters<SessionActivities[Name]>[0]) => ActivityOptions,
  ): SessionActivities[Name] => followHost(hosts, createPort(name, optionsFor));
  // The end of a call that was stopped is recorded anywhere, whatever moves meanwhile.
  const runTool = createPort('runTool', ({ stopped }) => (stopped ? records : onItsHost(long)));
  const commit = createPort('commit', () => records);
  return {
    // Its caller follows the host: the call after a move is another one.
    callModel: createPort('callModel', () => onItsHost(long)),
    compact: keep('compact', () => onItsHost(long)),
    prepareCompaction: keep('prepareCompaction', () => onItsHost(others.preparation)),
    collapse: keep('collapse', () => onItsHost(long)),
    runStopHooks: keep('runStopHooks', () => onItsHost(long)),
    gradeGoal: keep('gradeGoal', () => onItsHost(long)),
    leaveHost: createPort('leaveHost', () => onItsHost(opening, moveWait)),
    takeOver: createPort('takeOver', ({ to }) => (to ? { ...taking, ...moveWait, taskQueue: queueOf(to) } : taking)),
    findReply: createPort('findReply', () => records),
    readResult: createPort('readResult', () => records),
    commit: (input) => commit({ ...input, ...(hosts.current && { host: hosts.current.id }) }),
    summarizeBatch: createPort('summarizeBatch', () => others.summary),
    answerAside: createPort('answerAside', () => others.answer),
    afterStop: createPort('afterStop', () => onItsHost(others.handlers, handlersWait)),
    endWorktree: createPort('endWorktree', () => onItsHost(others.worktree, handlersWait)),
    tellAlert: createPort('tellAlert', () => others.alerts),
    tellWebhooks: createPort('tellWebhooks', () => records),
    lookAtFiring: createPort('lookAtFiring', () => records),
    checkOutFiles: keep('checkOutFiles', () => onItsHost(others.worktree)),
    rewindFiles: keep('rewindFiles', () => onItsHost(others.worktree)),
    previewRewind: createPort('previewRewind', () => onItsHost(others.answer, {})),
    // Its caller follows the host, too: the folder is another one there.
    openRun: createPort('openRun', ({ begins, onHost }) => (onHost ? onItsHost(opening) : begins ? opening : records)),
    runTool: (input) => (input.stopped ? runTool(input) : followHost<'runTool'>(hosts, runTool)(input)),
  };
}

/**
 * Makes a port whose steps go to another host with the session. A session without a host makes no
 * promise more: each costs a stack trace.
 */
function followHost<Name extends keyof SessionActivities>(
  hosts: HostKeeper,
  port: SessionActivities[Name],
): SessionActivities[Name] {
  type Port = (input: object) => Promise<unknown>;
  const call = port as Port;
  const followed: Port = (input) =>
    hosts.current === null ? call(input) : hosts.onHost((again) => call({ ...input, ...again }));
  return followed as SessionActivities[Name];
}

/**
 * The activity's id has its step, which is unique in the session, also after a handover: a codec
 * binds the answer to that name, so that it cannot answer another activity.
 */
function createPort<Name extends keyof SessionActivities>(
  name: Name,
  optionsFor: (input: Parameters<SessionActivities[Name]>[0]) => ActivityOptions,
): SessionActivities[Name] {
  type Result = Awaited<ReturnType<SessionActivities[Name]>>;
  const call = async (input: Parameters<SessionActivities[Name]>[0]): Promise<Result> => {
    const activityId = `${name}.${input.step}`;
    const type = activityType(name);
    const offered = proxyActivities<RegisteredActivities>({ ...optionsFor(input), activityId });
    const scheduled = offered[type] as (argument: typeof input) => Promise<ActivityAnswer<Result>>;
    const answer = await scheduled(input);
    const unread = findUndecodable(answer);
    if (unread) throw unreadableResult(type, activityId, `its result ${unread.why}`);
    if (!isAnswer(answer)) throw unreadableResult(type, activityId, 'its result is none that a worker gives');
    return answer.done;
  };
  return call as SessionActivities[Name];
}

/** Anyone who reaches the server can complete an activity, with anything. */
function isAnswer(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'done' in answer;
}

function unreadableResult(type: string, activityId: string, why: string): ActivityFailure {
  const cause = ApplicationFailure.nonRetryable(why, 'UnreadableResult');
  return new ActivityFailure(why, type, activityId, 'NON_RETRYABLE_FAILURE', undefined, cause);
}
