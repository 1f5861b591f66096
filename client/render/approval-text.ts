// Shows a call that waits for a decision with all that a person needs to decide: what, with which
// input, why, until when (L55). Shows questions of the model with their offered answers (L81).
import type { WaitingApproval } from '../sessions/waiting-approval.ts';
import { COLUMNS, type Paint, truncateWithCount, oneLine } from '../paint.ts';
import { showUnseen } from '../../system/text.ts';
import { changeOf, diffRows, type FileChange } from './diff-rows.ts';
import { callWhat, inputFields } from './tool-lines.ts';
import { markRows, piecesOf } from './width.ts';
import { formatCount, formatMoment } from '../units.ts';

const LINES = 30;
/** Most characters of a line, in as many rows as they take. */
const LINE = 300;
/** Columns of a row that its text cannot use: its inset, its mark, and one that stays free. */
const MARGIN = 5;

/**
 * Formats what a call would do, for a person who decides right below it: without its id, and
 * without the reason, which the question gives. A question of the model comes without its options,
 * which are the answers to pick from.
 */
export function callToDecideText(paint: Paint, approval: WaitingApproval): string {
  const { tool, input, problem, question } = approval;
  const columns = widthOf(paint);
  const rows = question ? inputLines(paint, parseQuestion(input).question).map((line) => line.replace(/^│ /, '')) : [];
  const lines = question
    ? [`${paint.yellow('?')} ${paint.bold(rows[0] ?? '')}${ofAgent(approval)}`, ...rows.slice(1)]
    : [
        `${paint.yellow('●')} ${paint.bold(oneLine(tool, 60))}${ofAgent(approval)}`,
        ...inputToShow(paint, tool, input).map((line) => `  ${line}`),
      ];
  const trouble = problem === undefined ? [] : [`  ${paint.red(oneLine(problem, 300))}`];
  return [...lines, ...trouble].flatMap((line) => markRows(columns, line)).join('\n');
}

/**
 * Formats an approval as rows, none wider than the terminal, with a mark on each row that continues
 * a line. Ends without a line break.
 */
export function approvalText(paint: Paint, approval: WaitingApproval): string {
  const columns = widthOf(paint);
  const lines = approval.question ? questionLines(paint, approval) : callLines(paint, approval);
  return lines.flatMap((line) => markRows(columns, line)).join('\n');
}

/** Text for a pipe is wrapped too: it is mostly read on a terminal in the end. */
const widthOf = ({ columns }: Pick<Paint, 'columns'>): number => Math.max(NARROWEST, columns() ?? COLUMNS);
const NARROWEST = 12;

/** Returns the columns that a row has room for, and the most rows. */
function roomOf(paint: Pick<Paint, 'columns'>): { readonly room: number; readonly most: number } {
  const room = widthOf(paint) - MARGIN;
  return { room, most: Math.ceil((LINES * LINE) / room) };
}

function callLines(paint: Paint, approval: WaitingApproval): readonly string[] {
  const { call, tool, reason, input, problem, deadline } = approval;
  return [
    `${paint.yellow('?')} ${paint.bold(oneLine(tool, 60))} waits for a decision${ofAgent(approval)}`,
    ...inputToShow(paint, tool, input).map((line) => `  ${line}`),
    `  because: ${truncateWithCount(reason, 300)}`,
    ...(problem === undefined ? [] : [`  ${paint.red(oneLine(problem, 300))}`]),
    paint.dim(`  call ${oneLine(call, 100)}, auto-denied ${formatMoment(deadline)}`),
  ];
}

/** Shows a change of a file by what it takes out and puts in. */
function inputToShow(paint: Paint, tool: string, input: unknown): readonly string[] {
  const change = changeOf(tool, input);
  if (!change) return inputLines(paint, input);
  const { replace_all: all } = input as { readonly replace_all?: unknown };
  const everywhere = all === true ? ' (wherever it stands)' : '';
  const { rows, left } = changeRows(paint, change);
  const whole = JSON.stringify(input).length;
  return [
    `│ ${truncateWithCount(change.path, 300)}${everywhere}`,
    ...rows,
    ...(left === 0 ? [] : [omissionText(left, whole)]),
  ];
}

/** Names the agent; empty for a call of the session's own. */
export function ofAgent({ agent }: Pick<WaitingApproval, 'agent'>): string {
  return agent ? ` (agent ${agent.path.map((title) => oneLine(title, 60)).join(' › ')})` : '';
}

/**
 * Long lines continue in the next row and are not cut. `left` counts the characters that are in no
 * row.
 */
function changeRows(paint: Paint, change: FileChange): { readonly rows: readonly string[]; readonly left: number } {
  const { lines, left: beyond } = diffRows(change.before, change.after);
  const colours = { '+': paint.green, '-': paint.red, ' ': paint.dim };
  const { room, most } = roomOf(paint);
  const rows: string[] = [];
  let left = beyond;
  for (const [line, { mark, text }] of lines.entries())
    for (const [at, piece] of rowPieces(text, room - 2).entries()) {
      if (line < LINES && rows.length < most)
        rows.push(`${at === 0 ? '│' : '↪'} ${colours[mark](`${mark} ${piece}`.trimEnd())}`);
      else left += piece.length;
    }
  return { rows, left };
}

/** Cleans each piece once more: a joiner at the end of a row joins nothing. */
const rowPieces = (line: string, room: number): readonly string[] =>
  piecesOf(showUnseen(line).replaceAll('\t', '    '), room).flatMap((piece) => piecesOf(showUnseen(piece), room));

const omissionText = (left: number, whole: number): string =>
  `… (${formatCount(left, 'character')} more, ${whole} of JSON in all: perdure approvals --json)`;

function questionLines(paint: Paint, approval: WaitingApproval): readonly string[] {
  const { call, input, problem, deadline } = approval;
  const { question, options } = parseQuestion(input);
  const rows = inputLines(paint, question).map((line) => line.replace(/^│ /, ''));
  return [
    `${paint.yellow('?')} ${paint.bold(rows[0] ?? '')}${ofAgent(approval)}`,
    ...rows.slice(1).map((line) => `  ${line}`),
    ...options.map((option, at) => `  ${areNumbered(options) ? at + 1 : '-'}  ${oneLine(option, 200)}`),
    ...(problem === undefined ? [] : [`  ${paint.red(oneLine(problem, 300))}`]),
    paint.dim(`  question ${oneLine(call, 100)}, continues without an answer at ${formatMoment(deadline)}`),
  ];
}

type QuestionInput = { readonly question: string; readonly options: readonly string[] };

/**
 * Returns a question and its offered options; for other tools that ask, the whole input as JSON.
 */
export function parseQuestion(input: unknown): QuestionInput {
  const { question, options } = (input ?? {}) as { readonly question?: unknown; readonly options?: unknown };
  const offered = Array.isArray(options)
    ? options.filter((option) => typeof option === 'string').map((option) => option.trim())
    : [];
  return { question: typeof question === 'string' ? question.trim() : JSON.stringify(input), options: offered };
}

/**
 * Tells whether options may be chosen by number. An option that is itself a number is meant
 * literally, so then none may.
 */
export const areNumbered = (options: readonly string[]): boolean => !options.some((option) => /^\d+$/.test(option));

/** Says how to decide from another terminal. */
export function approvalHint(
  { session, call, question }: Pick<WaitingApproval, 'session' | 'call' | 'question'>,
  self: string,
): string {
  const one = `${session} ${call}`;
  if (question) return `it waits for an answer: \`${self} answer ${one} "your answer"\``;
  return `it waits for a decision: \`${self} approve ${one}\`, or \`${self} deny ${one} --reason "why"\``;
}

/**
 * Shows texts as they are and other values as JSON. `│` begins a field, `┊` a further line of it,
 * and `↪` continues a line that is wider than the terminal. A cut says how much is left.
 */
function inputLines(paint: Pick<Paint, 'columns'>, input: unknown): readonly string[] {
  const { room, most } = roomOf(paint);
  const { rows, beyond } = fieldRows(input, room);
  const isShown = ({ line }: Row, at: number): boolean => line < LINES && at < most;
  const visible = rows.filter(isShown).map(({ mark, text }) => `${mark} ${text}`);
  const left = rows.filter((row, at) => !isShown(row, at)).reduce((sum, { text }) => sum + text.length, beyond);
  const whole = JSON.stringify(input)?.length ?? 0;
  return left === 0 ? visible : [...visible, omissionText(left, whole)];
}

/** `line` counts from 0 over all fields. */
type Row = { readonly mark: '│' | '┊' | '↪'; readonly text: string; readonly line: number };

/** `beyond` counts characters of the fields that were not looked at and are in no row. */
function fieldRows(input: unknown, room: number): { readonly rows: readonly Row[]; readonly beyond: number } {
  const rows: Row[] = [];
  let beyond = 0;
  let line = 0;
  for (const { name, text } of inputFields(input)) {
    const label = name === null ? '' : name === 'command' ? '$ ' : `${oneLine(name, 60)}: `;
    // Far more than is shown, in any script.
    const looked = text.slice(0, (LINES + 1) * LINE);
    for (const [at, words] of showUnseen(looked).split('\n').entries()) {
      for (const [from, piece] of rowPieces(at === 0 ? label + words : words, room).entries())
        rows.push({ mark: from > 0 ? '↪' : at > 0 ? '┊' : '│', text: piece, line });
      line += 1;
    }
    beyond += text.length - looked.length;
  }
  return { rows, beyond };
}

/** Formats the input on one line, for a table. */
export function approvalWhat({ tool, input, problem }: Pick<WaitingApproval, 'tool' | 'input' | 'problem'>): string {
  const what = callWhat(tool, input ?? '', 60);
  return problem === undefined ? what : `${what} (not certain)`.trim();
}

/** Says on one line why a person is asked; after an edited input, what is wrong with it. */
export function approvalWhy({ reason, agent }: Pick<WaitingApproval, 'reason' | 'agent'>): string {
  return `${truncateWithCount(reason, 200)}${ofAgent(agent ? { agent } : {})}`;
}
