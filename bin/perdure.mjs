#!/usr/bin/env node
// The `perdure` command. In a checkout it builds first when the sources are newer than what was
// built from them.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Folders beside those of the product. */
const others = new Set(['.git', 'bench', 'bin', 'deploy', 'dist', 'docs', 'examples', 'node_modules', 'test']);
/** The build writes it last. */
const built = join(root, 'dist', 'workflow-bundle.js');

function newest(folder) {
  let time = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) time = Math.max(time, newest(path));
    else if (/\.(tsx?|mjs)$/.test(entry.name)) time = Math.max(time, statSync(path).mtimeMs);
  }
  return time;
}

function isStale() {
  if (!existsSync(join(root, 'tsconfig.build.json'))) return false;
  const time = statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const sources = folders.map(({ name }) => name).filter((name) => !others.has(name) && !name.startsWith('.'));
  return sources.some((folder) => newest(join(root, folder)) > time);
}

/**
 * What `npm run build` does. Nothing is looked for on PATH, where an agent may have put it, and no
 * key is given along.
 */
function build() {
  const { PATH, HOME, LANG } = process.env;
  const options = { cwd: root, env: { PATH, HOME, LANG }, stdio: ['ignore', 2, 2] };
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const steps = [[compiler, '-p', 'tsconfig.build.json', '--noCheck'], [join(root, 'dist', 'worker', 'bundle.js')]];
  return steps.every((step) => spawnSync(process.execPath, step, options).status === 0);
}

/** `<cache>/perdure/compile`, which nobody else may write. Null where that cannot be. */
function compileFolder() {
  const { XDG_CACHE_HOME: set, HOME } = process.env;
  const cache = set && isAbsolute(set) ? set : join(HOME || homedir(), '.cache');
  const folder = join(cache, 'perdure', 'compile');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const isOwn = ({ uid, mode }) => uid === process.getuid?.() && (mode & 0o022) === 0;
    return [dirname(folder), folder].every((path) => isOwn(lstatSync(path))) ? realpathSync(folder) : null;
  } catch {
    return null;
  }
}

if (isStale()) {
  process.stderr.write('perdure: building, for the sources are newer than what was built\n');
  if (!build()) {
    process.stderr.write('perdure: the build failed: run npm ci, then npm run build\n');
    process.exit(1);
  }
}

try {
  await import('../dist/system/process/supported.js');
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
// From Node 22 on: what was compiled once is not compiled again. What lies there is run unseen, so
// it lies where no command of an agent writes.
const compiled = compileFolder();
if (compiled !== null) module.enableCompileCache?.(compiled);
const { main } = await import('../dist/cli/main.js');
const status = await main(process.argv.slice(2), process);
// Whatever is still open belongs to nothing any more.
process.stdout.write('', () => process.exit(status));
