// Renders a Jupyter notebook as text: its cells with their outputs, as a person reads them. Returns
// null for a file that only bears the name of one.
import { renderTerminal } from './terminal-text.ts';

/**
 * Bytes. A larger notebook is read as the lines of its JSON; so is one of more values, or of more
 * escaped characters, than are read at once.
 */
export const LARGEST_NOTEBOOK = 20 * 1024 * 1024;
const MOST_VALUES = 50_000;
const MOST_ESCAPED = 200_000;

type Output = {
  readonly text: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  readonly ename: string | undefined;
  readonly evalue: string | undefined;
  readonly traceback: readonly string[] | undefined;
};

type Cell = { readonly type: string; readonly source: string; readonly outputs: readonly Output[] };

export function isNotebook(path: string): boolean {
  return path.endsWith('.ipynb');
}

export function renderNotebook(bytes: Buffer): string | null {
  const cells = readCells(parseNotebook(bytes.toString('utf8'), bytes));
  if (cells === null) return null;
  const note =
    '(a notebook, shown as its cells: edit changes the text of a cell as it is shown here; in the file it is JSON, which grep shows)';
  return [...cells.map(renderCell), note].join('\n');
}

function renderCell({ type, source, outputs }: Cell, index: number): string {
  const results = outputs.flatMap((each) => [`--- output of cell ${index + 1} ---`, renderOutput(each)]);
  return [`--- cell ${index + 1} (${type}) ---`, source, ...results].join('\n');
}

/** The source of a cell, and the line at which `renderNotebook` shows it, from 1. */
type PlacedCell = { readonly source: string; readonly line: number };

/** Lists the cells of a notebook; null for another text. */
export function locateCells(text: string): readonly PlacedCell[] | null {
  const cells = readCells(parseNotebook(text, Buffer.from(text)));
  if (cells === null) return null;
  let line = 1;
  return cells.map((cell, index) => {
    const placed = { source: cell.source, line: line + 1 };
    line += renderCell(cell, index).split('\n').length;
    return placed;
  });
}

export const isNotebookText = (text: string): boolean => locateCells(text) !== null;

/**
 * The fields are read by hand, up to the first wrong value: a schema takes seconds for a large
 * file, and longer to list all its problems.
 */
type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

function readCells(value: unknown): readonly Cell[] | null {
  if (!isFields(value) || typeof value['nbformat'] !== 'number') return null;
  return readEach(value['cells'], readCell);
}

function readCell(value: unknown): Cell | null {
  if (!isFields(value)) return null;
  const { cell_type: type, source, outputs = [] } = value;
  const text = readSource(source);
  const all = readEach(outputs, readCellOutput);
  return typeof type === 'string' && text !== null && all !== null ? { type, source: text, outputs: all } : null;
}

function readCellOutput(value: unknown): Output | null {
  if (!isFields(value) || typeof value['output_type'] !== 'string') return null;
  const { text, data = {}, ename, evalue, traceback } = value;
  const words = text === undefined ? undefined : readSource(text);
  const trace = traceback === undefined ? undefined : readStrings(traceback);
  if (words === null || trace === null || !isFields(data)) return null;
  if (!isMaybeString(ename) || !isMaybeString(evalue)) return null;
  return { text: words, data, ename, evalue, traceback: trace };
}

const isMaybeString = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';

/** Reads each value; null where one is null. */
function readEach<T>(values: unknown, read: (value: unknown) => T | null): readonly T[] | null {
  if (!Array.isArray(values)) return null;
  const all: T[] = [];
  for (const value of values as readonly unknown[]) {
    const one = read(value);
    if (one === null) return null;
    all.push(one);
  }
  return all;
}

const readStrings = (values: unknown): readonly string[] | null =>
  readEach(values, (value) => (typeof value === 'string' ? value : null));

export function readSource(value: unknown): string | null {
  return typeof value === 'string' ? value : (readStrings(value)?.join('') ?? null);
}

function parseNotebook(text: string, bytes: Buffer): unknown {
  if (hasTooMuch(bytes)) return null;
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return null;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_FIELDS = 0x7b;
/** The `u` of an escaped character. */
const UNICODE = 0x75;

/** Looks at each byte once: parsing millions of values would keep everything else waiting. */
function hasTooMuch(bytes: Buffer): boolean {
  let values = 0;
  let escaped = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText && byte === BACKSLASH) {
      at += 1;
      if (bytes[at] === UNICODE && (escaped += 1) > MOST_ESCAPED) return true;
    } else if (!inText && (byte === COMMA || byte === OPEN_LIST || byte === OPEN_FIELDS) && (values += 1) > MOST_VALUES)
      return true;
  }
  return false;
}

/** Cells draw progress bars and colours, too. */
const renderDrawn = (text: string): string => renderTerminal(Buffer.from(text));

function renderOutput({ text, data, ename, evalue, traceback }: Output): string {
  if (text !== undefined) return renderDrawn(text);
  if (traceback !== undefined) return renderDrawn(traceback.join('\n'));
  if (ename !== undefined) return `${ename}: ${evalue ?? ''}`;
  return Object.entries(data)
    .filter(([type], _, all) => type !== 'text/html' || !all.some(([other]) => other === 'text/plain'))
    .map(([type, value]) => renderData(type, value))
    .join('\n');
}

function renderData(type: string, value: unknown): string {
  const text = readSource(value);
  if (type.startsWith('text/') && text !== null) return renderDrawn(text);
  return `[${type}, about ${(text ?? JSON.stringify(value)).length} characters: not shown]`;
}
