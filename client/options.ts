// Refuses misspelled options. A program in JavaScript may misspell one, and passing it over in
// silence could drop a guard that was meant.
import { didYouMean } from '../workflows/contract/did-you-mean.ts';
import { RUN_OPTIONS } from '../workflows/contract/options-problem.ts';
import type { ActOptions, ApproveOptions, DenyOptions } from './sessions/decide.ts';
import type { DiffOptions } from './sessions/files/diff-session.ts';
import type { RewindOptions, UndoOptions } from './sessions/files/rewind-session.ts';
import type { FollowOptions } from './follow/follow.ts';
import type { Abortable } from './async.ts';
import type { RuleChanges, TopUp } from '../workflows/contract/session.ts';
import type { TranscriptOptions } from './perdure-client.ts';
import { ClientProblem } from './problem.ts';
import type { ListOptions, PageOptions } from './sessions/find/list-sessions.ts';
import type { ScheduleChanges } from './schedules/change-schedule.ts';
import type { ScheduleOptions } from './schedules/plan.ts';
import type { CreateClient, OnceOptions, StartOptions, SendOptions } from './sessions/start.ts';

/** Has every key of a type and no other key. */
export type KeysOf<T> = Readonly<Record<keyof T, true>>;

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
export function refuseUnknown(what: string, given: unknown, known: Readonly<Record<string, true>>): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ClientProblem('refused', `the options of ${what} are no object: give one, such as {}`);
  const unknown = Object.entries(given).find(([key, value]) => value !== undefined && !Object.hasOwn(known, key))?.[0];
  if (unknown === undefined) return;
  const shown = JSON.stringify(unknown.slice(0, 60));
  throw new ClientProblem('refused', `${what} has no option ${shown}: ${suggestOption(unknown, known)}`);
}

/** Suggests a name only if the method has it: `send()` does not take "hooks". */
function suggestOption(unknown: string, known: Readonly<Record<string, true>>): string {
  const name = Object.hasOwn(ELSEWHERE, unknown) ? ELSEWHERE[unknown] : undefined;
  const isHere = name !== undefined && Object.hasOwn(known, /^\w+/.exec(name)?.[0] ?? '');
  return isHere ? `it is called ${name} here` : didYouMean(unknown, Object.keys(known));
}

const clientKeys: KeysOf<CreateClient> = {
  env: true,
  temporal: true,
  store: true,
  storeId: true,
  snapshots: true,
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
};
const startKeys: KeysOf<StartOptions> = {
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
};
const scheduleKeys: KeysOf<ScheduleOptions> = {
  ...RUN_OPTIONS,
  name: true,
  session: true,
  timeZone: true,
  catchUpMs: true,
  overlap: true,
  workers: true,
  signal: true,
};
const scheduleChangeKeys: KeysOf<ScheduleChanges> = {
  cron: true,
  task: true,
  timeZone: true,
  overlap: true,
  catchUpMs: true,
  options: true,
  signal: true,
};
const onceKeys: KeysOf<OnceOptions> = { messageId: true, by: true, signal: true };
const sendKeys: KeysOf<SendOptions> = {
  compact: true,
  by: true,
  querySource: true,
  now: true,
  messageId: true,
  options: true,
  signal: true,
  traceparent: true,
};
const approveKeys: KeysOf<ApproveOptions> = { input: true, by: true, signal: true };
const denyKeys: KeysOf<DenyOptions> = { interrupt: true, by: true, signal: true };
const actKeys: KeysOf<ActOptions> = { by: true, signal: true };
const listKeys: KeysOf<ListOptions> = { open: true, filter: true, running: true, signal: true };
const pageKeys: KeysOf<PageOptions> = { ...listKeys, size: true, after: true };
const transcriptKeys: KeysOf<TranscriptOptions> = { from: true, signal: true };
const diffKeys: KeysOf<DiffOptions> = { from: true, to: true, paths: true, stat: true, signal: true };
const undoRewindKeys: KeysOf<UndoOptions> = { ...actKeys, force: true };
const rewindKeys: KeysOf<RewindOptions> = {
  ...undoRewindKeys,
  to: true,
  conversation: true,
  files: true,
  dryRun: true,
};
const topUpKeys: KeysOf<TopUp> = {
  maxTurns: true,
  maxBudgetUsd: true,
  maxTokens: true,
  timeoutMs: true,
  exact: true,
};
const ruleKeys: KeysOf<RuleChanges> = { allow: true, drop: true, lasts: true };
const waitKeys: KeysOf<Abortable> = { signal: true };
const followKeys: KeysOf<FollowOptions> = {
  messageId: true,
  after: true,
  signal: true,
  onTrouble: true,
  onNotice: true,
  onHead: true,
};

/** Lists the options of each method of the client. */
export const knownOptions = {
  client: clientKeys,
  start: startKeys,
  schedule: scheduleKeys,
  scheduleChanges: scheduleChangeKeys,
  send: sendKeys,
  once: onceKeys,
  approve: approveKeys,
  deny: denyKeys,
  act: actKeys,
  list: listKeys,
  page: pageKeys,
  transcript: transcriptKeys,
  diff: diffKeys,
  rewind: rewindKeys,
  undoRewind: undoRewindKeys,
  topUp: topUpKeys,
  changeRules: ruleKeys,
  setOptions: RUN_OPTIONS,
  wait: waitKeys,
  follow: followKeys,
};
