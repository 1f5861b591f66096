// The changes of workflows that a release knows: by them it tells sessions that it can replay from
// those that it cannot.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CHANGES, unknownChanges } from '../../../workflows/contract/changes.ts';

const root = fileURLToPath(new URL('../../../workflows/', import.meta.url));

test('every change of a workflow is one of those that the release says it knows', () => {
  const named = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('visibility.ts'))
    .flatMap((file) => [...readFileSync(`${root}${file}`, 'utf8').matchAll(/'(perdure-[a-z-]+)'/g)])
    .map(([, id]) => id);
  expect(new Set(named)).toEqual(new Set(CHANGES));
});

test('a session with a change of a later release is told from others', () => {
  expect(unknownChanges(['perdure-facts', 'somebody-elses'])).toEqual([]);
  expect(unknownChanges(['perdure-facts', 'perdure-of-tomorrow'])).toEqual(['perdure-of-tomorrow']);
  expect(unknownChanges(undefined)).toEqual([]);
});
