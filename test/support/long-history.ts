// The history of a session whose turns are all alike, as long as a test wants it: a kept one, of
// which one turn is repeated.
import proto, { type temporal } from '@temporalio/proto';
import { readHistory } from './kept-history.ts';

type History = temporal.api.history.v1.History;
type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Payload = temporal.api.common.v1.IPayload;

/** A turn in a kept history: its first event, the first event after it, and its steps. */
export type KeptTurn = { readonly of: string; readonly from: number; readonly to: number; readonly steps: number };

/** The event at which the run has opened, in each of the kept histories that are used. */
const OPENED = 10;

/** Returns the history to the end of so many turns. It is never continued as new. */
export function longHistory({ of, from, to, steps }: KeptTurn, turns: number): History {
  const { events } = readHistory(`${of}.json`);
  rewrite(events[0]?.workflowExecutionStartedEventAttributes?.input, (input) => ({
    ...(input as object),
    handover: { events: 1e9, signals: 1e9 },
  }));
  rewrite(events[OPENED - 1]?.activityTaskCompletedEventAttributes?.result, (answer) => {
    const { done } = answer as { readonly done: { readonly rules: object } };
    return { done: { ...done, rules: { ...done.rules, maxTurns: 1e9 } } };
  });
  const turn = events.slice(from - 1, to - 1);
  const all = Array.from({ length: turns }, (_, n) =>
    turn.map((event) => moveOn(event, { n, events: turn.length, steps })),
  );
  return proto.temporal.api.history.v1.History.create({ events: [...events.slice(0, from - 1), ...all.flat()] });
}

type Place = { readonly n: number; readonly events: number; readonly steps: number };

/** Copies an event of a turn to where it stands in the turn `n`, counted from 0. */
function moveOn(event: HistoryEvent, { n, events, steps }: Place): HistoryEvent {
  const moved = moveIds(event, n * events) as HistoryEvent;
  const { activityTaskScheduledEventAttributes: scheduled, activityTaskCompletedEventAttributes: completed } = moved;
  if (scheduled)
    scheduled.activityId = (scheduled.activityId ?? '').replace(/\d+$/, (step) => String(Number(step) + n * steps));
  // Another input each time: the same call over and over would end the run (L34).
  rewrite(completed?.result, (answer) =>
    JSON.parse(JSON.stringify(answer).replaceAll(/"signature":"[^"]*/g, (signature) => `${signature}${n}`)),
  );
  return moved;
}

function moveIds(value: unknown, by: number): unknown {
  if (Array.isArray(value)) return value.map((each) => moveIds(each, by));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const moved = Object.entries(value).map(([key, each]): [string, unknown] =>
    /eventId$/i.test(key) && Number(each) > 0 ? [key, Number(each) + by] : [key, moveIds(each, by)],
  );
  return Object.fromEntries(moved);
}

function rewrite(
  payloads: { readonly payloads?: Payload[] | null } | null | undefined,
  change: (value: unknown) => unknown,
): void {
  const [payload] = payloads?.payloads ?? [];
  if (payload?.data)
    payload.data = Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(payload.data).toString()))));
}
