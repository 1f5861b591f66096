// What is said of a message that was sent.
import { expect, test } from 'vitest';
import { showSent } from '../../cli/with-server.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { session } from '../client/support.ts';

test.each([
  [true, 'Sent. Follow with `perdure watch s-1`.\n'],
  [false, 'm-1\n'],
])(
  'a sent message is told by how to follow it at a terminal (%j), by its id to a program (O22)',
  (isTerminal, said) => {
    const printed: string[] = [];
    showSent({ isTerminal, self: 'perdure', print: (text) => void printed.push(text) }, session, 'm-1' as MessageId);
    expect(printed).toEqual([said]);
  },
);
