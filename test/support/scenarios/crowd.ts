// Scenarios of one configuration at once, on one worker: each in a folder of its own, whose name
// tells the model whose request it is.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParsedRequest, Reply, ScriptFunction } from '../../../scripted-model/index.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import { fillWorkspace, type Scenario } from './scenario.ts';

type Opening = { readonly text: string; readonly options: Partial<RunOptions> };

export type Crowd = {
  readonly script: ScriptFunction;
  /** The scenario's requests, in the order in which they came. */
  asked(scenario: Scenario): readonly ParsedRequest[];
  /** Makes its workspace inside `cwd`. Returns the first prompt and the options of its session. */
  opening(scenario: Scenario, cwd: string): Opening;
  /** Lines that its effects left, when it was opened in `cwd`. */
  effects(scenario: Scenario, cwd: string): readonly string[];
};

/** In the order of `scenarios`: those that the same worker can play. */
export function groupsOf(scenarios: readonly Scenario[]): readonly (readonly Scenario[])[] {
  const groups = new Map<string, Scenario[]>();
  for (const scenario of scenarios) {
    const key = JSON.stringify(scenario.config ?? {});
    groups.set(key, [...(groups.get(key) ?? []), scenario]);
  }
  return [...groups.values()];
}

/** `replies`: a scenario's own unless given. */
export function crowdOf(
  scenarios: readonly Scenario[],
  replies = (scenario: Scenario): readonly Reply[] => scenario.replies,
): Crowd {
  const left = scenarios.map((scenario) => eachOnce(replies(scenario)));
  const asked = scenarios.map((): ParsedRequest[] => []);
  const place = (scenario: Scenario): number => scenarios.indexOf(scenario);
  const nameOf = (scenario: Scenario): string => `scenario-${place(scenario)}`;
  return {
    script: (request) => {
      const whose = scenarios.length === 1 ? 0 : Number(/\bscenario-(\d+)\b/.exec(JSON.stringify(request))?.[1]);
      asked[whose]?.push(request);
      return left[whose]?.shift();
    },
    asked: (scenario) => asked[place(scenario)] ?? [],
    opening: (scenario, cwd) => {
      const own = join(cwd, nameOf(scenario));
      mkdirSync(own);
      fillWorkspace(own, nameOf(scenario));
      return { text: `Do ${nameOf(scenario)}.`, options: { ...scenario.options, cwd: own } };
    },
    effects: (scenario, cwd) => {
      const path = join(cwd, nameOf(scenario), 'effects.log');
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    },
  };
}

/** A reply that answers several requests stands there as often. */
export function eachOnce(replies: readonly Reply[]): Reply[] {
  return replies.flatMap((each) =>
    Array.from({ length: typeof each.times === 'number' ? each.times : 1 }, () => ({ ...each, times: 1 })),
  );
}

/**
 * Plays a scenario's whole group when the first of them is asked for. Returns what came of the one
 * that is asked for; what went wrong with it alone is its own failure.
 */
export function playedTogether<Result>(
  scenarios: readonly Scenario[],
  play: (group: readonly Scenario[]) => Promise<readonly Promise<Result>[]>,
): (scenario: Scenario) => Promise<Result> {
  const groups = groupsOf(scenarios);
  const played = new Map<readonly Scenario[], Promise<readonly PromiseSettledResult<Result>[]>>();
  return async (scenario) => {
    const group = groups.find((each) => each.includes(scenario)) ?? [];
    const results = played.get(group) ?? play(group).then((all) => Promise.allSettled(all));
    played.set(group, results);
    const result = (await results)[group.indexOf(scenario)];
    if (result?.status === 'fulfilled') return result.value;
    throw result?.reason;
  };
}
