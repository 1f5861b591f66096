import { expect, test } from 'vitest';
import { Approvals } from '../../../workflows/updates/approvals.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import type { PendingApproval } from '../../../workflows/contract/session.ts';

const asked = (index: number): PendingApproval => ({
  call: `1.1.${index}`,
  tool: 'bash',
  reason: 'a rule asks',
  inputHash: 'a'.repeat(64),
  head: 'b'.repeat(64) as Hash,
  index,
  deadline: 0,
});

test('calls that wait for a decision are told in the order of the model, whichever was asked about first (L35 L55)', () => {
  const approvals = new Approvals([asked(2)]);
  for (const index of [10, 0, 1]) approvals.ask(asked(index));
  expect(approvals.pending.map(({ call }) => call)).toEqual(['1.1.0', '1.1.1', '1.1.2', '1.1.10']);
});
