// Serves the page's own files and those of the packages it needs. It has no build step: files are
// served as they lie here.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Context } from 'hono';

/** The folder next to the sources, or its place seen from the built files. */
const folder = ['./static/', '../../page/static/']
  .map((place) => fileURLToPath(new URL(place, import.meta.url)))
  .find((path) => existsSync(path));

const SCRIPT = 'text/javascript; charset=utf-8';
const SHEET = 'text/css; charset=utf-8';

const ownFile = (name: string): string => `${folder ?? ''}${name}`;
const { resolve } = createRequire(import.meta.url);

const TYPES: Readonly<Record<string, string>> = { css: SHEET, js: SCRIPT, svg: 'image/svg+xml' };

/** The page's own files, which are all that lie in the folder, by name. */
const own = (folder === undefined ? [] : readdirSync(folder)).flatMap((name) => {
  const type = TYPES[name.replace(/^.*\./, '')];
  return type === undefined ? [] : [[name, [type, () => ownFile(name)]] as const];
});

const files: Readonly<Record<string, readonly [type: string, path: () => string]>> = {
  ...Object.fromEntries(own),
  'htmx.js': [SCRIPT, () => resolve('htmx.org/dist/htmx.min.js')],
};

type Asset = { readonly body: Uint8Array<ArrayBuffer>; readonly type: string; readonly tag: string };

const loaded = new Map<string, Asset>();

/** Returns null when the file does not exist. */
export function serveAsset(context: Context, name: string): Response | null {
  const known = Object.hasOwn(files, name) ? files[name] : undefined;
  if (!known) return null;
  const { body, type, tag } = loaded.get(name) ?? load(name, known);
  const headers = { 'Content-Type': type, ETag: tag, 'Cache-Control': 'no-cache' };
  if (context.req.header('if-none-match') === tag) return context.body(null, 304, headers);
  return context.body(body, 200, headers);
}

function load(name: string, [type, path]: readonly [string, () => string]): Asset {
  const body = new Uint8Array(readFileSync(path()));
  const found = { body, type, tag: `"${createHash('sha256').update(body).digest('hex').slice(0, 24)}"` };
  loaded.set(name, found);
  return found;
}
