// Compares our declarations with the names of the SDK that programs are written for. Each missing
// name has a reason.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { type DeclaredNames, declaredNames } from './declared-names.ts';
import { notThere } from './not-there.ts';

const root = join(import.meta.dirname, '../../..');
const theirs = JSON.parse(readFileSync(join(import.meta.dirname, 'sdk-names.json'), 'utf8')) as {
  readonly package: string;
  readonly version: string;
  readonly date: string;
  readonly names: DeclaredNames;
};

/** Returns the missing exports, and the missing members of existing ones. */
function missingIn(ours: DeclaredNames): readonly string[] {
  return Object.entries(theirs.names).flatMap(([name, members]) => {
    if (!Object.hasOwn(ours, name)) return [name];
    const own = new Set(ours[name]);
    return (members ?? []).filter((member) => !own.has(member)).map((member) => `${name}.${member}`);
  });
}

const stands = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;

test('every name that such programs may import, and every member of its types, is there or has its reason (Q7)', () => {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  );
  const missing = missingIn(declaredNames(join(root, 'client/agent-sdk/index.ts'), options));
  const reasons = Object.entries(notThere);
  const rows = reasons.map(([pattern, why]) => {
    const count = missing.filter((name) => stands(pattern, name)).length;
    return `${pattern}${count > 1 ? ` (${count})` : ''}: ${why}`;
  });
  console.log(`${theirs.package} ${theirs.version} (${theirs.date}), not here:\n${rows.join('\n')}`);
  expect(missing.filter((name) => !reasons.some(([pattern]) => stands(pattern, name)))).toEqual([]);
  expect(reasons.filter(([pattern]) => !missing.some((name) => stands(pattern, name)))).toEqual([]);
});
