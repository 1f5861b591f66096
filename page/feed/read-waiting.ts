// Reads what waits for a person, and notes where the store cannot be read.
import type { WaitingApproval } from '../../client/faces/types.ts';
import { StoreError } from '../../client/faces/sessions.ts';
import { reasonOf } from '../../system/text.ts';
import type { PagePorts } from '../ports.ts';
import type { createTroubles } from './troubles.ts';

/** Returns an empty list where the store cannot be read, which is then a trouble. */
export async function readWaiting(
  ports: Pick<PagePorts, 'inbox'>,
  trouble: ReturnType<typeof createTroubles>,
): Promise<readonly WaitingApproval[]> {
  try {
    const waiting = await ports.inbox();
    trouble.set('store', null);
    return waiting;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    trouble.set('store', reasonOf(error));
    return [];
  }
}
