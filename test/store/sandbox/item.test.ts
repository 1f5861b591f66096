import { expect, test } from 'vitest';
import {
  acknowledge,
  claim,
  isClaimable,
  itemAfter,
  lapse,
  newItem,
  refuseLease,
  requestStop,
  silentAfter,
  stateOfItem,
  stop,
  takeLease,
  type Refusal,
  type WorkItem,
} from '../../../store/sandbox/queue.ts';

const held = (item: WorkItem | Refusal): WorkItem => {
  if (typeof item === 'string') throw new Error(`it was refused: ${item}`);
  return item;
};

const queued = newItem('sesn_1', 1_000);
const claimed = claim(queued, 2_000, 'w-1');
const acknowledged = held(acknowledge(claimed, 3_000));
const active = held(takeLease(acknowledged, 1, 4_000, '123456'));

test('an item is queued, starting, active, stopping and stopped (G77)', () => {
  const states = [queued, claimed, acknowledged, active, held(requestStop(active, 5_000)), held(stop(active, 6_000))];
  expect(states.map(stateOfItem)).toEqual(['queued', 'queued', 'starting', 'active', 'stopping', 'stopped']);
});

test('a worker that does not acknowledge in its time loses the item to the next one (G77)', () => {
  expect(isClaimable(claimed, 6_999, 5_000)).toBe(false);
  expect(isClaimable(claimed, 7_000, 5_000)).toBe(true);
  expect(isClaimable(acknowledged, 99_000, 5_000)).toBe(false);
  const again = claim(claimed, 7_000, 'w-2');
  expect(again.lease).toEqual({ g: 2, polledAt: 7_000, worker: 'w-2' });
  expect(takeLease(held(acknowledge(again, 8_000)), 1, 9_000, '1')).toBe('superseded');
});

test('an acknowledgement that is repeated changes nothing (G77)', () => {
  expect(acknowledge(acknowledged, 9_000)).toBe(acknowledged);
  expect(acknowledge(held(stop(acknowledged, 9_000)), 9_001)).toBe('stopped');
});

test('of all first heartbeats one takes the lease (G77 B3)', () => {
  expect(takeLease(active, 1, 5_000, '654321')).toBe('held');
});

test('a lease that has lapsed takes no heartbeat, and counts for results until it is stopped (G58 G60)', () => {
  const lapsed = held(lapse(active, 1, 70_000));
  expect(refuseLease(lapsed, 1)).toBe('lapsed');
  expect(lapse(lapsed, 1, 71_000)).toBe(lapsed);
  expect(refuseLease(held(stop(lapsed, 80_000)), 1)).toBe('stopped');
  expect(lapse(active, 2, 70_000)).toBe('superseded');
});

test('items whose workers leave calls open follow each other after 0, 1, 2, 4 and at most 60 seconds (G78)', () => {
  let item = claimed;
  const pauses: number[] = [];
  for (let n = 0; n < 9; n += 1) {
    item = itemAfter(item, 10_000);
    pauses.push((item.from - item.createdAt) / 1_000);
  }
  expect(pauses).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
  expect(itemAfter(active, 64_000).from).toBe(64_000);
});

test('items without a heartbeat are counted in a row, which the first heartbeat ends (G78)', () => {
  let item = claimed;
  const counts: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    counts.push(silentAfter(item));
    item = itemAfter(item, 10_000);
  }
  expect(counts).toEqual([1, 2, 3]);
  const begun = held(takeLease(claim(item, 11_000, 'w-1'), 1, 12_000, '1'));
  expect([silentAfter(begun), itemAfter(begun, 13_000).silent]).toEqual([0, undefined]);
});
