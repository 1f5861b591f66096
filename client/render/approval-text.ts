// A call that waits for a decision, as a person needs to see it to decide: what, with which input, why, until when (L55).
import type { WaitingApproval } from '../approval.ts';
import type { Paint } from './paint.ts';
import { oneLine, plain } from './plain.ts';
import { compactInput } from './tool-lines.ts';
import { count, moment } from './units.ts';

const LINES = 30;
const LINE = 300;

/** Several lines, without a line break at the end. */
export function approvalText(paint: Paint, { call, tool, reason, input, problem, deadline }: WaitingApproval): string {
  return [
    `${paint.yellow('?')} ${paint.bold(oneLine(tool, 60))} waits for a decision: ${oneLine(reason, 300)}`,
    ...inputLines(input).map((line) => `  ${paint.dim('│')} ${line}`),
    ...(problem === undefined ? [] : [`  ${paint.red(oneLine(problem, 300))}`]),
    paint.dim(`  call ${oneLine(call, 100)}, denied if nobody decides until ${moment(deadline)}`),
  ].join('\n');
}

/** How to decide from another terminal. */
export function approvalHint({ session, call }: Pick<WaitingApproval, 'session' | 'call'>, self: string): string {
  const one = `${session} ${call}`;
  return `it waits for a decision: \`${self} approve ${one}\`, or \`${self} deny ${one} --reason "why"\``;
}

/** Texts are shown as they are, the rest as JSON; bounded, and it is said what is left out. */
function inputLines(input: unknown): readonly string[] {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const fields = isObject
    ? Object.entries(input).map(([name, value]) => `${name}: ${valueText(value)}`)
    : [valueText(input)];
  const lines = plain(fields.join('\n').slice(0, LINES * LINE * 4)).split('\n');
  const shown = lines.slice(0, LINES).map((line) => (line.length > LINE ? `${line.slice(0, LINE - 1)}…` : line));
  const whole = JSON.stringify(input)?.length ?? 0;
  const cut =
    lines.length > LINES || lines.some((line) => line.length > LINE) || fields.join('\n').length > LINES * LINE * 4;
  return cut ? [...shown, `… (${count(whole, 'character')} of JSON in all: perdure approvals --json)`] : shown;
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** One line of it, for a table. */
export function approvalWhat({ input, problem }: Pick<WaitingApproval, 'input' | 'problem'>): string {
  const what = oneLine(compactInput(input ?? ''), 60);
  return problem === undefined ? what : `${what} (not certain)`.trim();
}

/** Why a person is asked, on one line; after an edited input, what is wrong with it. */
export function approvalWhy({ reason }: Pick<WaitingApproval, 'reason'>): string {
  return oneLine(reason, 200);
}
