// What a call came to, before it is measured and stored: the words the model reads, and the facts the loop acts on. Pure.
import type { OutcomeFacts } from '../../workflows/contract/activities.ts';
import type { PermissionMode } from '../../workflows/contract/session.ts';
import type { CallLog } from '../transcript/entries.ts';
import type { TakenReport } from './claim-report.ts';
import { deniedText, unaskedText } from './permission.ts';
import type { ReadyCall } from './prepare.ts';
import type { Ran } from './run-tool.ts';
import type { AbortCause, PermissionDecision } from './tool.ts';

export type Verdict = {
  readonly content: string;
  readonly isError: boolean;
  readonly decision: CallLog['decision'];
  readonly outcome: CallLog['outcome'];
  readonly facts: OutcomeFacts;
};

/** A name, schema or check refused the call. */
export function invalid(text: string): Verdict {
  return { content: text, isError: true, decision: 'not_run', outcome: 'not_run', facts: { error: true } };
}

/** Undefined when the call may run. Until someone can be asked, `ask` is a denial (L55). */
export function denied(mode: PermissionMode, { tool, risk, permission }: ReadyCall): Verdict | undefined {
  if (permission.kind === 'allow') return undefined;
  const content =
    permission.kind === 'ask'
      ? unaskedText(mode, risk, tool.name, permission.rule)
      : deniedText(tool.name, permission.why);
  const facts: OutcomeFacts = { error: true, ...fatalDenial(permission, content) };
  return { content, isError: true, decision: 'denied', outcome: 'not_run', facts };
}

/** L34: a denial may end the run. */
function fatalDenial(permission: PermissionDecision, detail: string): Pick<OutcomeFacts, 'fatal'> {
  if (permission.kind !== 'deny') return {};
  if (permission.interrupt === true) return { fatal: { reason: 'permission_denied', detail } };
  return permission.fatal === true ? { fatal: { reason: 'fatal_tool_error', detail } } : {};
}

/** An earlier attempt claimed the call and left no outcome (L40). */
export function taken(report: TakenReport): Verdict {
  const outcome = report.ran ? 'unknown' : 'not_run';
  return { content: report.text, isError: true, decision: 'allowed', outcome, facts: { error: true } };
}

/** Stopped before the tool was called (L36, L48). A stop is no failure of the tool. */
export function notStarted(cause: AbortCause): Verdict {
  const content = `Not run: ${reason[cause]} before it started.`;
  return { content, isError: true, decision: 'not_run', outcome: 'not_run', facts: {} };
}

/** The tool was called and came to an end. */
export function ended(ran: Ran, safe: boolean): Verdict {
  const allowed = { decision: 'allowed' } as const;
  if (ran.kind === 'stopped') {
    const doubt = safe ? '' : '; it had started and may have partly run';
    const content = [ran.partial.trimEnd(), `(stopped: ${reason[ran.cause]}${doubt})`].filter((part) => part !== '');
    return { ...allowed, content: content.join('\n'), isError: true, outcome: 'cancelled', facts: {} };
  }
  if (ran.kind === 'failed') {
    const fatal = { fatal: { reason: 'fatal_tool_error', detail: ran.text } } as const;
    const facts: OutcomeFacts = { error: true, ...(ran.fatal === true ? fatal : {}) };
    return { ...allowed, content: ran.text, isError: true, outcome: 'error', facts };
  }
  const { content, isError = false, cancelsSiblings = false } = ran.output;
  const facts: OutcomeFacts = {
    ...(isError ? { error: true } : {}),
    ...(cancelsSiblings ? { cancelsSiblings: true } : {}),
  };
  return { ...allowed, content, isError, outcome: isError ? 'error' : 'ok', facts };
}

const reason: Readonly<Record<AbortCause, string>> = {
  // Also a sibling's failure arrives as a cancel of the activity, which does not say why.
  interrupt: 'it was cancelled',
  sibling: 'another call of the same reply failed',
  deploy: 'the worker was shut down',
  timeout: 'its attempt ran out of time',
  superseded: 'its attempt was given up',
};
