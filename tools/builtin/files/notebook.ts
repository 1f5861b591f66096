// A Jupyter notebook as text: its cells with their outputs, as a person reads them. A file that
// only bears the name of one is null.

/**
 * Bytes: a larger one is read as the lines of its JSON; so is one of more values, or of more
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

export function notebookText(bytes: Buffer): string | null {
  const cells = cellsOf(parsed(bytes));
  if (cells === null) return null;
  const shown = cells.flatMap(({ type, source, outputs }, index) => [
    `--- cell ${index + 1} (${type}) ---`,
    source,
    ...outputs.flatMap((each) => [`--- output of cell ${index + 1} ---`, outputText(each)]),
  ]);
  const note = '(a notebook, shown as its cells; in the file they are JSON, which edit changes and grep shows)';
  return [...shown, note].join('\n');
}

// By hand, up to the first value that is none: a schema takes seconds for a large file, and longer
// to say all that is wrong with it.

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

function cellsOf(value: unknown): readonly Cell[] | null {
  if (!isFields(value) || typeof value['nbformat'] !== 'number') return null;
  return eachOf(value['cells'], cellOf);
}

function cellOf(value: unknown): Cell | null {
  if (!isFields(value)) return null;
  const { cell_type: type, source, outputs = [] } = value;
  const text = linesOf(source);
  const all = eachOf(outputs, outputOf);
  return typeof type === 'string' && text !== null && all !== null ? { type, source: text, outputs: all } : null;
}

function outputOf(value: unknown): Output | null {
  if (!isFields(value) || typeof value['output_type'] !== 'string') return null;
  const { text, data = {}, ename, evalue, traceback } = value;
  const said = text === undefined ? undefined : linesOf(text);
  const trace = traceback === undefined ? undefined : stringsOf(traceback);
  if (said === null || trace === null || !isFields(data)) return null;
  if (!isMaybeString(ename) || !isMaybeString(evalue)) return null;
  return { text: said, data, ename, evalue, traceback: trace };
}

const isMaybeString = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';

/** Null where one is null. */
function eachOf<T>(values: unknown, read: (value: unknown) => T | null): readonly T[] | null {
  if (!Array.isArray(values)) return null;
  const all: T[] = [];
  for (const value of values as readonly unknown[]) {
    const one = read(value);
    if (one === null) return null;
    all.push(one);
  }
  return all;
}

const stringsOf = (values: unknown): readonly string[] | null =>
  eachOf(values, (value) => (typeof value === 'string' ? value : null));

function linesOf(value: unknown): string | null {
  return typeof value === 'string' ? value : (stringsOf(value)?.join('') ?? null);
}

function parsed(bytes: Buffer): unknown {
  if (hasTooMuch(bytes)) return null;
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return null;
  }
}

const [QUOTE, BACKSLASH, COMMA, LIST, FIELDS, UNICODE] = Array.from('"\\,[{u', (one) => one.charCodeAt(0));

/** Each byte is looked at once: parsing millions of values would keep everything else waiting. */
function hasTooMuch(bytes: Buffer): boolean {
  let [values, escaped, inText] = [0, 0, false];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText && byte === BACKSLASH) {
      at += 1;
      if (bytes[at] === UNICODE && (escaped += 1) > MOST_ESCAPED) return true;
    } else if (!inText && (byte === COMMA || byte === LIST || byte === FIELDS) && (values += 1) > MOST_VALUES)
      return true;
  }
  return false;
}

/**
 * Colours, places of the cursor, titles of the window. Bounded: what is not closed is not looked
 * for again from each.
 */
/* oxlint-disable-next-line no-control-regex */
const SEQUENCES = /\u001b(?:\[[\d;:?]{0,60}[ -/]?[@-~]|\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\))/g;

const withoutSequences = (text: string): string => text.replace(SEQUENCES, '');

function outputText({ text, data, ename, evalue, traceback }: Output): string {
  if (text !== undefined) return withoutSequences(text);
  if (traceback !== undefined) return withoutSequences(traceback.join('\n'));
  if (ename !== undefined) return `${ename}: ${evalue ?? ''}`;
  return Object.entries(data)
    .filter(([type], _, all) => type !== 'text/html' || !all.some(([other]) => other === 'text/plain'))
    .map(([type, value]) => ofType(type, value))
    .join('\n');
}

function ofType(type: string, value: unknown): string {
  const text = linesOf(value);
  if (type.startsWith('text/') && text !== null) return withoutSequences(text);
  return `[${type}, about ${(text ?? JSON.stringify(value)).length} characters: not shown]`;
}
