// Tool calls and their results, each on a line or three: enough to see what happens, never all of
// it.
import { cutMeasured, oneLine, type Paint } from '../paint.ts';
import { showUnseen } from '../../system/text.ts';
import { count, shortTime } from '../units.ts';
import { changeOf, type FileChange, diffRows } from './diff-rows.ts';
import type { Entry, Outcome, ReplyEntry } from '../../store/log/entries.ts';

const INPUT = 160;
const SHOWN_FIELDS = 4;
const RESULT_LINES = 3;
const LIST_LINES = 40;
const RESULT_LINE = 140;
/** Characters of the name of who decided. */
const NAME = 60;
/** Characters of a line of a change. */
const ROW = 160;
/** Characters that are looked at. */
const RESULT = 20_000;

/** The inputs that name what a tool acts on: shown first, wherever the model put them. */
const MAIN: readonly string[] = ['command', 'path', 'file_path', 'url'];

/**
 * The fields of an input as texts, what it acts on first; a value that has no names is one without
 * a name.
 */
export function inputFields(input: unknown): readonly { readonly name: string | null; readonly text: string }[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return [{ name: null, text: valueText(input) }];
  const rank = (name: string): number => (MAIN.includes(name) ? MAIN.indexOf(name) : MAIN.length);
  const fields = Object.entries(input).map(([name, value]) => ({ name, text: valueText(value) }));
  return fields.toSorted((one, other) => rank(one.name) - rank(other.name));
}

/**
 * Puts the input that matters first: a first text is shown without its name. The number of
 * characters cut is said.
 */
export function compactInput(input: unknown, most = INPUT): string {
  const [first, ...rest] = inputFields(input);
  if (!first) return '';
  const shown = cutMeasured(first.text, most);
  const more = rest.map(({ name, text }) => `${oneLine(name ?? '', 40)}=${cutMeasured(text, 40)}`);
  return [
    shown,
    ...more.slice(0, SHOWN_FIELDS),
    ...(more.length > SHOWN_FIELDS ? [`… (+${count(more.length - SHOWN_FIELDS, 'field')})`] : []),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export function callLine(paint: Paint, name: string, input: unknown): string {
  return `${paint.cyan('▸')} ${paint.bold(oneLine(name, 60))} ${compactInput(input)}`.trimEnd();
}

/** A call, and below an edit the change that it asks for. */
export function callLines(paint: Paint, name: string, input: unknown): readonly string[] {
  const change = name === 'edit' ? changeOf(name, input) : null;
  if (!change) return [callLine(paint, name, input)];
  return [callLine(paint, name, { path: change.path }), ...changeLines(paint, change)];
}

/** Above a result that stands apart from its call. `input` is undefined when it is not known. */
export function callAgain(paint: Paint, name: string, input: unknown): string {
  return paint.dim(`◂ ${oneLine(name, 60)} ${compactInput(input)}`.trimEnd());
}

/**
 * `durationMs` is null when it is not known, or nothing ran. `cut`: the content goes on before or
 * after what is given, nobody here knows how far. A failure tells its reason at its end: of one the
 * last lines are shown, of anything else the first.
 */
export function resultLines(
  paint: Paint,
  result: {
    readonly content: string;
    readonly isError: boolean;
    readonly durationMs: number | null;
    readonly cut?: boolean;
    readonly name?: string;
  },
): string {
  const { content, isError, durationMs } = result;
  // A task list is there to be seen.
  const most = result.name === 'todo' ? LIST_LINES : RESULT_LINES;
  const lines = showUnseen(isError ? content.slice(-RESULT) : content.slice(0, RESULT))
    .split('\n')
    .map((line) => oneLine(line, RESULT_LINE))
    .filter((line) => line !== '');
  const shown = isError ? lines.slice(-most) : lines.slice(0, most);
  const hidden = lines.length - shown.length;
  const cut = result.cut === true || content.length > RESULT;
  const more = cut ? `${hidden.toLocaleString('en')}+ more lines` : count(hidden, 'more line');
  const left = hidden > 0 || cut ? [more] : [];
  const time = durationMs !== null ? [shortTime(durationMs)] : [];
  const rest = [...(isError ? [] : left), ...time].join(', ');
  const all = [
    ...(isError && left.length > 0 ? [`(${more.replace('more', 'earlier')})`] : []),
    ...(shown.length > 0 ? shown : ['(no output)']),
    ...(rest === '' ? [] : [`(${rest})`]),
  ];
  const mark = isError ? paint.red('✗') : paint.dim('│');
  return all.map((line, index) => `  ${index === 0 ? mark : paint.dim('│')} ${paint.dim(line)}`).join('\n');
}

/** Rows of a change that are shown below its call. */
const CHANGE_ROWS = 12;

/** An edit as lines taken out and put in: the first of them, and how many more there are. */
function changeLines(paint: Paint, change: FileChange): readonly string[] {
  const { lines, left } = diffRows(change.before, change.after);
  const colours = { '+': paint.green, '-': paint.red, ' ': paint.dim };
  const shown = lines
    .slice(0, CHANGE_ROWS)
    .map(({ mark, text }) => `  ${colours[mark](`${mark} ${cutRow(text)}`.trimEnd())}`);
  const hidden = lines.length - shown.length;
  const more = left > 0 ? `${hidden}+ more lines` : count(hidden, 'more line');
  return hidden > 0 || left > 0 ? [...shown, `  ${paint.dim(`(${more})`)}`] : shown;
}

/** Blanks at its beginning count: unlike cutMeasured it keeps them. */
function cutRow(text: string): string {
  const characters = Array.from(showUnseen(text.slice(0, ROW * 4)).replaceAll('\t', '    '));
  const left = Math.max(0, characters.length - ROW) + Math.max(0, text.length - ROW * 4);
  const shown = showUnseen(characters.slice(0, ROW).join(''));
  return left === 0 ? shown : `${shown}… (+${left.toLocaleString('en')} characters)`;
}

// Which outcome belongs to which call of a transcript: they are stored after their reply, people
// read them at the call.

/**
 * By the position of the call's block in its reply. A call whose outcome is not stored yet is not
 * in it.
 */
export type PairedOutcomes = ReadonlyMap<ReplyEntry, ReadonlyMap<number, Outcome>>;

export const REPEATED = 'not run: a call before it has the same id';

export function pairedOutcomes(entries: readonly Entry[]): PairedOutcomes {
  const paired = new Map<ReplyEntry, Map<number, Outcome>>();
  let open: Map<number, Outcome> | null = null;
  for (const entry of entries) {
    if (entry.kind === 'reply') paired.set(entry, (open = new Map()));
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) if (!open?.has(outcome.index)) open?.set(outcome.index, outcome);
  }
  return paired;
}

// How a call came out, for people: what its result does not say by itself, and who allowed it.

/**
 * Nothing of a call that ran as the model asked for it, whether it failed or not: its result says
 * so.
 */
export function outcomeWords({ content, log }: Pick<Outcome, 'content' | 'log'>): readonly string[] {
  const how = log.deniedBy === undefined ? endWord(log) : `denied by ${oneLine(log.deniedBy, NAME)}`;
  // Most results begin with it.
  const said = how === null || content.slice(0, LOOKED_AT).toLowerCase().includes(how);
  return [...(said ? [] : [how]), ...approvedWords(log)];
}

/** Characters of a result whose beginning is shown. */
const LOOKED_AT = 100;

/** Null: it ran to its end. */
export function endWord({ decision, outcome }: Pick<Outcome['log'], 'decision' | 'outcome'>): string | null {
  if (decision === 'denied') return 'denied';
  switch (outcome) {
    case 'not_run':
      return 'not run';
    case 'unknown':
      return 'outcome unknown';
    case 'cancelled':
      return 'cancelled';
    case 'ok':
    case 'error':
      return null;
  }
}

function approvedWords({ approved }: Pick<Outcome['log'], 'approved'>): readonly string[] {
  if (approved === undefined) return [];
  const who = approved.by === undefined ? 'a person' : oneLine(approved.by, NAME);
  return [`${who} allowed it${approved.editedHash === undefined ? '' : ' with another input'}`];
}
