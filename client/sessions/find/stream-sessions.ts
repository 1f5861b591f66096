// Reads sessions from visibility, page by page.
import { AsyncResource } from 'node:async_hooks';
import type { Client, CountWorkflowExecution, WorkflowExecutionInfo } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import { type SessionInfo, sessionInfo } from '../info.ts';
import { callUntilAnswered, impatient } from '../persist.ts';
import { OPEN, SESSIONS, UNCONTINUED } from './compile-filter.ts';
import { SETTLED } from './match-session.ts';

/** The most sessions of one call. */
export const SERVER_PAGE = 500;

/** Yields the sessions of a query in the order of visibility. */
export async function* streamSessions(
  { temporal }: { readonly temporal: Client },
  query: string,
  pageSize: number,
): AsyncGenerator<readonly Placed<SessionInfo>[], void> {
  const { namespace, loadedDataConverter } = temporal.options;
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const request = { namespace, query, pageSize, nextPageToken };
    const { executions, nextPageToken: next } = await callUntilAnswered(
      temporal,
      'list the sessions',
      () => temporal.workflowService.listWorkflowExecutions(request),
      impatient,
    );
    yield await Promise.all(
      executions.map(async (raw) =>
        placeExecution(await executionInfoFromRaw(raw, loadedDataConverter, raw, namespace)),
      ),
    );
    nextPageToken = next;
  } while (nextPageToken.length > 0);
}

/** Returns all sessions of a query in the order of visibility. */
export async function collectRows(temporal: Client, query: string): Promise<readonly Placed<SessionInfo>[]> {
  const rows: Placed<SessionInfo>[] = [];
  for await (const sessions of streamSessions({ temporal }, query, SERVER_PAGE)) rows.push(...sessions);
  return rows;
}

/** Counts by a query of visibility, in groups where it asks for them. */
export function countRows(temporal: Client, query: string): Promise<CountWorkflowExecution> {
  return callUntilAnswered(temporal, 'count the sessions', () => temporal.workflow.count(query), impatient);
}

/** Clocks of clients and server differ, and no session counts as younger than its execution. */
function placeExecution(execution: WorkflowExecutionInfo): Placed<SessionInfo> {
  const item = sessionInfo(execution);
  const start = execution.startTime.getTime();
  return {
    id: item.session,
    key: Math.min(item.startedAt, start),
    bound: execution.closeTime?.getTime() ?? start,
    item,
  };
}

// Yields sessions by their own start, newest first. Visibility orders by the current execution,
// open ones first, so a session that handed over comes before younger ones there, and a closed one
// after all that are open. No execution begins before its session, so two streams, of open and of
// closed sessions, are read only as far as a younger session could still come.
/** `key` is the session's start; no later item of its stream has a greater `bound`. */
export type Placed<Item> = { readonly id: string; readonly key: number; readonly bound: number; readonly item: Item };

/** Items of one stream, with the bounds falling. */
export type Stream<Item> = AsyncIterableIterator<readonly Placed<Item>[]>;

/** A place in the order: everything at or before it was given out. */
export type OrderPlace = { readonly at: number; readonly id: string };

/** `place` is where the order stands after the items. */
type OrderStep<Item> = { readonly items: readonly Placed<Item>[]; readonly place: OrderPlace };

const FIRST: OrderPlace = { at: Number.POSITIVE_INFINITY, id: '' };

type Reading<Item> = { readonly stream: Stream<Item>; bound: number };

/** Yields a step for each read: the items that nothing can come before, in order after `from`. */
export async function* newestFirst<Item>(
  streams: readonly Stream<Item>[],
  from: OrderPlace = FIRST,
): AsyncGenerator<OrderStep<Item>, void> {
  const known = new Set<string>();
  let waiting: Placed<Item>[] = [];
  const readings = streams.map((stream): Reading<Item> => ({ stream, bound: Number.POSITIVE_INFINITY }));
  const read = async (reading: Reading<Item>): Promise<void> => {
    const { done, value } = await reading.stream.next();
    const items = done ? [] : value;
    reading.bound = done ? Number.NEGATIVE_INFINITY : (items.at(-1)?.bound ?? reading.bound);
    for (const one of items) {
      // A session may close between two reads, and is in both streams then.
      if (known.has(one.id) || !isAfter(one, from)) continue;
      known.add(one.id);
      waiting.push(one);
    }
  };
  await Promise.all(readings.map(read));
  for (;;) {
    const limit = Math.max(...readings.map(({ bound }) => bound));
    const ready = waiting.filter(({ key }) => key > limit).toSorted(inOrder);
    waiting = waiting.filter(({ key }) => key <= limit);
    const last = ready.at(-1);
    if (last || limit < from.at) yield { items: ready, place: last ? toOrderPlace(last) : { at: limit, id: '' } };
    if (limit === Number.NEGATIVE_INFINITY) return;
    await Promise.all(readings.filter(({ bound }) => bound === limit).map(read));
  }
}

export const toOrderPlace = ({ key, id }: Pick<Placed<unknown>, 'key' | 'id'>): OrderPlace => ({ at: key, id });

function inOrder(one: Placed<unknown>, other: Placed<unknown>): number {
  return other.key - one.key || (one.id < other.id ? -1 : 1);
}

/** Among those of one moment the ids decide; an empty id stands before all of them. */
const isAfter = ({ key, id }: Placed<unknown>, { at, id: last }: OrderPlace): boolean =>
  key < at || (key === at && (last === '' || id > last));

// Reads the sessions that are under way: those whose numbers or phase may have changed since the
// server was told, and those of which it knows neither. Lists and counts of one moment share a
// read.
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

// Reads all sessions of a query for lists and counts that memos decide, and keeps them for a
// moment: a page of sessions and its counts ask for the same ones.
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
