// Shows calls on a terminal that is drawn on: a row for each when it has ended, reads folded into
// one, and what a call gave on demand. Until then it stands below the output. Pure.
import type { WatchedEvent, Paint } from '../../client/faces/types.ts';
import {
  SHOWN_OF_OUTCOME,
  changeOf,
  diffRows,
  callLines,
  compactInput,
  inputFields,
  resultLines,
} from '../../client/faces/words.ts';
import { formatCount, shortTime } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { showUnseen } from '../../system/text.ts';

type Of<Type extends WatchedEvent['type']> = Extract<WatchedEvent, { readonly type: Type }>;

export type CallRows = {
  /** A call was made; nothing is written yet. */
  use(call: Of<'tool_use'>): void;
  /** The call of this block stands on the screen already, with its question. */
  ask(index: number): void;
  /** Returns the lines of a call that has ended; null while it is folded with others. */
  end(call: Of<'tool_end'>): string | null;
  /** Takes out the calls of an attempt that became void. */
  drop(place: Pick<Of<'tool_use'>, 'iteration'>): void;
  /** Returns the line of folded reads that has to be written before anything else; null without. */
  flush(): string | null;
  /** Returns the lines of calls that never ended, at the end of a run. */
  leave(): readonly string[];
  /** Rows below the output: folded reads, and calls under way. */
  pending(): readonly string[];
  /**
   * Returns the output of the newest calls that were not asked for yet; null when there is none.
   */
  output(): string | null;
};

/** Tools whose successful calls are folded: what they gave is for the model. */
const READS: Readonly<Record<string, readonly [verb: string, thing: string]>> = {
  read: ['read', 'file'],
  grep: ['searched', 'pattern'],
  glob: ['listed', 'pattern'],
};
/** Inputs that say all that a row needs. */
const MAIN = new Set(['command', 'path', 'file_path', 'url', 'pattern']);
/** Most calls whose outputs are kept. */
const KEPT = 40;
const PENDING_ROWS = 4;
/** Characters that a row shows of what was read. */
const NAMES = 60;
const OUTPUT_LINES = 400;

type OpenCall = Pick<Of<'tool_use'>, 'iteration' | 'index' | 'name' | 'input'> & { isShown: boolean };
type EndedCall = { readonly head: string; readonly content: string; readonly isError: boolean };

export function trackCallRows(paint: Paint): CallRows {
  const open = new Map<string, OpenCall>();
  let reads: FoldedReads | null = null;
  let recent: EndedCall[] = [];
  const keep = (call: OpenCall | undefined, { name, content, isError }: Of<'tool_end'>): void => {
    recent = [...recent, { head: headText(name, call?.input), content, isError }].slice(-KEPT);
  };
  return {
    use: ({ iteration, index, name, input }) => {
      open.set(keyOf(iteration, index), { iteration, index, name, input, isShown: false });
    },
    ask: (index) => {
      const call = [...open.values()].findLast((one) => one.index === index);
      if (call) call.isShown = true;
    },
    end: (end) => {
      const key = keyOf(end.iteration, end.index);
      const call = open.get(key);
      open.delete(key);
      keep(call, end);
      if (call && !call.isShown && !end.isError && READS[end.name]) {
        reads = foldRead(reads, call, end);
        return null;
      }
      return endLines(paint, call, end);
    },
    drop: ({ iteration }) => {
      for (const [key, call] of open) if (call.iteration === iteration) open.delete(key);
    },
    flush: () => {
      const folded = reads;
      reads = null;
      return folded && readsLine(paint, folded);
    },
    leave: () => {
      const left = [...open.values()].filter(({ isShown }) => !isShown);
      open.clear();
      return left.map(
        ({ name, input }) => `${paint.dim('○')} ${headOf(paint, name, input)}${paint.dim(' · no outcome')}`,
      );
    },
    pending: () => {
      const under = [...open.values()].filter(({ isShown }) => !isShown);
      const rows = under.map(({ name, input }) => `${paint.dim('○')} ${headOf(paint, name, input)}`);
      const more = rows.length > PENDING_ROWS ? [paint.dim(`  … ${rows.length - PENDING_ROWS} more`)] : [];
      return [...(reads ? [readsLine(paint, reads)] : []), ...rows.slice(0, PENDING_ROWS), ...more];
    },
    output: () => {
      const latest = recent.pop();
      return latest === undefined ? null : outputText(paint, latest);
    },
  };
}

const keyOf = (iteration: number, index: number): string => `${iteration}.${index}`;

/** Names what a call acts on; other fields are left out where that says enough. */
function headText(name: string, input: unknown): string {
  if (name === 'todo') return 'todo';
  const [first, ...rest] = inputFields(input ?? {});
  const isEnough = first?.name != null && MAIN.has(first.name);
  const what = isEnough ? compactInput({ [first.name]: first.text }, 120) : compactInput(input ?? {}, 80);
  const more = isEnough && name === 'grep' ? rest.filter(({ name: field }) => field === 'pattern') : [];
  return [oneLine(name, 60), what, ...more.map(({ text }) => oneLine(text, 60))].join(' ').trimEnd();
}

function headOf(paint: Paint, name: string, input: unknown): string {
  const text = headText(name, input);
  const label = oneLine(name, 60);
  return `${paint.bold(label)}${text.slice(label.length)}`;
}

/** Reads that are shown as one row. */
type FoldedReads = {
  readonly first: OpenCall;
  /** How often each tool was called. */
  readonly counts: ReadonlyMap<string, number>;
  /** All that they read: more than a row shows. */
  readonly names: string;
  readonly lines: number;
  /** The output of one was too long to be told whole. */
  readonly isCut: boolean;
};

function foldRead(before: FoldedReads | null, call: OpenCall, { content }: Of<'tool_end'>): FoldedReads {
  const { first = call, counts = new Map<string, number>(), names = '', lines = 0, isCut = false } = before ?? {};
  const name = headText(call.name, call.input).split(' ').slice(1).join(' ');
  const isFull = names.length > 2 * NAMES;
  return {
    first,
    counts: new Map([...counts, [call.name, (counts.get(call.name) ?? 0) + 1]]),
    names: before === null ? name : isFull ? names : `${names}, ${name}`,
    lines: lines + lineCount(content),
    isCut: isCut || content.length >= SHOWN_OF_OUTCOME,
  };
}

function readsLine(paint: Paint, { first, counts, names, lines, isCut }: FoldedReads): string {
  const size = `${lines.toLocaleString('en')}${isCut ? '+' : ''} ${lines === 1 && !isCut ? 'line' : 'lines'}`;
  const isOne = counts.size === 1 && counts.get(first.name) === 1;
  if (isOne) return `${paint.green('●')} ${headOf(paint, first.name, first.input)} ${paint.dim(`· ${size}`)}`;
  const counted = Object.entries(READS).flatMap(([name, [verb, thing]]) => {
    const count = counts.get(name);
    return count === undefined ? [] : [`${paint.bold(verb)} ${formatCount(count, thing)}`];
  });
  return `${paint.green('●')} ${counted.join(', ')} ${paint.dim(`· ${oneLine(names, NAMES)} · ${size}`)}`;
}

const lineCount = (content: string): number => (content === '' ? 0 : content.replace(/\n$/, '').split('\n').length);

function endLines(paint: Paint, call: OpenCall | undefined, end: Of<'tool_end'>): string {
  const { name, isError, content } = end;
  const durationMs = end.untimed === true ? null : end.durationMs;
  const mark = isError ? paint.red('✗') : paint.green('●');
  const change = call ? changeOf(name, call.input) : null;
  const time = durationMs === null || durationMs < 1_000 ? '' : paint.dim(` · ${shortTime(durationMs)}`);
  const head = `${mark} ${headOf(paint, name, call?.input)}${change ? ` ${changeCount(paint, change)}` : ''}${time}`;
  if (change && !isError)
    return [head, ...(call?.isShown ? [] : callLines(paint, name, call?.input).slice(1))].join('\n');
  const cut = content.length >= SHOWN_OF_OUTCOME;
  return `${head}\n${resultLines(paint, { content, isError, durationMs: null, cut, name })}`;
}

function changeCount(paint: Paint, { before, after }: NonNullable<ReturnType<typeof changeOf>>): string {
  const { lines, left } = diffRows(before, after);
  const count = (mark: string): number => lines.filter((line) => line.mark === mark).length;
  const more = left > 0 ? '+' : '';
  return `${paint.green(`+${count('+')}${more}`)} ${paint.red(`−${count('-')}${more}`)}`;
}

function outputText(paint: Paint, { head, content }: EndedCall): string {
  const lines = showUnseen(content).replace(/\n$/, '').split('\n');
  const rows = lines.slice(0, OUTPUT_LINES).map((line) => paint.dim(`  ${line.replaceAll('\t', '    ')}`));
  const left = lines.length - rows.length;
  const isCut = content.length >= SHOWN_OF_OUTCOME || left > 0;
  return [
    paint.dim(`┌ ${head}`),
    ...(content === '' ? [paint.dim('  (no output)')] : rows),
    paint.dim(isCut ? '└ cut: `show --full` prints all of it' : '└'),
  ].join('\n');
}
