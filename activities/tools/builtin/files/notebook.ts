// A Jupyter notebook as text: its cells with their outputs, as a person reads them. A file that only bears the name of one is null.
import { z } from 'zod';
import { stripVTControlCharacters } from 'node:util';

/** Bytes: a larger one is read as the lines of its JSON. */
export const LARGEST_NOTEBOOK = 20 * 1024 * 1024;

const lines = z
  .union([z.string(), z.array(z.string())])
  .transform((text) => (typeof text === 'string' ? text : text.join('')));

const output = z.looseObject({
  output_type: z.string(),
  text: lines.optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
  traceback: z.array(z.string()).optional(),
});

const notebook = z.looseObject({
  nbformat: z.number(),
  cells: z.array(
    z.looseObject({
      cell_type: z.string(),
      source: lines,
      outputs: z.array(output).optional(),
      id: z.string().optional(),
    }),
  ),
});

export function isNotebook(path: string): boolean {
  return path.endsWith('.ipynb');
}

export function notebookText(bytes: Buffer): string | null {
  const read = notebook.safeParse(parsed(bytes));
  if (!read.success) return null;
  const cells = read.data.cells.flatMap(({ cell_type: type, source, outputs = [] }, index) => [
    `--- cell ${index + 1} (${type}) ---`,
    source,
    ...outputs.flatMap((each) => [`--- output of cell ${index + 1} ---`, outputText(each)]),
  ]);
  const note = '(a notebook, shown as its cells; in the file they are JSON, which edit changes and grep shows)';
  return [...cells, note].join('\n');
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return null;
  }
}

function outputText({ text, data, ename, evalue, traceback }: z.output<typeof output>): string {
  if (text !== undefined) return stripVTControlCharacters(text);
  if (traceback !== undefined) return stripVTControlCharacters(traceback.join('\n'));
  if (ename !== undefined) return `${ename}: ${evalue ?? ''}`;
  return Object.entries(data ?? {})
    .filter(([type], _, all) => type !== 'text/html' || !all.some(([other]) => other === 'text/plain'))
    .map(([type, value]) => ofType(type, value))
    .join('\n');
}

function ofType(type: string, value: unknown): string {
  const text = lines.safeParse(value);
  if (type.startsWith('text/') && text.success) return stripVTControlCharacters(text.data);
  return `[${type}, about ${(text.success ? text.data : JSON.stringify(value)).length} characters: not shown]`;
}
