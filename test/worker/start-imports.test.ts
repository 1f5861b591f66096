// What a worker loads before it polls.
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm;

/** Returns all that `file` imports before it runs, and what they import: files of ours, and packages. */
function loadedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    const path = name.startsWith('.') ? join(dirname(file), name) : null;
    const known = path === null ? name : relative(root, path);
    if (found.has(known)) continue;
    found.add(known);
    if (path !== null && /\.tsx?$/.test(path)) loadedBy(path, found);
  }
  return found;
}

const loaded = [...loadedBy(join(root, 'worker/start-worker.ts'))];

test('the walk over imports finds files and packages', () => {
  expect(loaded).toEqual(expect.arrayContaining(['activities/call-model.ts', '@temporalio/worker', 'zod']));
});

test.each([
  ['the SDK of the model API, which a worker loads once it polls', /^@anthropic-ai\/sdk$/],
  ['the scripted model', /^scripted-model\//],
  ['servers of tools', /^tools\/mcp\/open-servers|^@modelcontextprotocol\//],
  ['the parser of YAML', /^yaml$/],
  ['the page, the command line or the client', /^(page|cli|client)\//],
])('a worker polls before it loads %s', (_, what) => {
  expect(loaded.filter((name) => what.test(name))).toEqual([]);
});
