// Reads the sessions that are under way: those whose numbers or phase may have changed since the
// server was told, and those of which it knows neither. Lists and counts of one moment share a
// read.
import { AsyncResource } from 'node:async_hooks';
import type { Client } from '@temporalio/client';
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import type { SessionInfo } from '../info.ts';
import { OPEN, SESSIONS, UNCONTINUED } from './compile-filter.ts';
import type { Placed } from './newest-first.ts';
import { SETTLED } from './settled.ts';
import { collectRows } from './stream-sessions.ts';

export type ReadUnderWay = () => Promise<readonly Placed<SessionInfo>[]>;

const { turns, phase } = ATTRIBUTES;
const settledPhases = SETTLED.map((name) => `'${name}'`).join(', ');
const QUERY = `${SESSIONS} AND ${UNCONTINUED} AND (${turns.name} IS NULL OR (${OPEN} AND ${phase.name} NOT IN (${settledPhases})))`;

export function underWayReader(temporal: Client): ReadUnderWay {
  let reading: ReturnType<ReadUnderWay> | undefined;
  // Bound, so that a caller who gives up does not abort what others wait for.
  const read: ReadUnderWay = AsyncResource.bind(async () => {
    const found = await collectRows(temporal, QUERY);
    return found.toSorted((one, other) => other.bound - one.bound);
  });
  return () => (reading ??= read().finally(() => (reading = undefined)));
}
