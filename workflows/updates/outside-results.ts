// Takes the results of calls that somebody outside carries out (G53). Each counts once; one that is
// late, or for a call that does not wait, is refused before it is accepted.
import { defineUpdate, setHandler } from '@temporalio/workflow';
import { isOfWorker, LARGEST_PLAIN } from '../contract/delegation.ts';
import { isBody, isName, LONGEST_NAME, type MessageBody, systemTextProblem } from '../contract/people.ts';
import { present } from '../contract/present.ts';
import { LONGEST_ID, UPDATES } from '../contract/session.ts';
import { type GivenResult, LARGEST_GIVEN, type SilentWorkers } from '../contract/waits.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import type { Session } from '../session/session.ts';
import { refuse, UPDATE_DESCRIPTIONS } from './approvals.ts';

export function handleResults(session: Session): void {
  const give = ({ call, result, by, system }: GivenResult): Promise<void> | undefined => {
    const { body, isError } = result;
    session.delegations.settle(findOpen(session, call)!.key, { kind: 'result', body, ...present({ isError }) });
    return session.waits.settle({ call, how: 'result', result, ...present({ by }) }, system);
  };
  const validator = (result: GivenResult): void =>
    refuse(callProblem(session, result) ?? resultProblem(result) ?? systemProblem(session, result));
  const description = UPDATE_DESCRIPTIONS.giveResult;
  setHandler(defineUpdate<void, [GivenResult]>(UPDATES.giveResult), give, { validator, description });
  handleReports(session);
}

function handleReports(session: Session): void {
  const report = ({ work, items }: SilentWorkers) =>
    session.waits.note({ kind: 'workers_silent', work, items, at: Date.now() });
  const validator = (silent: SilentWorkers): void => refuse(reportProblem(session, silent));
  const description = UPDATE_DESCRIPTIONS.reportWorkers;
  setHandler(defineUpdate<void, [SilentWorkers]>(UPDATES.reportWorkers), report, { validator, description });
}

function reportProblem(session: Session, silent: Partial<SilentWorkers> | undefined): string | undefined {
  const { work, items } = (silent ?? {}) as { readonly work?: unknown; readonly items?: unknown };
  if (typeof work !== 'string' || work.length > LONGEST_ID) return 'the report names no item of work';
  if (!Number.isSafeInteger(items)) return 'the report counts no items';
  return session.waits.open.some(({ why }) => isOfWorker(why)) ? undefined : 'no call waits for a sandbox';
}

function findOpen({ delegations }: Session, call: string): OpenDelegation | undefined {
  return delegations.open.find(({ key, outside }) => outside?.call === call && delegations.endOf(key) === undefined);
}

function callProblem(session: Session, result: Partial<GivenResult> | undefined): string | undefined {
  const call: unknown = result?.call;
  if (typeof call !== 'string') return 'the result names no call';
  return findOpen(session, call) ? undefined : `no call ${call.slice(0, 100)} waits for a result`;
}

function resultProblem({ result, by }: GivenResult): string | undefined {
  const { body, isError } = (result ?? {}) as { readonly body?: unknown; readonly isError?: unknown };
  if (!isBody(body)) return 'the result has no body';
  if (isError !== undefined && isError !== true) return '"isError" is true or absent';
  if (by !== undefined && !isName(by))
    return `the name of who gives the result is no text of 1 to ${LONGEST_NAME} characters`;
  return sizeProblem(body);
}

function systemProblem({ recordsWaits }: Session, { system }: GivenResult): string | undefined {
  if (system === undefined) return undefined;
  return recordsWaits ? systemTextProblem(system) : 'the session stores no waits, and no system message with them';
}

/** A text that is too long to travel goes by hash. */
function sizeProblem(body: MessageBody): string | undefined {
  const most = body.kind === 'text' ? LARGEST_PLAIN : LARGEST_GIVEN;
  const size = body.kind === 'text' ? body.text.length : body.bytes;
  return size <= most ? undefined : `the result has ${size} characters: give at most ${most}`;
}
