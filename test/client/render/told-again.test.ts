// What is told by an attempt that dies, and told again by the next.
import { expect, test } from 'vitest';
import type { WatchedEvent } from '../../../store/live/events.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { at, screen } from './screen.ts';

test('says once what an attempt appended that died, and the retry or the call after a parking says again (L14 L16)', () => {
  const appended = (step: number, attempt: number): readonly WatchedEvent[] => [
    { type: 'transition', iteration: 2, reason: 'model_fallback', ...at(step, attempt) },
    { type: 'user', id: 'm' as MessageId, text: 'and that', ...at(step, attempt) },
    { type: 'notice', notice: { kind: 'batch_summary', text: 'Read it.' }, ...at(step, attempt) },
  ];
  const died = (step: number, attempt: number): WatchedEvent => {
    return { type: 'tombstone', iteration: 2, why: '429', ...at(step, attempt) };
  };
  const attempts = [...appended(3, 1), died(3, 1), ...appended(3, 2), died(3, 2), ...appended(4, 1)];
  const replied: WatchedEvent = { type: 'reply', iteration: 2, stopReason: 'end_turn', fate: 'whole', ...at(4) };
  const seen = screen([...attempts, replied, ...appended(5, 1).slice(2)]);
  // The same words of a later step are news.
  expect(seen.split('\n')).toEqual(['── continues with another model', '› and that', '! Read it.', '! Read it.', '']);
});
