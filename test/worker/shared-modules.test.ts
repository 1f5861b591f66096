// Modules of workflows of which all workflows of a worker share one instance: one that held state would
// bring it from one session into another, and a replay would differ.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SHARED_MODULES } from '../../worker/bundle.ts';

const workflows = fileURLToPath(new URL('../../workflows/', import.meta.url));
const isShared = (path: string): boolean => SHARED_MODULES.some((folder) => path.startsWith(`${folder}/`));
const shared = readdirSync(workflows, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && isShared(path))
  .map((path) => ({ path, code: readFileSync(join(workflows, path), 'utf8') }));

test('modules that workflows share hold nothing that changes', () => {
  expect(shared.length).toBeGreaterThan(40);
  const changing = /^(export )?(let |const \w+(: [^=]+)? = (new (Weak)?(Map|Set)\b|\[\];|\{\};))/m;
  expect(shared.filter(({ code }) => changing.test(code)).map(({ path }) => path)).toEqual([]);
});

test('modules that workflows share know nothing of Temporal’s workflows, nor of modules that are not shared', () => {
  const imports = /^(?:import|export) (?!type )[^;]*? from '([^']+)'/gm;
  const foreign = shared.flatMap(({ path, code }) =>
    [...code.matchAll(imports)].flatMap(([, from = '']) => {
      const to = from.startsWith('.') ? relative(workflows, join(workflows, dirname(path), from)) : from;
      return isShared(to) || to === '@temporalio/common' ? [] : [`${path}: ${to}`];
    }),
  );
  expect(foreign).toEqual([]);
});
