// Tells a person why a command failed, and gives the exit status. A stack is shown only with
// --verbose.
import { showUnseen } from '../system/text.ts';

/** Reports that a command asks for something impossible; the exit status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const STATUS = { ok: 0, failed: 1, usage: 2, waits: 3, unread: 141, interrupted: 130 } as const;

export type Failure = { readonly status: number; readonly message: string };

/**
 * Matches errors by name: loading all their classes would take long, and a class that was never
 * loaded cannot have thrown.
 */
const sentences: ReadonlySet<string> = new Set([
  'UsageError',
  'SetupProblem',
  'ConfigProblem',
  'ClientProblem',
  'StoreError',
]);

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { status: STATUS.failed, message: String(error) };
  const noWorker = 'kind' in error && error.kind === 'no_worker';
  if (sentences.has(error.name)) {
    return { status: noWorker ? STATUS.failed : STATUS.usage, message: error.message };
  }
  if (error.name === 'ServiceError') return { status: STATUS.usage, message: serverRefusalText(error) };
  const [first] = error.message.split('\n', 1);
  return {
    status: STATUS.failed,
    message: `unexpected: ${first || error.name} (run it again with --verbose to see the stack)`,
  };
}

/** Words an answer of the server that is a refusal. */
function serverRefusalText(error: Error): string {
  const { cause } = error;
  const why = cause instanceof Error && 'details' in cause ? String(cause.details).split('\n', 1)[0] : '';
  return `the Temporal server refused: ${why || error.message}; check the server and try again`;
}

/** Formats a failure for standard error. */
export function failureText(error: unknown, verbose: boolean): string {
  const { message } = failureOf(error);
  const stack = verbose && error instanceof Error ? `\n${error.stack ?? ''}${causeText(error)}` : '';
  return `perdure: ${showUnseen(message)}${showUnseen(stack)}\n`;
}

function causeText(error: Error): string {
  return error.cause instanceof Error ? `\ncaused by ${error.cause.stack ?? ''}${causeText(error.cause)}` : '';
}
