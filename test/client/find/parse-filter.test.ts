import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FilterProblem, parseFilter, stateMeant } from '../../../client/sessions/find/parse-filter.ts';

const field = (name: string, operator: string, values: readonly (string | number)[], not = false) => {
  return { kind: 'field', field: name, operator, values, not };
};
const text = (words: string, not = false) => ({ kind: 'text', text: words, not });

test.each([
  ['', []],
  ['phase:waiting', [field('phase', ':', ['waiting_approval'])]],
  ['phase:Parked,idle', [field('phase', ':', ['parked', 'idle'])]],
  ['cost>1', [field('cost', '>', [100])]],
  ['cost<=0.25', [field('cost', '<=', [25])]],
  ['tokens>=100k', [field('tokens', '>=', [100_000])]],
  ['turns:3', [field('turns', ':', [3])]],
  ['waiting>10m age<2h', [field('waiting', '>', [600_000]), field('age', '<', [7_200_000])]],
  ['tag:team=web', [field('tag', ':', ['team=web'])]],
  ['-tag:team', [field('tag', ':', ['team'], true)]],
  ['reason!=completed', [field('reason', '=', ['completed'], true)]],
  ['-reason!=completed', [field('reason', '=', ['completed'])]],
  ['model:"a b"', [field('model', ':', ['a b'])]],
  ['"say \\"hi\\""  -x', [text('say "hi"'), text('x', true)]],
  ['-"gone"', [text('gone', true)]],
  ['a - b', [text('a'), text('-'), text('b')]],
  ['s-4k2', [text('s-4k2')]],
  ['failed', [field('phase', ':', ['failed'])]],
  ['-Waiting lamp', [field('phase', ':', ['waiting_approval'], true), text('lamp')]],
  ['"failed" running.', [text('failed'), text('running.')]],
])('%s is read term by term (O3)', (query, terms) => {
  expect(parseFilter(query)).toEqual({ terms });
});

test.each([
  ['faild', 'failed'],
  ['lamp wating', 'waiting'],
  ['report', undefined],
  ['failed', undefined],
])('%s may have meant the state %s (O3)', (query, state) => {
  expect(stateMeant(parseFilter(query))).toBe(state);
});

test('sort says by what, and a minus puts the largest first (O3)', () => {
  expect(parseFilter('sort:cost')).toEqual({ terms: [], sort: { field: 'cost', descending: false } });
  expect(parseFilter('x sort:-turns').sort).toEqual({ field: 'turns', descending: true });
});

test.each([
  ['phase:wating', 6, 'there is no phase "wating"'],
  ['-phase:constructor', 7, 'there is no phase "constructor"'],
  ['a fhase:idle', 2, 'unknown field “fhase”: did you mean phase?'],
  ['fase:waiting', 0, 'unknown field “fase”: did you mean phase?'],
  ['colour:red', 0, 'unknown field “colour”: use phase, '],
  ['cost>much', 5, '"much" is no amount of US dollars: write 2 or 0.50'],
  ['waiting>10', 8, '"10" is no length of time: write 90s, 30m, 2h or 7d'],
  ['model>x', 0, 'model has no order'],
  ['turns>', 0, 'turns is compared with nothing'],
  ['turns>1,2', 0, '> takes one value'],
  ['"open', 0, 'the quotes are not closed'],
  ['x ""', 2, 'there is nothing between the quotes'],
  ['"a"b', 3, 'put a blank before it'],
  ['sort:tag', 5, 'nothing is sorted by "tag"'],
  ['sort:cost sort:age', 10, 'it is sorted twice'],
  ['-sort:cost', 0, 'write sort:cost, or sort:-cost'],
])('%s is refused with its place (O3)', (query, from, why) => {
  const problem = thrownBy(query);
  expect(problem?.message).toContain(why);
  expect(problem?.message).toContain(`the filter, at character ${from + 1}, `);
  expect(problem?.from).toBe(from);
});

function thrownBy(query: string): FilterProblem | null {
  try {
    parseFilter(query);
    return null;
  } catch (error) {
    if (error instanceof FilterProblem) return error;
    throw error;
  }
}

const pieces = [
  'phase',
  'cost',
  'tag',
  'sort',
  ':',
  '=',
  '>',
  '<=',
  '!=',
  '-',
  '"',
  ',',
  ' ',
  '\\',
  '1',
  '9m',
  'a=b',
  'é',
  '\u202e',
];
const queries = fc.oneof(
  fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 60 }),
);

test('any text is a filter or a mistake with a place inside it (O3)', () => {
  fc.assert(
    fc.property(queries, (query) => {
      const problem = thrownBy(query);
      if (problem === null) return;
      expect(problem.from).toBeLessThanOrEqual(problem.to);
      expect(problem.to).toBeLessThanOrEqual(query.length);
    }),
    { numRuns: 3_000 },
  );
});

test('a filter of great length is refused before it is read', () => {
  expect(thrownBy('('.repeat(100_000))?.message).toMatch(/longer than 2000 characters/);
});
