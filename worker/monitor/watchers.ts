// Puts the watchers of a worker together: each is told everything, and one that throws holds up no
// other and no step (L21).
import { type InjectedSinks, Runtime } from '@temporalio/worker';
import { callerTraceField, type Log, type LogFields, runFields } from '../../system/log.ts';
import type { Observation, Observe, ObservedPlace } from '../../store/live/observe.ts';
import type { Network } from '../../system/network.ts';
import { reasonOf } from '../../system/text.ts';
import { observeByDump } from './dump-requests.ts';
import { observeByMetrics } from './metrics.ts';
import { openSpanExporter } from './otlp.ts';
import { observeByTraces, withTraces } from './traces.ts';
import { SEEN_SINK, type SeenItem } from '../../workflows/contract/told.ts';
import { present } from '../../workflows/contract/present.ts';
import { queryIdOf } from '../../workflows/contract/ids.ts';
import type { Store } from '../../store/values/store.ts';

export type Watchers = {
  readonly observe: Observe;
  /** The log of the options; where runs are traced, each line about one names its trace. */
  readonly log: Log;
  /** True when a collector is told of runs. */
  readonly traced: boolean;
  /** Sends what is still to be sent once more. */
  close(): Promise<void>;
};

type WatchersOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly logEvents?: boolean;
  readonly dataDir: string;
  readonly network: Pick<Network, 'fetch'>;
};

/**
 * Opens the watchers: metrics, traces where a collector is named, the log where it is to have
 * events, requests as files. Throws ConfigProblem and SetupProblem.
 */
export function openWatchers({ env, log: baseLog, logEvents = false, dataDir, network }: WatchersOptions): Watchers {
  const traces = openSpanExporter(env, baseLog, network.fetch);
  const log = traces ? withTraces(baseLog) : baseLog;
  const dump = observeByDump(env, dataDir);
  const watchers = [
    observeByMetrics(Runtime.instance().metricMeter),
    ...(traces ? [observeByTraces(traces.send)] : []),
    ...(logEvents ? [observeByLog(log)] : []),
    ...(dump ? [dump] : []),
  ];
  return {
    observe: observeAll(watchers, log),
    log,
    traced: traces !== null,
    close: async () => traces?.close(),
  };
}

export function observeAll(watchers: readonly Observe[], log: Log): Observe {
  const failed = new Set<Observe>();
  return (observation) => {
    for (const watch of watchers) {
      try {
        watch(observation);
      } catch (error) {
        if (!failed.has(watch)) log('error', `what watches this worker failed (told once): ${reasonOf(error)}`);
        failed.add(watch);
      }
    }
  };
}

type SeenSinks = { readonly [SEEN_SINK]: { see(item: SeenItem): void } };

/**
 * Creates the sinks for observations of workflows, which every worker that runs ours needs. Without
 * `observe` they are dropped.
 */
export function createSeenSinks(observe: Observe = () => {}): InjectedSinks<SeenSinks> {
  const fn = ({ workflowId: session }: { readonly workflowId: string }, item: SeenItem): void => {
    observe({ kind: 'seen', session, seen: item });
  };
  return { [SEEN_SINK]: { see: { fn, callDuringReplay: false } } };
}

// Logs a line for each event of a run (O16): at `debug` for events that happen many times in a run,
// at `info` for those that a person may look for, at `warn` for a run that has ended badly. The
// lines hold no words of the conversation.
export function observeByLog(log: Log): Observe {
  return (observation) => writeEvent(log, observation);
}

function writeEvent(log: Log, observation: Observation): void {
  switch (observation.kind) {
    case 'model_call': {
      const { model, error, spend, ms } = observation;
      const { input, output, cacheRead, cacheWrite } = spend.usage;
      const tokens = `${input + cacheRead + cacheWrite} tokens in (${cacheRead} cached), ${output} out`;
      const end = error === null ? `answered, ${tokens}` : `failed (${error})`;
      return log('debug', `model call ${model} ${end}, after ${formatSeconds(ms)}`, fieldsOf(observation.about));
    }
    case 'tool_call': {
      const fields = { ...fieldsOf(observation.about), call: observation.callId };
      return log(
        'debug',
        `tool call ${observation.tool}: ${observation.outcome}, after ${formatSeconds(observation.ms)}`,
        fields,
      );
    }
    case 'compaction': {
      const sizes =
        observation.before === null
          ? ''
          : `, ${Math.round(observation.before)} → ${Math.round(observation.after ?? 0)} tokens`;
      return log(
        'info',
        `compaction: ${observation.outcome}${sizes}, after ${formatSeconds(observation.ms)}`,
        fieldsOf(observation.about),
      );
    }
    case 'alert':
      return observation.failed
        ? undefined
        : log('info', `alert "${observation.alert}" told`, fieldsOf(observation.about));
    case 'seen':
      return writeSeen(log, observation.session, observation.seen);
    case 'model_request':
    case 'notes_merge':
    case 'store':
      return undefined;
  }
}

function writeSeen(log: Log, session: string, item: SeenItem): void {
  const { run, iteration, from, to } = item;
  const fields = { session, query: queryIdOf(item.chain, run), run, iteration, ...callerTraceField(item.traceparent) };
  const time = formatSeconds(to - from);
  switch (item.kind) {
    case 'iteration':
      return log('debug', `iteration ${iteration}: ${item.reason}, after ${time}`, fields);
    case 'waited':
      return log(
        'info',
        `the wait for a person about ${item.tool} (${item.call}) ended: ${item.how}, after ${time}`,
        fields,
      );
    case 'parked':
      return log('info', `the run was parked for ${time}`, fields);
    case 'run_ended': {
      const level = item.bad ? 'warn' : 'info';
      return log(level, `run ${run} ended: ${item.reason}, ${item.turns} turns, after ${time}`, fields);
    }
  }
}

function fieldsOf({ iteration, step, attempt, ...run }: ObservedPlace): LogFields {
  return { ...runFields(run), iteration, ...present({ step, attempt }) };
}

const formatSeconds = (ms: number): string => `${(Math.max(0, ms) / 1_000).toFixed(2)} s`;

// Wraps a store so that each operation is observed: how long it took, and whether it failed.
export function watchStore(store: Store, observe: Observe): Store {
  const timeOperation = async <Value>(operation: keyof Store, run: () => Promise<Value>): Promise<Value> => {
    const at = Date.now();
    const began = performance.now();
    const report = (failed: boolean): void => {
      observe({ kind: 'store', operation, at, ms: performance.now() - began, failed });
    };
    try {
      const value = await run();
      report(false);
      return value;
    } catch (error) {
      report(true);
      throw error;
    }
  };
  return {
    put: (bytes) => timeOperation('put', () => store.put(bytes)),
    get: (hash) => timeOperation('get', () => store.get(hash)),
    has: (hash) => timeOperation('has', () => store.has(hash)),
    create: (key, bytes) => timeOperation('create', () => store.create(key, bytes)),
    read: (key) => timeOperation('read', () => store.read(key)),
    writeStep: (step) => timeOperation('writeStep', () => store.writeStep(step)),
  };
}
