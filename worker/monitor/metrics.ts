// Records the metrics of a worker on Temporal's own meter: they go out with Temporal's, by the
// exporter of its runtime (O14). A counter counts what this process has seen: it starts at 0 with
// it, and events that a killed worker could not report are not counted.
import type { MetricMeter, MetricTags } from '@temporalio/common';
import type { ModelCallSeen, Observation, Observe } from '../../store/live/observe.ts';
import type { CommandPolicy } from '../../tools/sandbox.ts';
import type { SeenItem } from '../../workflows/contract/told.ts';

/** Distinct values of a label in one process; those beyond are one, `other`. */
const MOST_VALUES = 50;

const MODEL = 'gen_ai_request_model';

/** Upper bounds, in seconds. A model call or a tool may take hours. */
const LONG = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 900, 3_600];
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const RUNS = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800];
const TOKENS = [1, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
const DOLLARS = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

type HistogramName =
  | 'gen_ai_client_operation_duration_seconds'
  | 'gen_ai_client_operation_time_to_first_chunk_seconds'
  | 'gen_ai_client_token_usage'
  | 'perdure_model_call_cost_usd'
  | 'perdure_tool_call_duration_seconds'
  | 'perdure_compaction_duration_seconds'
  | 'perdure_run_duration_seconds'
  | 'perdure_approval_wait_seconds'
  | 'perdure_parked_seconds'
  | 'perdure_store_operation_duration_seconds';

type Histogram = { readonly unit: string; readonly help: string; readonly buckets: readonly number[] };

/** Documented in docs/operating/metrics.md, which a test holds to these. */
export const HISTOGRAMS: Readonly<Record<HistogramName, Histogram>> = {
  gen_ai_client_operation_duration_seconds: {
    unit: 's',
    help: 'Time of a request to the model, from its start to the end of its stream.',
    buckets: LONG,
  },
  gen_ai_client_operation_time_to_first_chunk_seconds: {
    unit: 's',
    help: 'Time from the start of a request to the first event of its stream.',
    buckets: LONG,
  },
  gen_ai_client_token_usage: { unit: '{token}', help: 'Tokens billed for a request, by kind.', buckets: TOKENS },
  perdure_model_call_cost_usd: {
    unit: '{USD}',
    help: 'Cost of a request in US dollars, where the price is known.',
    buckets: DOLLARS,
  },
  perdure_tool_call_duration_seconds: { unit: 's', help: 'Time of a tool call that ran.', buckets: LONG },
  perdure_compaction_duration_seconds: { unit: 's', help: 'Time of an attempt at a compaction.', buckets: LONG },
  perdure_run_duration_seconds: { unit: 's', help: 'Time of a run, waiting included.', buckets: RUNS },
  perdure_approval_wait_seconds: { unit: 's', help: 'Time that a call waited for a person.', buckets: RUNS },
  perdure_parked_seconds: { unit: 's', help: 'Time that a run was parked.', buckets: RUNS },
  perdure_store_operation_duration_seconds: { unit: 's', help: 'Time of an operation of the store.', buckets: SHORT },
};

export const COUNTERS = {
  perdure_runs_ended_total: 'Runs that ended, by reason; bad="true" for an end that someone should look at.',
  perdure_iterations_total: 'Iterations of the loop that went round, by transition.',
  perdure_compaction_tokens_saved_total: 'Estimated tokens that compactions took out of view.',
  perdure_notes_merges_total: 'Merges of the notes of a workspace, by how they ended.',
  perdure_alerts_total: 'Tellings of the hooks waiting and failed, by how they ended.',
} as const;

export const GAUGES = {
  perdure_unconfined: 'Whether commands of agents run unconfined: 1, else 0; commands: confined, refused, unconfined.',
} as const;

type Meters = {
  record(name: HistogramName, value: number, tags?: MetricTags): void;
  count(name: keyof typeof COUNTERS, value: number, tags?: MetricTags): void;
};

export type Meter = Pick<MetricMeter, 'createCounter' | 'createHistogram'>;

/** Records once how commands of this worker's agents run, which holds as long as it does. */
export function recordCommandPolicy(meter: Pick<MetricMeter, 'createGauge'>, commands: CommandPolicy): void {
  const gauge = meter.createGauge('perdure_unconfined', 'int', undefined, GAUGES.perdure_unconfined);
  gauge.set(commands === 'unconfined' ? 1 : 0, { commands });
}

export function observeByMetrics(meter: Meter): Observe {
  const meters = createMeters(meter);
  const known = { model: createBoundedLabel(), tool: createBoundedLabel() };
  return (observation) => recordObservation(meters, known, observation);
}

type BoundedLabels = { readonly model: (value: string) => string; readonly tool: (value: string) => string };

function recordObservation(meters: Meters, known: BoundedLabels, observation: Observation): void {
  switch (observation.kind) {
    case 'model_call':
      return recordModelCall(meters, known.model(observation.model), observation);
    case 'tool_call': {
      const tags = { tool: known.tool(observation.tool), outcome: observation.outcome };
      return meters.record('perdure_tool_call_duration_seconds', observation.ms / 1_000, tags);
    }
    case 'compaction': {
      meters.record('perdure_compaction_duration_seconds', observation.ms / 1_000, { outcome: observation.outcome });
      const saved = Math.round((observation.before ?? 0) - (observation.after ?? 0));
      return saved > 0 ? meters.count('perdure_compaction_tokens_saved_total', saved) : undefined;
    }
    case 'notes_merge':
      return meters.count('perdure_notes_merges_total', 1, { outcome: observation.outcome });
    case 'alert':
      return meters.count('perdure_alerts_total', 1, {
        alert: observation.alert,
        outcome: observation.failed ? 'failed' : 'told',
      });
    case 'store': {
      const tags = { operation: observation.operation, outcome: observation.failed ? 'failed' : 'ok' };
      return meters.record('perdure_store_operation_duration_seconds', observation.ms / 1_000, tags);
    }
    case 'seen':
      return recordSeen(meters, observation.seen);
    case 'model_request':
      return undefined;
  }
}

function recordModelCall(meters: Meters, model: string, { ms, firstMs, error, spend }: ModelCallSeen): void {
  const tags = {
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: 'anthropic',
    [MODEL]: model,
    error_type: error ?? '',
  };
  meters.record('gen_ai_client_operation_duration_seconds', ms / 1_000, tags);
  const byModel = { [MODEL]: model };
  if (firstMs !== null) {
    meters.record('gen_ai_client_operation_time_to_first_chunk_seconds', firstMs / 1_000, byModel);
  }
  const { input, output, cacheRead, cacheWrite } = spend.usage;
  const kinds = { input, output, cache_read: cacheRead, cache_creation: cacheWrite };
  for (const [kind, tokens] of Object.entries(kinds)) {
    if (tokens > 0) meters.record('gen_ai_client_token_usage', tokens, { ...byModel, gen_ai_token_type: kind });
  }
  if (spend.usd !== null && spend.usd > 0) meters.record('perdure_model_call_cost_usd', spend.usd, byModel);
}

function recordSeen(meters: Meters, item: SeenItem): void {
  const seconds = Math.max(0, item.to - item.from) / 1_000;
  switch (item.kind) {
    case 'iteration':
      return meters.count('perdure_iterations_total', 1, { transition: item.reason });
    case 'run_ended': {
      const tags = { reason: item.reason, bad: String(item.bad) };
      meters.count('perdure_runs_ended_total', 1, tags);
      return meters.record('perdure_run_duration_seconds', seconds, tags);
    }
    case 'waited':
      return meters.record('perdure_approval_wait_seconds', seconds, { how: item.how });
    case 'parked':
      return meters.record('perdure_parked_seconds', seconds);
  }
}

function createMeters(meter: Meter): Meters {
  const counters = new Map(
    Object.entries(COUNTERS).map(([name, help]) => [name, meter.createCounter(name, undefined, help)]),
  );
  const histograms = new Map(
    Object.entries(HISTOGRAMS).map(([name, { unit, help }]) => [
      name,
      meter.createHistogram(name, 'float', unit, help),
    ]),
  );
  return {
    record: (name, value, tags = {}) => histograms.get(name)?.record(value, tags),
    count: (name, value, tags = {}) => counters.get(name)?.add(value, tags),
  };
}

/**
 * Bounds the values of a label: names come from callers and models, and without a bound each would
 * be a series for as long as the process lives.
 */
export function createBoundedLabel(most = MOST_VALUES): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    const short = value.slice(0, 100);
    if (known.size < most) known.add(short);
    return known.has(short) ? short : 'other';
  };
}
