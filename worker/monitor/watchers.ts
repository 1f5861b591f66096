// Puts the watchers of a worker together: each is told everything, and one that throws holds up no
// other and no step (L21).
import { type InjectedSinks, Runtime } from '@temporalio/worker';
import type { Log } from '../../system/log.ts';
import type { Observe } from '../../store/live/observe.ts';
import type { Network } from '../../system/network.ts';
import { reasonOf } from '../../system/text.ts';
import { observeByDump } from './dump-requests.ts';
import { observeByLog } from './event-log.ts';
import { observeByMetrics } from './metrics.ts';
import { openSpanExporter } from './otlp.ts';
import { observeByTraces, withTraces } from './traces.ts';
import { SEEN_SINK, type SeenItem } from '../../workflows/contract/told.ts';

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
export function openWatchers({ env, log: given, logEvents = false, dataDir, network }: WatchersOptions): Watchers {
  const traces = openSpanExporter(env, given, network.fetch);
  const log = traces ? withTraces(given) : given;
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

type SeenSinks = { readonly [SEEN_SINK]: { see(seen: SeenItem): void } };

/**
 * Creates the sinks for observations of workflows, which every worker that runs ours needs. Without
 * `observe` they are dropped.
 */
export function createSeenSinks(observe: Observe = () => {}): InjectedSinks<SeenSinks> {
  const fn = ({ workflowId: session }: { readonly workflowId: string }, seen: SeenItem): void => {
    observe({ kind: 'seen', session, seen });
  };
  return { [SEEN_SINK]: { see: { fn, callDuringReplay: false } } };
}
