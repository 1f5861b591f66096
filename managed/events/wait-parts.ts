// The events of waits (G37–G39): a session waits for results of a worker or an app, and for
// decisions; each end is told with what is left, and the last one with the session's going on.
import type { SettledEntry, WaitEntry } from '../../workflows/contract/waits.ts';
import { placeInName } from '../../workflows/contract/waits.ts';
import { eventId } from '../ids.ts';
import { contentOfMessage } from './content.ts';
import { type Part, partId, type Projection, replyPartId, type WaitingCalls } from './parts.ts';
import { usageOf } from './run-end.ts';

type Step = { readonly parts: readonly Part[]; readonly next: Partial<Projection> };

export function waitParts(projection: Projection, { calls }: WaitEntry): Step {
  const { reply, calls: names } = projection;
  if (reply === null) return { parts: [], next: {} };
  const begun = calls.map(({ call, why }): [string, WaitingCalls[string]] => {
    const { index } = placeInName(call);
    return [call, { id: replyPartId(projection, reply, 'call', index), why, index, tool: names[index] ?? '' }];
  });
  const waiting = { ...projection.waiting, ...Object.fromEntries(begun) };
  return { parts: idleParts(projection, waiting), next: { waiting } };
}

export function settledParts(projection: Projection, entry: SettledEntry): Step {
  const { [entry.call]: ended, ...waiting } = projection.waiting;
  if (ended === undefined) return { parts: [], next: {} };
  const isLast = Object.keys(waiting).length === 0;
  const rest = isLast ? [runningPart(projection)] : idleParts(projection, waiting);
  const answered = entry.how === 'result' ? { answered: [...projection.answered, ended.index] } : {};
  return { parts: [...resultParts(projection, ended, entry), ...rest], next: { waiting, ...answered } };
}

/** A worker's result is told by its end, so that its event is listed once. */
export const toolResultId = (session: string, call: string): string => eventId(session, 'tool_result', call);

function resultParts(
  { session }: Projection,
  { id: call, why }: WaitingCalls[string],
  { result }: SettledEntry,
): readonly Part[] {
  if (why !== 'sandbox' || result === undefined) return [];
  const type = 'user.tool_result';
  const make: Part['make'] = (about, bodies) => ({
    ...about,
    type,
    tool_use_id: call,
    content: contentOfMessage(result.body, bodies),
    is_error: result.isError === true,
  });
  return [{ id: toolResultId(session, call), type, answers: call, make }];
}

function idleParts(projection: Projection, waiting: WaitingCalls): readonly Part[] {
  const name = (part: string): string => partId(projection, projection.position, part);
  const event_ids = Object.values(waiting)
    .toSorted((one, other) => one.index - other.index)
    .map(({ id }) => id);
  const usage = usageOf(projection.spending);
  return [
    {
      id: name('usage'),
      type: 'session.usage',
      make: (about) => ({ ...about, type: 'session.usage', usage, budget: null }),
    },
    {
      id: name('idle'),
      type: 'session.status_idle',
      make: (about) => ({
        ...about,
        type: 'session.status_idle',
        stop_reason: { type: 'requires_action', event_ids },
        stop_details: null,
      }),
    },
  ];
}

const runningPart = (projection: Projection): Part => ({
  id: partId(projection, projection.position, 'running'),
  type: 'session.status_running',
  make: (about) => ({ ...about, type: 'session.status_running' }),
});
