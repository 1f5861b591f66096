// Refuses misspelled options. A JavaScript program may misspell one, and ignoring it silently could
// drop a guard.
import { didYouMean } from '../workflows/contract/did-you-mean.ts';
import { RUN_OPTIONS } from '../workflows/contract/run-options.ts';
import type { ActOptions } from './sessions/waiting-approval.ts';
import type { DiffOptions } from './sessions/files/diff-session.ts';
import type { FollowOptions } from './follow/follow.ts';
import type { Abortable } from './async.ts';
import type { TranscriptOptions } from './perdure-client.ts';
import { ClientProblem } from './problem.ts';
import type { ListOptions, PageOptions } from './sessions/find/list-sessions.ts';
import type { ScheduleChanges } from './schedules/change-schedule.ts';
import type { ScheduleOptions } from './schedules/plan.ts';
import type { ClientSettings, StartOptions } from './sessions/start.ts';

/** Has every key of a type and no other key. */
export type KeysOf<T> = Readonly<Record<keyof T, unknown>>;

/** Maps the options of other agent libraries to their names here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  abortController: 'signal',
  abortSignal: 'signal',
  allowedTools: 'permissions.allow, or tools for the list that the model is offered',
  canUseTool: 'onApproval',
  continue: 'session, with the id of the session',
  disallowedTools: 'permissions.deny',
  fallbackModel: 'fallbackModels, a list',
  hooks: 'config.hooks',
  instructions: 'systemPrompt',
  maxSteps: 'maxTurns',
  maxThinkingTokens: 'thinkingTokens',
  reasoningEffort: 'effort',
  maxIterations: 'maxTurns',
  outputFormat: 'outputSchema, a JSON schema',
  output_type: 'outputSchema, a JSON schema',
  resume: 'session',
  responseFormat: 'outputSchema, a JSON schema',
  stderr: 'say',
  system: 'systemPrompt',
  timeout: 'timeoutMs',
};

/**
 * Throws ClientProblem for an unknown key. A key whose value is undefined counts as not given.
 * `what` names the method for the sentence, such as "query()".
 */
export function refuseUnknown(what: string, options: unknown, known: object): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new ClientProblem('refused', `the options of ${what} are no object: give one, such as {}`);
  const unknown = Object.entries(options).find(
    ([key, value]) => value !== undefined && !Object.hasOwn(known, key),
  )?.[0];
  if (unknown === undefined) return;
  const quoted = JSON.stringify(unknown.slice(0, 60));
  throw new ClientProblem('refused', `${what} has no option ${quoted}: ${suggestOption(unknown, known)}`);
}

/** Suggests a name only if the method has it: `send()` does not take "hooks". */
function suggestOption(unknown: string, known: object): string {
  const name = Object.hasOwn(ELSEWHERE, unknown) ? ELSEWHERE[unknown] : undefined;
  const isHere = name !== undefined && Object.hasOwn(known, /^\w+/.exec(name)?.[0] ?? '');
  return isHere ? `it is called ${name} here` : didYouMean(unknown, Object.keys(known));
}

const listKeys: KeysOf<ListOptions> = { open: true, filter: true, running: true, signal: true };

/** Lists the options of the methods that are no operations. */
export const knownOptions = {
  client: {
    env: true,
    temporal: true,
    store: true,
    storeId: true,
    snapshots: true,
    lostSnapshots: true,
    live: true,
    peek: true,
    visibility: true,
    taskQueue: true,
    profile: true,
    sealed: true,
    lookMs: true,
    traceparent: true,
    querySource: true,
    by: true,
  } satisfies KeysOf<ClientSettings>,
  start: {
    ...RUN_OPTIONS,
    session: true,
    messageId: true,
    ifNew: true,
    newId: true,
    workers: true,
    signal: true,
    traceparent: true,
    querySource: true,
    by: true,
    compact: true,
    systemMessage: true,
    goalOnce: true,
  } satisfies KeysOf<StartOptions>,
  schedule: {
    ...RUN_OPTIONS,
    name: true,
    session: true,
    timeZone: true,
    catchUpMs: true,
    overlap: true,
    workers: true,
    signal: true,
  } satisfies KeysOf<ScheduleOptions>,
  scheduleChanges: {
    cron: true,
    task: true,
    timeZone: true,
    overlap: true,
    catchUpMs: true,
    options: true,
    signal: true,
  } satisfies KeysOf<ScheduleChanges>,
  act: { by: true, signal: true } satisfies KeysOf<ActOptions>,
  list: listKeys,
  page: { ...listKeys, size: true, after: true } satisfies KeysOf<PageOptions>,
  transcript: { from: true, signal: true } satisfies KeysOf<TranscriptOptions>,
  diff: { from: true, to: true, paths: true, stat: true, lost: true, signal: true } satisfies KeysOf<DiffOptions>,
  wait: { signal: true } satisfies KeysOf<Abortable>,
  follow: {
    messageId: true,
    after: true,
    signal: true,
    onTrouble: true,
    onNotice: true,
    onHead: true,
  } satisfies KeysOf<FollowOptions>,
};
