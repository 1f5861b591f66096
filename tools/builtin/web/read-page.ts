// Reads a page as a text (L86): HTML as Markdown, other texts as they are. Other content is
// refused.
import { Worker } from 'node:worker_threads';
import type { createLimit } from '../../../system/async.ts';
import { ToolFailure } from '../../failures.ts';
import { type FetchResult, MOST_BYTES } from './fetch-page.ts';

type Body = Pick<Extract<FetchResult, { kind: 'page' }>, 'url' | 'contentType' | 'bytes' | 'isCut'>;

/** Milliseconds and megabytes that a page may take to be turned into Markdown. */
const CONVERSION = { ms: 10_000, megabytes: 512 };

/** Text types besides `text/…` and those that end in `+json` or `+xml`. */
const TEXTS: ReadonlySet<string> = new Set([
  'application/ecmascript',
  'application/graphql',
  'application/javascript',
  'application/json',
  'application/jsonl',
  'application/ld+json',
  'application/sql',
  'application/toml',
  'application/typescript',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-yaml',
  'application/xml',
  'application/yaml',
]);

/**
 * Reads a page. `inLine` limits how many pages are turned into Markdown at a time. Throws a
 * ToolFailure for content that is not text.
 */
export async function readPage(
  { url, contentType, bytes, isCut }: Body,
  signal: AbortSignal,
  inLine: ReturnType<typeof createLimit>,
): Promise<string> {
  const [mediaType = ''] = contentType.split(';');
  const type = mediaType.trim().toLowerCase();
  const isUntold = type === '' || type === 'application/octet-stream';
  if (isUntold ? bytes.includes(0) : !isText(type)) {
    const named = isUntold ? 'of no type that is a text' : type.slice(0, 100);
    throw new ToolFailure(
      `${url.href} is ${named}: web_fetch reads HTML, texts, JSON and XML. ${describeDownload(type)}`,
    );
  }
  const decoded = decodePage(bytes, contentType);
  // The cut may have halved a character.
  const text = isCut ? decoded.replace(/\uFFFD$/, '') : decoded;
  const read = isHtml(type) ? await inLine(() => renderHtml(text, url, signal)) : text;
  return isCut ? `${read}\n\n(${CUT})` : read;
}

const CUT = `the page is larger than ${MOST_BYTES / 1024 / 1024} MB, and this is its beginning: curl, with bash, gets all of it`;

function describeDownload(type: string): string {
  const next = /^(image|application\/pdf)/.test(type)
    ? 'look at the file with read'
    : 'open the file with a program for it';
  return `Download it into the workspace (with bash: curl -fsSL -o FILE URL), and ${next}.`;
}

function isText(type: string): boolean {
  return type.startsWith('text/') || TEXTS.has(type) || /\+(?:json|xml)$/.test(type);
}

function isHtml(type: string): boolean {
  return type === 'text/html' || type === 'application/xhtml+xml';
}

/** Bytes of a page in which it may declare its encoding. */
const DECLARED_IN = 1_024;

/** Decodes by a mark at its beginning, the header, the page's own declaration, else UTF-8. */
function decodePage(bytes: Buffer, contentType: string): string {
  const head = bytes.subarray(0, DECLARED_IN).toString('latin1');
  const declared =
    /<meta[^>]{0,200}charset\s?=\s?["']?([\w-]{1,40})/i.exec(head) ??
    /^<\?xml[^>]{0,200}encoding\s?=\s?["']([\w-]{1,40})/.exec(head);
  const [, ofHeader] = /charset\s?=\s?"?([\w-]{1,40})/i.exec(contentType.slice(0, 500)) ?? [];
  const label = detectEncoding(bytes) ?? ofHeader ?? declared?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    // The name of the encoding is unknown.
    return new TextDecoder().decode(bytes);
  }
}

function detectEncoding(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined;
}

/** Converts HTML to Markdown; where that takes too long, strips the tags. */
async function renderHtml(html: string, url: URL, signal: AbortSignal): Promise<string> {
  const markdown = await convertToMarkdown(html, url, signal);
  signal.throwIfAborted();
  if (markdown !== null) return markdown;
  return `(This page could not be turned into Markdown: it is shown without its tags.)\n\n${stripTags(html)}`;
}

/** Returns null when the conversion took too long, or too much memory. */
export function convertToMarkdown(
  html: string,
  { href: base }: URL,
  signal: AbortSignal,
  { ms, megabytes } = CONVERSION,
): Promise<string | null> {
  return new Promise((resolve) => {
    const thread = new Worker(new URL('./markdown-thread.mjs', import.meta.url), {
      workerData: { html, base },
      resourceLimits: { maxOldGenerationSizeMb: megabytes },
      env: {},
      stdout: true,
      stderr: true,
    });
    const end = (result: string | null): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', give);
      resolve(result);
      void thread.terminate();
    };
    const give = (): void => end(null);
    const timer = setTimeout(give, ms);
    signal.addEventListener('abort', give, { once: true });
    thread
      .once('message', (result: string) => end(result))
      .once('error', give)
      .once('exit', give);
  });
}

function stripTags(html: string): string {
  const lines = html.replaceAll(/<[^<>]*>/g, ' ').split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
