// What must hold when all faults are over and all sessions are at rest, each as a row with its counts.
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { Row } from '../hosts-under-fire/report.ts';
import { type Driven, textsIn } from './drive.ts';
import { effectOf } from './plans.ts';
import type { Passed } from './proxy.ts';

type Event = BetaManagedAgentsSessionEvent;

/** `before` and `after` the last kill of the server; a line is `EFFECT KEY`. */
export type Evidence = {
  readonly sessions: readonly {
    readonly driven: Driven;
    readonly before: readonly Event[];
    readonly after: readonly Event[];
  }[];
  readonly lines: readonly string[];
  readonly passed: readonly Passed[];
};

export function judge(evidence: Evidence): readonly Row[] {
  return [
    judgeEffects(evidence),
    judgeResults(evidence),
    judgeLists(evidence),
    judgeMessages(evidence),
    judgeEnds(evidence),
  ];
}

/** A call that has an effect, with the key that its command finds. */
type Effect = { readonly effect: string; readonly call: string; readonly key: string };

function effectsOf({ sessions }: Evidence): readonly Effect[] {
  return sessions.flatMap(({ driven, after }) =>
    after.flatMap((event) => {
      const effect = event.type === 'agent.tool_use' ? effectOf(event.input) : null;
      return effect === null ? [] : [{ effect, call: event.id, key: `${driven.id}.${event.id}` }];
    }),
  );
}

function judgeEffects(evidence: Evidence): Row {
  const effects = effectsOf(evidence);
  const written = grouped(evidence.lines, (line) => line.split(' ')[0] ?? '');
  const doubled = [...written].filter(([, lines]) => lines.length > 1);
  const late = doubled.filter(([, lines]) => lines.some((line) => isInTheMoment(evidence, effects, line)));
  const keys = new Set(effects.map(({ effect, key }) => `${effect} ${key}`));
  const wanted = new Set(effects.map(({ effect }) => effect));
  return {
    claim: 'each effect happens once, by a call that the model made',
    counts: `${wanted.size} effects in ${evidence.lines.length} lines, ${effects.length - wanted.size} looked at again, ${late.length} doubled between a fence and the effect`,
    faults: [
      ...doubled.filter((one) => !late.includes(one)).map(([, lines]) => `${lines.join(' and ')}: it happened twice`),
      ...[...wanted].filter((effect) => !written.has(effect)).map((effect) => `${effect} has not happened`),
      ...evidence.lines.filter((line) => !keys.has(line)).map((line) => `no call of the model has made "${line}"`),
    ],
  };
}

/** A call whose fence was answered before it was concluded, and which began after that. */
function isInTheMoment({ sessions, passed }: Evidence, effects: readonly Effect[], line: string): boolean {
  const call = effects.find(({ effect, key }) => `${effect} ${key}` === line)?.call;
  const result = sessions.flatMap(({ after }) => after).find((event) => settles(event) === call);
  const fence = passed.find((one) => one.call === call);
  return fence !== undefined && isUnknown(result) && fence.at < Date.parse(result?.processed_at ?? '');
}

const settles = (event: Event): string | null => (event.type === 'user.tool_result' ? event.tool_use_id : null);

const isUnknown = (event: Event | undefined): boolean =>
  event?.type === 'user.tool_result' && JSON.stringify(event.content).includes('outcome unknown');

function judgeResults({ sessions, passed }: Evidence): Row {
  const begun = new Set(passed.map(({ call }) => call));
  const results = sessions.flatMap(({ after }) => after.filter((event) => settles(event) !== null));
  const failed = results.filter((event) => event.type === 'user.tool_result' && event.is_error);
  const faults = sessions.flatMap(({ driven, after }) => {
    const counts = grouped(after.flatMap((event) => settles(event) ?? []));
    const calls = after.flatMap(({ type, id }) => (type === 'agent.tool_use' ? [id] : []));
    const known = new Set(calls);
    return [
      ...calls
        .filter((call) => counts.get(call)?.length !== 1)
        .map((call) => about(driven, `${call} has ${counts.get(call)?.length ?? 0} results`)),
      ...[...counts.keys()].filter((call) => !known.has(call)).map((call) => about(driven, `a result is for ${call}`)),
    ];
  });
  const unknown = results.filter(isUnknown);
  const idle = unknown.filter((event) => !begun.has(settles(event) ?? ''));
  const counts = `${results.length} results, ${failed.length} of them errors: ${unknown.length} unknown, ${idle.length} of calls that never began`;
  return { claim: 'each call has one result', counts, faults };
}

function judgeLists({ sessions }: Evidence): Row {
  const faults = sessions.flatMap(({ driven, before, after }) => {
    const times = after.map(({ processed_at }) => String(processed_at));
    const isRising = times.every((time, at) => at === 0 || (times[at - 1] ?? '') < time);
    const ids = new Set(after.map(({ id }) => id));
    return [
      ...(JSON.stringify(before) === JSON.stringify(after) ? [] : [about(driven, 'its events differ after a kill')]),
      ...(ids.size === after.length ? [] : [about(driven, `${after.length - ids.size} ids come twice`)]),
      ...(isRising ? [] : [about(driven, 'processed_at does not rise')]),
    ];
  });
  const count = sessions.reduce((sum, { after }) => sum + after.length, 0);
  return {
    claim: 'events are the same before and after a kill, each once and in order',
    counts: `${count} events`,
    faults,
  };
}

function judgeMessages({ sessions }: Evidence): Row {
  const faults = sessions.flatMap(({ driven, after }) => {
    const counts = grouped(textsIn(after));
    return driven.acknowledged
      .filter((text) => counts.get(text)?.length !== 1)
      .map((text) => about(driven, `"${text}" is there ${counts.get(text)?.length ?? 0} times`));
  });
  const count = sessions.reduce((sum, { driven }) => sum + driven.acknowledged.length, 0);
  return { claim: 'each acknowledged message is there once', counts: `${count} messages`, faults };
}

/** A session that is stuck never gets here. */
function judgeEnds({ sessions }: Evidence): Row {
  const idles = sessions.flatMap(({ driven, after }) =>
    after.flatMap((event) => (event.type === 'session.status_idle' ? [{ driven, why: event.stop_reason.type }] : [])),
  );
  const ends = idles.filter(({ why }) => why !== 'requires_action');
  return {
    claim: 'each turn ends as the model ends it',
    counts: `${ends.length} turns of ${sessions.length} sessions`,
    faults: ends
      .filter(({ why }) => why !== 'end_turn')
      .map(({ driven, why }) => about(driven, `a turn ended with ${why}`)),
  };
}

function grouped(all: readonly string[], by = (one: string): string => one): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const one of all) groups.set(by(one), [...(groups.get(by(one)) ?? []), one]);
  return groups;
}

const about = ({ name, id }: Driven, what: string): string => `${name} (${id}): ${what}`;
