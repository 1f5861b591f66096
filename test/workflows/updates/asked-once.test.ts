// An update counts once, over handovers too, and the memory of updates is bounded (L57 L61).
import { expect, test } from 'vitest';
import { unwrapRequest } from '../../../workflows/contract/steered.ts';
import { AskedOnce } from '../../../workflows/updates/steered-log.ts';

const asked = (id: number, at = id) => ({ update: 'topUp', id: String(id), at, asked: { maxTurns: id }, by: 'ana' });

test('one that was asked before is refused, also after a handover (L61)', () => {
  const once = new AskedOnce(true);
  expect(once.snapshot()).toBeNull();
  expect(once.problem('topUp', asked(1))).toBeUndefined();
  once.note(asked(1));
  const carried = new AskedOnce(true, JSON.parse(JSON.stringify(once.snapshot())) as never);
  expect(carried.problem('topUp', asked(1))).toContain('was asked before');
  expect(carried.problem('topUp', asked(2))).toBeUndefined();
});

test('after thousands none counts again, what is remembered stays small, and a clock that is behind does no harm before', () => {
  const once = new AskedOnce(true);
  for (let id = 1; id <= 3_000; id += 1) {
    expect(once.problem('topUp', asked(id, 10_000 + id - (id % 7)))).toBeUndefined();
    once.note(asked(id, 10_000 + id - (id % 7)));
  }
  for (let id = 1; id <= 3_000; id += 1)
    expect(once.problem('topUp', asked(id, 10_000 + id - (id % 7)))).toContain('counts once');
  expect(JSON.stringify(once.snapshot()).length).toBeLessThan(10_000);
});

test('one that was sealed as another update is refused, and where payloads are sealed one that is in no form of ours', () => {
  expect(new AskedOnce(true).problem('setOptions', asked(1))).toContain('not what it was sealed for');
  expect(new AskedOnce(true).problem('setOptions', { model: 'x' })).toContain('nothing was changed');
  expect(new AskedOnce(false).problem('setOptions', { model: 'x' })).toBeUndefined();
  expect(unwrapRequest({ maxTurns: 1 })).toEqual({ maxTurns: 1 });
  expect(unwrapRequest(asked(1))).toEqual({ maxTurns: 1 });
});
