// Reads all sessions of a query for lists and counts that memos decide, and keeps them for a
// moment: a page of sessions and its counts ask for the same ones.
import { AsyncResource } from 'node:async_hooks';
import type { Client } from '@temporalio/client';
import type { SessionInfo } from '../info.ts';
import type { Placed } from './newest-first.ts';
import { collectRows, countRows } from './stream-sessions.ts';

/**
 * Returns the sessions of a query in the order of visibility, as they were a moment ago; null where
 * there are too many to keep.
 */
export type ReadAll = (query: string) => Promise<readonly Placed<SessionInfo>[] | null>;

/** Sessions of one query. */
const MOST_ROWS = 10_000;
/** Queries. */
const MOST_HELD = 4;

export function holdRows(temporal: Client, holdMs: number): ReadAll {
  const readings = new Map<string, ReturnType<ReadAll>>();
  // Bound, so that a caller who gives up does not abort what others wait for.
  const read = AsyncResource.bind(async (query: string) => {
    const { count } = await countRows(temporal, query);
    return count > MOST_ROWS ? null : collectRows(temporal, query);
  });
  return (query) => {
    const known = readings.get(query);
    if (known) return known;
    const reading: ReturnType<ReadAll> = read(query);
    readings.set(query, reading);
    for (const oldest of [...readings.keys()].slice(0, -MOST_HELD)) readings.delete(oldest);
    const forget = (): void => void (readings.get(query) === reading && readings.delete(query));
    reading.then(() => setTimeout(forget, holdMs).unref(), forget);
    return reading;
  };
}
