// The events of calls that wait (G37–G39): custom calls that an app is told of, decisions and
// results as they come, and what the session still waits for.
import type { Outcome } from '../../client/index.ts';
import { placeInName, type SettledEntry, type WaitEntry } from '../../workflows/contract/waits.ts';
import { contentOfMessage, contentOfOutcome } from './content.ts';
import {
  callEventId,
  type OpenWait,
  type Part,
  partId,
  type Projection,
  type ReplyCall,
  settledId,
  type Step,
} from './parts.ts';
import { idleParts, usageOf, withUnderWay } from './run-end.ts';

/** The reason of a denial that came without a message. */
export const NO_MESSAGE = 'no reason was given';

export function waitParts(projection: Projection, { calls: begun }: WaitEntry): Step {
  const { calls, waiting } = projection;
  const opened = begun.map(({ call, why }): OpenWait => {
    return { call, why, id: callEventId(projection, placeInName(call).index) };
  });
  const custom = begun.flatMap(({ call, why }) =>
    why === 'custom' || why === 'worker' ? [placeInName(call).index] : [],
  );
  const told = custom.flatMap((index) => {
    const known = calls[index];
    return known ? [[index, { ...known, state: 'told' }] as const] : [];
  });
  const open = [...waiting, ...opened];
  return {
    parts: [...told.map(([index, call]) => customPart(projection, index, call)), ...requiresAction(projection, open)],
    next: { waiting: open, calls: { ...calls, ...Object.fromEntries(told) } },
  };
}

export function settledParts(projection: Projection, entry: SettledEntry): Step {
  const { calls, waiting, position } = projection;
  const { call, how } = entry;
  const { index } = placeInName(call);
  const known = calls[index];
  const own = endPart(projection, entry);
  const left = waiting.filter((wait) => wait.call !== call);
  const next = {
    waiting: left,
    ...(known && how === 'result' && { calls: { ...calls, [index]: { ...known, state: 'answered' } as const } }),
  };
  if (left.length === waiting.length) return { parts: own, next };
  const type = 'session.status_running';
  const running: Part = { id: partId(projection, position, 'running'), type, make: (about) => ({ ...about, type }) };
  return { parts: [...own, ...(left.length > 0 ? requiresAction(projection, left) : [running])], next };
}

/** The end of a custom call that waited and was given no result: an interrupt has ended it. */
export function withdrawnParts(projection: Projection, outcome: Outcome, { state }: ReplyCall): readonly Part[] {
  if (state !== 'told') return [];
  const use = callEventId(projection, outcome.index);
  return [
    resultPart({ use, id: partId(projection, projection.position, 'result', outcome.index) }, (bodies) => ({
      content: contentOfOutcome(outcome, bodies),
      is_error: outcome.isError,
    })),
  ];
}

/** The usage counts what replies of the run under way have taken. */
function requiresAction(projection: Projection, open: readonly OpenWait[]): readonly Part[] {
  const { spending, underWay, time } = projection;
  const usage = usageOf(withUnderWay(spending, underWay, time));
  return idleParts(projection, usage, { type: 'requires_action', event_ids: open.map(({ id }) => id) });
}

function customPart(projection: Projection, index: number, { name, input }: ReplyCall): Part {
  const type = 'agent.custom_tool_use';
  return { id: callEventId(projection, index), type, make: (about) => ({ ...about, type, name, input: { ...input } }) };
}

/** Nobody sends that a time is over. */
function endPart(projection: Projection, { call, how, message, result }: SettledEntry): readonly Part[] {
  if (how === 'expired') return [];
  const use = callEventId(projection, placeInName(call).index);
  const id = settledId(projection.session, use, call);
  const isCustom = projection.calls[placeInName(call).index]?.judged === 'custom';
  if (result)
    return [
      (isCustom ? resultPart : workerResultPart)({ use, id }, (bodies) => ({
        content: contentOfMessage(result.body, bodies),
        is_error: result.isError === true,
      })),
    ];
  const type = 'user.tool_confirmation';
  const deny_message = how === 'deny' && message !== NO_MESSAGE ? { deny_message: message ?? null } : {};
  const verdict = how === 'deny' ? how : 'allow';
  return [
    {
      id,
      type,
      settles: use,
      make: (about) => ({ ...about, type, tool_use_id: use, result: verdict, ...deny_message }),
    },
  ];
}

type Content = ReturnType<typeof contentOfMessage>;

type ContentOf = (bodies: Parameters<Part['make']>[1]) => { readonly content: Content; readonly is_error: boolean };
type Place = { readonly use: string; readonly id: string };

/** The result of a self-hosted environment's worker, or what is said where there will be none. */
function workerResultPart({ use, id }: Place, contentOf: ContentOf): Part {
  const type = 'user.tool_result';
  return {
    id,
    type,
    settles: use,
    make: (about, bodies) => ({ ...about, type, tool_use_id: use, ...contentOf(bodies) }),
  };
}

function resultPart({ use, id }: Place, contentOf: ContentOf): Part {
  const type = 'user.custom_tool_result';
  return {
    id,
    type,
    settles: use,
    make: (about, bodies) => ({ ...about, type, custom_tool_use_id: use, ...contentOf(bodies) }),
  };
}
