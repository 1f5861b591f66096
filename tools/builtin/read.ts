// The read tool: numbered lines of a file, or of a stored result, a range at a time; images and PDF
// documents as they are (L85).
import { z } from 'zod';
import { parseEntryName } from '../../store/log/entries.ts';
import { examineMedia, sizeProblem, detectMediaType, MEDIA_START } from '../../store/transcript/media.ts';
import { resultHash } from '../../store/transcript/preview.ts';
import { defineTool, type Tool, type ToolContext, ToolFailure, type ToolOutput } from '../tool.ts';
import type { BuiltinOptions } from './files/options.ts';
import { quoteIfNeeded } from './files/wording.ts';
import { findSkillFolders } from './files/skills.ts';
import type { OpenFile } from '../../system/open-file.ts';
import { confine, fromRoot, toWorkspace } from './files/confine.ts';
import { quotePath } from './files/fs-failures.ts';
import { openFile, toSeenFile } from './files/open-inside.ts';
import { decodeChunks, detectMark, MARK_NAMES } from './files/encoding.ts';
import { isNotebook, LARGEST_NOTEBOOK, renderNotebook } from './files/notebook.ts';
import { type Line, type LineRange, type LinesEnd, readChunks, readLines } from './files/lines.ts';
import type { MediaType } from '../../workflows/contract/people.ts';

const DEFAULT_LINES = 2_000;
/**
 * Characters of an answer: below the size that would be stored and previewed, or reading a stored
 * result would store another.
 */
const BUDGET = 45_000;
const MIN_LINE = 2_000;
const MAX_LINE = 40_000;
const TIME_LIMIT_MS = 20_000;

const inputSchema = z.strictObject({
  path: z
    .string()
    .describe('A file in the workspace, or a name such as perdure:result/… or perdure:entry/… given to you'),
  offset: z.int().min(1).optional().describe('The first line to show, from 1'),
  limit: z.int().min(1).optional().describe(`How many lines to show, ${DEFAULT_LINES} if absent`),
  column: z.int().min(1).optional().describe('The first byte to show of each line, from 1: for lines too long to show'),
});

type ReadInput = z.infer<typeof inputSchema>;

/** How a text is shown, and how the model asks for the rest of it. */
type TextForm = {
  readonly lines: number;
  /** Bytes of a line that are shown where `limit` lines are. */
  longestLine(limit: number): number;
  write(line: Line): string;
  describeMore(from: number, to: number, isAll: boolean): string | null;
};

const NUMBERED: TextForm = {
  lines: DEFAULT_LINES,
  longestLine: (limit) => Math.min(MAX_LINE, Math.max(MIN_LINE, Math.floor(MAX_LINE / limit))),
  write: numberLine,
  describeMore: (from, to) => `(lines ${from} to ${to}; more follow, read on with offset ${to + 1})`,
};

/** Lines as they are, in as many as fit an answer. */
export const PLAIN: TextForm = {
  lines: Number.MAX_SAFE_INTEGER,
  longestLine: () => MAX_LINE,
  write: ({ number, text, cutAt }) =>
    cutAt === null
      ? text
      : `${text} [… the line goes on: with bash, sed -n ${number}p and cut -b ${cutAt}- print the rest]`,
  describeMore: (from, to, isAll) =>
    isAll ? null : `(lines ${from} to ${to}; more follow, read on with view_range [${to + 1}, -1])`,
};

export function createReadTool(options: BuiltinOptions, form = NUMBERED): Tool {
  return defineTool({
    name: 'read',
    description:
      'Reads a text file in the workspace as numbered lines, an image (png, jpeg, gif, webp) or PDF as you can see it, a notebook as its cells. Long files and lines are shown in part, with a note on how to read on. ' +
      'Also reads what was stored and is no longer shown, by the name (perdure:…) given in its place.',
    inputSchema,
    risk: 'read',
    recovery: 'rerun',
    subject: ({ path }, context) =>
      path.startsWith('perdure:') ? null : { kind: 'path', path: fromRoot(path, context) },
    call: (input, context) =>
      input.path.startsWith('perdure:') ? readResult(input, context, form) : readFile(input, context, options, form),
  });
}

async function readFile(
  input: ReadInput,
  context: ToolContext,
  { dataDir, skills }: Pick<BuiltinOptions, 'dataDir' | 'skills'>,
  form: TextForm,
): Promise<ToolOutput> {
  const ownWorkspace = toWorkspace(context, dataDir);
  // Skills of the configuration are read where they are, and by this tool alone (L79).
  const more = skills ? await findSkillFolders(skills) : [];
  const workspace = { ...ownWorkspace, folders: [...(ownWorkspace.folders ?? []), ...more] };
  const found = confine(workspace, input.path);
  const { handle, stats } = await openFile(workspace, found);
  const deadline = performance.now() + TIME_LIMIT_MS;
  const check = (): void => {
    if (context.signal.aborted) throw new ToolFailure('Stopped while reading.');
    if (performance.now() > deadline)
      throw new ToolFailure(`${quotePath(input.path)} is too large to read that far into it.`);
  };
  try {
    const facts = { seen: [toSeenFile(found.path, stats)] };
    const start = Buffer.alloc(MEDIA_START);
    const bytesRead = await handle.read(start, 0);
    const type = detectMediaType(start.subarray(0, bytesRead));
    const problem = type && sizeProblem(type, stats.size);
    if (problem) throw new ToolFailure(`${quotePath(input.path)} ${problem}. ${describeSmaller(type, input.path)}`);
    if (type)
      return { ...showMedia(input.path, await readWholeFile(handle, stats.size, check), describeSmaller), ...facts };
    if (isNotebook(input.path) && stats.size <= LARGEST_NOTEBOOK) {
      const text = renderNotebook(await readWholeFile(handle, stats.size, check));
      if (text !== null) return { ...(await render(input, form, stats.size, [Buffer.from(text)])), ...facts };
    }
    const mark = detectMark(start.subarray(0, bytesRead));
    const chunks = decodeChunks(readChunks(handle, stats.size, check), mark);
    const result = await render(input, form, stats.size, chunks, () =>
      describeBinary(start.subarray(0, bytesRead), input.path),
    );
    const isOther = mark === 'utf16le' || mark === 'utf16be';
    const note = isOther ? `\n(the file is ${MARK_NAMES[mark]}; edit and write keep that)` : '';
    return { ...result, content: `${result.content}${note}`, ...facts };
  } finally {
    handle.close();
  }
}

async function readResult(input: ReadInput, context: ToolContext, form: TextForm): Promise<ToolOutput> {
  if (resultHash(input.path) === undefined && parseEntryName(input.path) === undefined) {
    throw new ToolFailure(`${quotePath(input.path)} is no stored result: copy the name from where it was given.`);
  }
  const bytes = await context.readStored(input.path);
  if (bytes === null) throw new ToolFailure(`There is no stored result ${input.path}.`);
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (detectMediaType(whole)) return showMedia(input.path, whole, () => '');
  return await render(input, form, bytes.length, [bytes]);
}

async function readWholeFile(handle: OpenFile, size: number, check: () => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readChunks(handle, size, check)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/**
 * Shows an image or document; the outcome gets a line that describes it. `remedy` says what helps
 * where the API does not take it.
 */
function showMedia(path: string, bytes: Buffer, remedy: typeof describeSmaller): ToolOutput {
  const found = examineMedia(bytes);
  if (found?.kind === 'refused') {
    const type = found.isBroken === true ? null : detectMediaType(bytes);
    const helps = type === null ? '' : remedy(type, path);
    throw new ToolFailure(`${quotePath(path)} ${found.problem}. ${helps}`.trimEnd());
  }
  return { content: quoteIfNeeded(path), media: [bytes] };
}

async function render(
  input: ReadInput,
  form: TextForm,
  size: number,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  /** Says how to get at bytes that are no text. */
  remedy = (): string => '',
): Promise<ToolOutput> {
  const { offset = 1, limit = form.lines, column = 1 } = input;
  const range: LineRange = { offset, limit, column, maxLine: form.longestLine(limit) };
  const rendered: string[] = [];
  let length = 0;
  let invalid = false;
  const end = await readLines(chunks, range, (line) => {
    const text = form.write(line);
    if (rendered.length > 0 && length + text.length > BUDGET) return false;
    rendered.push(text);
    length += text.length + 1;
    invalid ||= !line.valid;
    return true;
  });
  if (end.kind === 'binary')
    throw new ToolFailure(
      `${quotePath(input.path)} is a binary file (${size} bytes): it is not shown. ${remedy()}`.trimEnd(),
    );
  const isAll = rendered.length === input.limit;
  const more = end.kind === 'more' ? form.describeMore(offset, offset + rendered.length - 1, isAll) : null;
  const notes = [...writeNotes(end, offset, rendered.length), more, invalid ? INVALID : null];
  return { content: [...rendered, ...notes.filter((note) => note !== null)].join('\n') };
}

const INVALID = '(bytes that are no UTF-8 are shown as \uFFFD)';

function numberLine({ number, text, cutAt }: Line): string {
  const cut = cutAt === null ? '' : ` [… the line goes on: offset ${number}, limit 1, column ${cutAt}]`;
  return `${String(number).padStart(6)}\t${text}${cut}`;
}

function writeNotes(end: LinesEnd, offset: number, count: number): readonly string[] {
  if (end.kind !== 'end' || count > 0) return [];
  return [end.total === 0 ? '(the file is empty)' : `(the file has ${end.total} lines: none from ${offset} on)`];
}

/**
 * Says how the model gets at a file that read cannot show: by a command that makes something of it
 * that read can. The programs are common ones, and need not be installed. For an image or document
 * that is sound, and that the API does not take as it is.
 */
export function describeSmaller(type: MediaType, path: string): string {
  const file = quoteForShell(path);
  return type === 'application/pdf'
    ? `With bash, pdftotext ${file} - prints its text, and qpdf ${file} --pages . 1-20 -- part.pdf takes some pages (--decrypt and --password=… open one that is encrypted).`
    : `With bash, magick ${file} -resize 1568x1568 smaller.png makes it smaller (or convert, sips, Pillow).`;
}

type Kind = { readonly what: string; readonly how: (file: string) => string; readonly is: (start: Buffer) => boolean };

const begins = (start: Buffer, text: string, at = 0): boolean =>
  start.toString('latin1', at, at + text.length) === text;

const isHeif = (start: Buffer): boolean =>
  begins(start, 'ftyp', 4) && /^(heic|heix|hevc|mif1|msf1|avif|avis)/.test(start.toString('latin1', 8, 12));

const toPng = (file: string): string => `magick ${file} picture.png makes a png of it, which read shows`;

const KINDS: readonly Kind[] = [
  {
    what: 'an image (TIFF)',
    how: toPng,
    is: (start) => begins(start, 'II*\0') || begins(start, 'MM\0*'),
  },
  { what: 'an image (HEIC or AVIF)', how: toPng, is: isHeif },
  { what: 'an image (BMP)', how: toPng, is: (start) => begins(start, 'BM') && start.readUInt32LE(6) === 0 },
  { what: 'an icon', how: toPng, is: (start) => begins(start, '\0\0\x01\0') },
  {
    what: 'a zip archive, as office documents are, too',
    how: (file) => `unzip -l ${file} lists it, and pandoc -t markdown ${file} reads a docx, odt or epub`,
    is: (start) => begins(start, 'PK\x03\x04'),
  },
  { what: 'packed by gzip', how: (file) => `zcat ${file} unpacks it`, is: (start) => begins(start, '\x1f\x8b') },
  {
    what: 'a database of SQLite',
    how: (file) => `sqlite3 -readonly ${file} .schema shows its tables`,
    is: (start) => begins(start, 'SQLite forma'),
  },
  {
    what: 'sound or video',
    how: (file) => `ffprobe ${file} describes it, and ffmpeg takes pictures from it`,
    is: (start) =>
      begins(start, 'OggS') ||
      begins(start, 'ID3') ||
      begins(start, 'fLaC') ||
      begins(start, '\x1aE\xdf\xa3') ||
      begins(start, 'ftyp', 4) ||
      (begins(start, 'RIFF') && !begins(start, 'WEBP', 8)),
  },
];

/** Describes a file that is no text, by its first bytes. */
export function describeBinary(start: Buffer, path: string): string {
  const file = quoteForShell(path);
  const kind = KINDS.find(({ is }) => start.length >= 12 && is(start));
  return kind === undefined
    ? `With bash, file ${file} says what it is, and xxd or strings shows its bytes.`
    : `It is ${kind.what}. With bash, ${kind.how(file)}.`;
}

const quoteForShell = (path: string): string =>
  /^[\w./+-]+$/.test(path) && !path.startsWith('-') ? path : `'${path.replaceAll("'", `'\\''`)}'`;
