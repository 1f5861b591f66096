// Tells whether a worker can do its work: its server answers, its store answers, and it is not on
// its way out (O17).
import type { Client } from '@temporalio/client';
import type { Store } from '../../store/values/store.ts';
import { runWithin } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import type { Hash } from '../../workflows/contract/ids.ts';

const WAIT_MS = 3_000;

/** A hash under which nothing is stored: the answer that it is missing is an answer. */
const NOTHING = '0'.repeat(64) as Hash;

type CheckedParts = { readonly client: Client; readonly store: Store };

/**
 * Returns the problems of a worker. `leaving` tells why it takes no more work, and null while it
 * does.
 */
export async function healthOf(
  { client, store }: CheckedParts,
  leaving: () => string | null,
): Promise<readonly string[]> {
  const reason = leaving();
  if (reason !== null) return [reason];
  const answers = [serverHealth(client), problemOf('the store does not answer', () => store.has(NOTHING))];
  return (await Promise.all(answers)).flat();
}

/** Returns the problems of a process without a worker. */
export function serverHealth(client: Client): Promise<readonly string[]> {
  return problemOf('the Temporal server does not answer', () => client.workflowService.getSystemInfo({}));
}

async function problemOf(what: string, ask: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await runWithin(WAIT_MS, new AbortController().signal, ask);
    return [];
  } catch (error) {
    return [`${what}: ${reasonOf(error)}`];
  }
}
