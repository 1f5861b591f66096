// What a session takes for a rewind: anyone who reaches the server can send one.
import { expect, test } from 'vitest';
import { MOST_KNOWN, rewindProblem } from '../../../workflows/contract/rewind.ts';

const from = 'a'.repeat(64);
const id = 'b'.repeat(40);
const known = [{ root: '/w', id }];

test('a rewind goes to a head, or with null to an empty conversation, and tells of folders by their snapshots (T6 T7)', () => {
  for (const good of [
    { to: from },
    { to: null },
    { to: null, known },
    { to: null, known: [{ root: '/w', id, first: id }] },
    { files: [{ root: '/w', known: id, to: id }] },
  ])
    expect(rewindProblem({ from, ...good })).toBeUndefined();
  const many = Array.from({ length: MOST_KNOWN + 1 }, () => known[0]);
  for (const [bad, problem] of [
    [{}, 'names neither a head nor folders'],
    [{ to: 'x' }, 'names no head'],
    [{ to: null, known: many }, '`known`'],
    [{ to: null, known: [{ root: 'w', id }] }, '`known`'],
    [{ to: null, known: [{ root: '/w', id: from }] }, '`known`'],
    [{ to: null, known: [{ root: '/w', id, first: 1 }] }, '`known`'],
    [{ to: null, known: {} }, '`known`'],
    [{ files: [] }, '`files`'],
  ] as const)
    expect(rewindProblem({ from, ...bad })).toContain(problem);
  expect(rewindProblem(null)).toContain('does not name the head');
});
