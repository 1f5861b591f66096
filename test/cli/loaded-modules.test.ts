// How many modules a command loads before it does anything, counted over its imports: a command
// that is asked often must not wait for what it does not use.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram, LISTED_COMMANDS } from '../../cli/program.ts';
import { cliOf } from '../../cli/cli.ts';

const root = resolve(import.meta.dirname, '../..');
const STATEMENT = /^(?:import|export)\s+(?!type\b)(?:([^'";]*?)\s*from\s*)?'([^']+)'/gm;

/** Imports that the compiler keeps: those of types alone leave nothing behind. */
function importsOf(file: string): readonly string[] {
  const found = [...readFileSync(file, 'utf8').matchAll(STATEMENT)];
  const isOfTypes = (names = ''): boolean => {
    const [, inner] = /^\{([^}]*)\}$/.exec(names.trim()) ?? [];
    const all = inner?.split(',').flatMap((name) => name.trim() || []) ?? [];
    return all.length > 0 && all.every((name) => name.startsWith('type '));
  };
  return found.flatMap(([, names, path = '']) => (isOfTypes(names) ? [] : [path]));
}

function loadedBy(...entries: readonly string[]) {
  const [files, packages] = [new Set<string>(), new Set<string>()];
  const waiting = entries.map((entry) => join(root, entry));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const path of importsOf(file)) {
      const other = resolve(dirname(file), path);
      if (path.startsWith('.') && existsSync(other)) waiting.push(other);
      else if (!path.startsWith('.') && !path.startsWith('node:')) packages.add(path);
    }
  }
  return { files: [...files].map((file) => relative(root, file)), packages: [...packages].toSorted() };
}

test('`perdure --version` loads a dozen files and no package (O22)', () => {
  const { files, packages } = loadedBy('cli/main.ts');
  expect(packages).toEqual([]);
  expect(files.length).toBeLessThan(12);
});

test('the program knows each command without loading it, and looking commands bring no client of the server (O22)', () => {
  const shared = loadedBy('cli/main.ts', 'cli/cli.ts', 'cli/program.ts');
  expect(shared.files.filter((file) => file.startsWith('cli/commands/'))).toEqual([]);
  for (const name of ['list', 'top', 'show', 'logs', 'approvals']) {
    const { files, packages } = loadedBy(`cli/commands/${name}.ts`);
    expect([name, packages.filter((one) => one.startsWith('@temporalio') || one === 'ajv')]).toEqual([name, []]);
    expect([name, files.length < 80]).toEqual([name, true]);
  }
});

test('a client of the server loads schedules, forks, rewinds and checks of schemas when they are used (O22)', () => {
  const { files, packages } = loadedBy('client/runtime/open-server.ts', 'cli/commands/list.ts');
  expect(packages.filter((one) => /^(?:ajv|diff)/.test(one))).toEqual([]);
  const later = /^client\/(?:schedules|follow|sessions\/(?:fork|repair|snip|files\/(?:rewind|diff)))/;
  expect(files.filter((file) => later.test(file))).toEqual([]);
});

test('a command that is named is the only one that is loaded; for help and for a wrong name all are (O22)', async () => {
  const cli = cliOf(process, { verbose: false, exit: () => undefined });
  const names = async (name?: string) => (await createProgram(cli, name)).commands.map((command) => command.name());
  expect(await names('list')).toEqual(['list']);
  expect(await names('lits')).toEqual(LISTED_COMMANDS.map(({ name }) => name));
  expect(await names()).toEqual(LISTED_COMMANDS.map(({ name }) => name));
});
