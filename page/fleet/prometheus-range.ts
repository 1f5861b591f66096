// Reads how the fleet stood over time from a Prometheus that scrapes the workers.
import { z } from 'zod';
import { SetupProblem } from '../../system/setup-problem.ts';
import { type FleetPoint, nothingKnown } from './minute-ring.ts';

const PATIENCE_MS = 5_000;

const answer = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

type Series = z.infer<typeof answer>['data']['result'];

const MODEL = 'gen_ai_request_model';
const KIND = 'gen_ai_token_type';

/** `step` is in seconds. */
const queries = (step: number) =>
  ({
    working: 'max(perdure_sessions{phase="running"}) + max(perdure_sessions{phase="waiting_worker"})',
    waiting: 'max(perdure_sessions{phase="waiting_approval"})',
    cost: `sum by (${MODEL}) (increase(perdure_model_call_cost_usd_sum[${step}s]))`,
    tokens: `sum by (${KIND}) (increase(gen_ai_client_token_usage_sum[${step}s]))`,
    badRuns: `sum(increase(perdure_runs_ended_total{bad="true"}[${step}s]))`,
    failedCalls: `sum(increase(gen_ai_client_operation_duration_seconds_count{error_type!~"|aborted"}[${step}s]))`,
  }) as const;

/** Returns the address without a slash at its end; null when none is set. Throws SetupProblem. */
export function readPrometheusAddress(set: string | undefined): string | null {
  const text = set?.trim();
  if (!text) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new SetupProblem('PERDURE_PROMETHEUS is no address of a Prometheus: give one such as http://127.0.0.1:9090');
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** Returns a point for each of `starts`, which are `step` milliseconds apart. */
export async function readPrometheusRange(
  address: string,
  starts: readonly number[],
  step: number,
): Promise<readonly FleetPoint[]> {
  const seconds = step / 1_000;
  const responses = Object.entries(queries(seconds)).map(async ([name, query]) => {
    const ends = { start: endOf(starts[0] ?? 0, step), end: endOf(starts.at(-1) ?? 0, step) };
    const search = new URLSearchParams({
      query,
      step: String(seconds),
      start: String(ends.start / 1_000),
      end: String(ends.end / 1_000),
    });
    const response = await fetch(`${address}/api/v1/query_range?${search.toString()}`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!response.ok) throw new Error(`Prometheus answers ${response.status}`);
    return [name, answer.parse(await response.json()).data.result] as const;
  });
  return pointsOf(new Map(await Promise.all(responses)), starts, step);
}

/** A range of Prometheus looks back from its moments, so that a point's value stands at its end. */
const endOf = (start: number, step: number): number => start + step;

function pointsOf(found: ReadonlyMap<string, Series>, starts: readonly number[], step: number): readonly FleetPoint[] {
  const at = (
    name: string,
    moment: number,
  ): readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[] =>
    (found.get(name) ?? []).flatMap(({ metric, values }) => {
      const value = Number(values.find(([time]) => Math.round(time * 1_000) === moment)?.[1] ?? Number.NaN);
      return Number.isFinite(value) ? [[metric, value] as const] : [];
    });
  return starts.map((start) => {
    const moment = endOf(start, step);
    const one = (name: string): number | null => at(name, moment)[0]?.[1] ?? null;
    const by = (name: string, label: string): Readonly<Record<string, number>> | null => {
      const values = at(name, moment);
      return values.length === 0
        ? null
        : Object.fromEntries(values.map(([labels, value]) => [labels[label] ?? 'unknown', value]));
    };
    return {
      ...nothingKnown(start),
      working: one('working'),
      waiting: one('waiting'),
      cost: by('cost', MODEL),
      tokens: by('tokens', KIND),
      badRuns: one('badRuns'),
      failedCalls: one('failedCalls'),
    };
  });
}
