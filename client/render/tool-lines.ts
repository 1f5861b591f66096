// Shows tool calls and their results, each on one to three lines: enough to follow, never all of
// it.
import { truncateWithCount, oneLine, type Paint } from '../paint.ts';
import { showUnseen } from '../../system/text.ts';
import { formatCount, shortTime } from '../units.ts';
import { changeOf, type FileChange, diffRows } from './diff-rows.ts';

const INPUT = 160;
const SHOWN_FIELDS = 4;
const RESULT_LINES = 3;
const LIST_LINES = 40;
const RESULT_LINE = 140;
/** Most characters of the name of who decided. */
export const NAME = 60;
/** Most characters of a line of a change. */
const ROW = 160;
/** Most characters to look at. */
const RESULT = 20_000;

/** Inputs that name what a tool acts on. They are shown first, wherever the model put them. */
const MAIN: readonly string[] = ['command', 'path', 'file_path', 'url'];

/**
 * Returns the fields of an input as texts, what it acts on first. A value without fields becomes
 * one field without a name.
 */
export function inputFields(input: unknown): readonly { readonly name: string | null; readonly text: string }[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return [{ name: null, text: valueText(input) }];
  const rank = (name: string): number => (MAIN.includes(name) ? MAIN.indexOf(name) : MAIN.length);
  const fields = Object.entries(input).map(([name, value]) => ({ name, text: valueText(value) }));
  return fields.toSorted((one, other) => rank(one.name) - rank(other.name));
}

/**
 * Formats an input on one line. The most important field comes first, without its name, and a cut
 * says how many characters are missing.
 */
export function compactInput(input: unknown, most = INPUT): string {
  const [first, ...rest] = inputFields(input);
  if (!first) return '';
  const lead = truncateWithCount(first.text, most);
  const more = rest.map(({ name, text }) => `${oneLine(name ?? '', 40)}=${truncateWithCount(text, 40)}`);
  return [
    lead,
    ...more.slice(0, SHOWN_FIELDS),
    ...(more.length > SHOWN_FIELDS ? [`… (+${formatCount(more.length - SHOWN_FIELDS, 'field')})`] : []),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** Formats an input where a command alone says what is done; how long it may take does not. */
export function briefInput(input: unknown, most = INPUT): string {
  const [first] = inputFields(input);
  return compactInput(first?.name === 'command' ? { command: first.text } : input, most);
}

/** Words of the model about a call say nothing of what it does. */
const ABOUT: ReadonlySet<string> = new Set(['description', 'reason', 'explanation']);

/**
 * Says on one line what a call would do: the command, the file with the lines that change, the
 * number of tasks, else the fields of its input.
 */
export function callWhat(tool: string, input: unknown, most = INPUT): string {
  const change = changeOf(tool, input);
  if (change) {
    const { lines, left } = diffRows(change.before, change.after);
    const count = (mark: string): number => lines.filter((line) => line.mark === mark).length;
    const counts = left > 0 ? '' : ` +${count('+')} −${count('-')}`;
    return `${truncateWithCount(change.path, most)}${counts}`;
  }
  const fields = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
  const tasks: unknown = tool === 'todo' ? fields.find(([name]) => name === 'tasks')?.[1] : undefined;
  if (Array.isArray(tasks)) return formatCount(tasks.length, 'task');
  const about = fields.filter(([name]) => ABOUT.has(name));
  // For a task of its own, the title says more than the prompt.
  if (tool === 'agent' && about.length > 0) return compactInput(Object.fromEntries(about.slice(0, 1)), most);
  const acting = fields.filter((field) => !about.includes(field));
  return briefInput(acting.length > 0 ? Object.fromEntries(acting) : input, most);
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export function callLine(paint: Paint, name: string, input: unknown): string {
  return `${paint.cyan('▸')} ${paint.bold(oneLine(name, 60))} ${callWhat(name, input)}`.trimEnd();
}

/** Formats a call, and below an edit the change that it asks for. */
export function callLines(paint: Paint, name: string, input: unknown): readonly string[] {
  const change = name === 'edit' ? changeOf(name, input) : null;
  if (!change) return [callLine(paint, name, input)];
  return [callLine(paint, name, { path: change.path }), ...changeLines(paint, change)];
}

/**
 * Repeats a call above a result that stands apart from it. `input` is undefined when it is not
 * known.
 */
export function callAgain(paint: Paint, name: string, input: unknown): string {
  return paint.dim(`◂ ${oneLine(name, 60)} ${compactInput(input)}`.trimEnd());
}

/**
 * Formats a result. `durationMs` is null when it is unknown or nothing ran. `cut` means that the
 * content continues by an unknown length. A failure explains itself at its end, so its last lines
 * are shown, otherwise the first.
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
  const visible = isError ? lines.slice(-most) : lines.slice(0, most);
  const hidden = lines.length - visible.length;
  const cut = result.cut === true || content.length > RESULT;
  const more = cut ? `${hidden.toLocaleString('en')}+ more lines` : formatCount(hidden, 'more line');
  const left = hidden > 0 || cut ? [more] : [];
  const time = durationMs !== null ? [shortTime(durationMs)] : [];
  const rest = [...(isError ? [] : left), ...time].join(', ');
  const all = [
    ...(isError && left.length > 0 ? [`(${more.replace('more', 'earlier')})`] : []),
    ...(visible.length > 0 ? visible : ['(no output)']),
    ...(rest === '' ? [] : [`(${rest})`]),
  ];
  const mark = isError ? paint.red('✗') : paint.dim('│');
  return all.map((line, index) => `  ${index === 0 ? mark : paint.dim('│')} ${paint.dim(line)}`).join('\n');
}

/** Most rows of a change below its call. */
const CHANGE_ROWS = 12;

/** Formats an edit as removed and added lines: the first of them, and how many more there are. */
function changeLines(paint: Paint, change: FileChange): readonly string[] {
  const { lines, left } = diffRows(change.before, change.after);
  const colours = { '+': paint.green, '-': paint.red, ' ': paint.dim };
  const visible = lines
    .slice(0, CHANGE_ROWS)
    .map(({ mark, text }) => `  ${colours[mark](`${mark} ${truncateRow(text)}`.trimEnd())}`);
  const hidden = lines.length - visible.length;
  const more = left > 0 ? `${hidden}+ more lines` : formatCount(hidden, 'more line');
  return hidden > 0 || left > 0 ? [...visible, `  ${paint.dim(`(${more})`)}`] : visible;
}

/** Cuts a line but, unlike truncateWithCount, keeps blanks at its beginning. */
function truncateRow(text: string): string {
  const characters = Array.from(showUnseen(text.slice(0, ROW * 4)).replaceAll('\t', '    '));
  const left = Math.max(0, characters.length - ROW) + Math.max(0, text.length - ROW * 4);
  const visible = showUnseen(characters.slice(0, ROW).join(''));
  return left === 0 ? visible : `${visible}… (+${left.toLocaleString('en')} characters)`;
}
