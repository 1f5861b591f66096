import { expect, test } from 'vitest';
import { RecentMap } from '../../system/recent-map.ts';

test('what was set longest ago goes first, and whoever keeps it is told', () => {
  const gone: string[] = [];
  const map = new RecentMap<number, string>(2, (value) => gone.push(value));
  map.set(1, 'one').set(2, 'two').set(1, 'one again').set(3, 'three');
  expect([...map]).toEqual([
    [1, 'one again'],
    [3, 'three'],
  ]);
  expect(gone).toEqual(['two']);
});
