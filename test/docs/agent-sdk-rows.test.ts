// docs/api/agent-sdk-rows.md: the names in its first column are there, or refused, or passed over,
// as the row says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as exported from '../../client/agent-sdk/index.ts';
import { checkOptions } from '../../client/agent-sdk/option-fates.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/api/agent-sdk-rows.md'), 'utf8');
const { names: declared } = JSON.parse(readFileSync(join(root, 'test/client/agent-sdk/sdk-names.json'), 'utf8')) as {
  readonly names: Readonly<Record<string, readonly string[] | null>>;
};

const VALUES = ['better', 'equal', 'nearly equal', 'fewer', 'other', 'not there'];

const quoted = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([whole]) => whole.slice(1, -1));

/** Each row: the names in its first column, what it says, and its value. */
const rows = page
  .slice(page.indexOf('| there | here |'))
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| there'))
  .map((line) => {
    const cells = line.slice(2, -2).split(' | ');
    const [first = ''] = cells;
    const [here, value] = [cells.slice(1, -1).join(' | '), cells.at(-1) ?? ''];
    return { first, here, value, names: quoted(first) };
  });

type Row = (typeof rows)[number];

const asked = exported.query({ prompt: '' });
const membersOf = (type: string): readonly string[] => declared[type] ?? [];
const isOption = (name: string): boolean => membersOf('Options').includes(name);
const isMethod = (name: string): boolean => typeof Reflect.get(asked, name) === 'function';

/** Null: it is taken. */
function fateOf(option: string): 'refused' | 'passed' | null {
  const said: string[] = [];
  try {
    checkOptions({ [option]: option === 'extraArgs' ? {} : 'x' }, (line) => said.push(line));
  } catch {
    return 'refused';
  }
  return said.length > 0 ? 'passed' : null;
}

async function isRefused(method: string): Promise<boolean> {
  const call = Reflect.get(asked, method) as (...given: unknown[]) => Promise<unknown>;
  return await call.call(asked, 'x').then(
    () => false,
    (error: unknown) => (error as { readonly kind?: string }).kind === 'refused',
  );
}

const plain = (name: string): string => name.replace(/\(.*$/s, '').replace(/:.*$/s, '');

test('the values of rows are those that the page explains (Q7)', () => {
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter(({ value }) => !VALUES.includes(value))).toEqual([]);
  for (const value of VALUES) expect(page).toContain(`\`${value}\`: `);
});

test('options that a row calls refused are, and those that it calls passed over, with a line (Q7)', () => {
  const expected = ({ here }: Row) =>
    here.startsWith('refused') ? 'refused' : here.startsWith('passed over') ? 'passed' : null;
  const wrong = rows.flatMap((row) =>
    row.names
      .filter((name) => isOption(name) && fateOf(name) !== expected(row))
      .map((name) => `${name} is ${fateOf(name) ?? 'taken'}, and its row says: ${row.here.slice(0, 60)}`),
  );
  expect(wrong).toEqual([]);
});

test('methods and functions that a row names are there, and refuse where it says so (Q7)', async () => {
  for (const { names, here } of rows)
    for (const name of names.filter((each) => /^\w+\(/.test(each)).map(plain)) {
      expect(isMethod(name) || Object.hasOwn(exported, name), `${name}()`).toBe(true);
      if (isMethod(name) && here.startsWith('refused')) expect(await isRefused(name), `${name}()`).toBe(true);
    }
});

test('each option of such programs that is not taken as it is stands in a row, or in one that ends with … (Q7)', () => {
  const ends = (why: string): boolean => rows.some(({ first, here }) => here.startsWith(why) && first.includes('…'));
  const inRows = new Set(rows.flatMap(({ names, here }) => [...names, ...quoted(here)].map(plain)));
  const missing = membersOf('Options').filter((name) => !inRows.has(name) && fateOf(name) === null && !ALSO.has(name));
  expect(missing).toEqual([]);
  expect([ends('refused'), ends('passed over')]).toEqual([true, true]);
});

/** Taken, and said in a row about something else. */
const ALSO = new Set(['allowDangerouslySkipPermissions', 'fallbackModel', 'hooks', 'prompt']);
