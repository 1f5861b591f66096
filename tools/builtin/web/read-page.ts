// What is in a page, as a text (L86): HTML as Markdown, other texts as they are. Anything else is
// no text.
import { Worker } from 'node:worker_threads';
import type { createLimit } from '../../../system/async.ts';
import { ToolFailure } from '../../failures.ts';

type Body = { readonly url: URL; readonly contentType: string; readonly bytes: Buffer };

/** Milliseconds and megabytes that a page may take to be turned into Markdown. */
const CONVERSION = { ms: 10_000, megabytes: 512 };

/** Of other types than `text/…` and those that end in `+json` or `+xml`. */
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
 * Throws a ToolFailure for what is no text. `inLine`: how many pages are turned into Markdown at a
 * time.
 */
export async function readPage(
  { url, contentType, bytes }: Body,
  signal: AbortSignal,
  inLine: ReturnType<typeof createLimit>,
): Promise<string> {
  const [given = ''] = contentType.split(';');
  const type = given.trim().toLowerCase();
  const isUntold = type === '' || type === 'application/octet-stream';
  if (isUntold ? bytes.includes(0) : !isText(type)) {
    const named = isUntold ? 'of no type that is a text' : type.slice(0, 100);
    throw new ToolFailure(`${url.href} is ${named}: web_fetch reads HTML, texts, JSON and XML.`);
  }
  const text = decode(bytes, contentType);
  return isHtml(type) ? await inLine(() => htmlText(text, url, signal)) : text;
}

function isText(type: string): boolean {
  return type.startsWith('text/') || TEXTS.has(type) || /\+(?:json|xml)$/.test(type);
}

function isHtml(type: string): boolean {
  return type === 'text/html' || type === 'application/xhtml+xml';
}

/** Bytes of a page in which it may say how it is written. */
const DECLARED_IN = 1_024;

/** By a mark at its beginning, the header, what it says itself, else UTF-8. */
function decode(bytes: Buffer, contentType: string): string {
  const head = bytes.subarray(0, DECLARED_IN).toString('latin1');
  const declared =
    /<meta[^>]{0,200}charset\s?=\s?["']?([\w-]{1,40})/i.exec(head) ??
    /^<\?xml[^>]{0,200}encoding\s?=\s?["']([\w-]{1,40})/.exec(head);
  const [, ofHeader] = /charset\s?=\s?"?([\w-]{1,40})/i.exec(contentType.slice(0, 500)) ?? [];
  const label = markOf(bytes) ?? ofHeader ?? declared?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    // A name that nobody knows.
    return new TextDecoder().decode(bytes);
  }
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined;
}

/** Where it cannot be turned into Markdown in time, without its tags. */
async function htmlText(html: string, url: URL, signal: AbortSignal): Promise<string> {
  const made = await markdownOf(html, url, signal);
  signal.throwIfAborted();
  if (made !== null) return made;
  return `(This page could not be turned into Markdown: it is shown without its tags.)\n\n${withoutTags(html)}`;
}

/** Null when it took too long, or too much memory. */
export function markdownOf(
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
    const end = (made: string | null): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', give);
      resolve(made);
      void thread.terminate();
    };
    const give = (): void => end(null);
    const timer = setTimeout(give, ms);
    signal.addEventListener('abort', give, { once: true });
    thread
      .once('message', (made: string) => end(made))
      .once('error', give)
      .once('exit', give);
  });
}

function withoutTags(html: string): string {
  const lines = html.replaceAll(/<[^<>]*>/g, ' ').split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
