// The pieces on the screen of what a session says and has not stored.
import { expect, test } from 'vitest';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { LivePieces } from '../../../page/feed/live-pieces.ts';
import { ended } from '../../client/support.ts';

test('at the end of a run no piece of it stays, also one that the channel told again late (F14)', () => {
  const pieces = new LivePieces(() => null);
  const place = { step: 9, attempt: 1 };
  pieces.tell({ type: 'transition', iteration: 4, reason: 'max_output_tokens_recovery', ...place }, 1);
  expect(pieces.html).not.toBe('');
  const head = '0'.repeat(64) as Hash;
  const changes = pieces.tell({ type: 'run_end', ended: ended({ run: 1 }), head, step: 8, attempt: 1 }, 1);
  expect(changes).toMatchObject([{ do: 'drop' }]);
  expect(pieces.html).toBe('');
});
