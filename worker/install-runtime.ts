// Installs Temporal's runtime, once per process.
import { DefaultLogger, Runtime, type TelemetryOptions } from '@temporalio/worker';
import { HEARTBEAT_MS } from '../connection/worker-beats.ts';
import type { Log, LogFields } from '../system/log.ts';
import { HISTOGRAMS } from './monitor/metrics.ts';

/** The SDK warns of every worker that takes one kind of task only. Ours do so on purpose. */
const ON_PURPOSE = /^No (workflows|activities) registered, not polling/;

/**
 * Installs the runtime, once per process and before anything else of Temporal's. Signals stay with
 * us, its warnings go to our log, and `exporter` is where its metrics and ours are served.
 */
export function installRuntime(log: Log, exporter?: string): void {
  Runtime.install({
    shutdownSignals: [],
    workerHeartbeatInterval: HEARTBEAT_MS,
    // The lines of its native half go to our log too: by itself it writes to the standard output,
    // between the lines of --json.
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } }, ...metricsTo(exporter) },
    logger: new DefaultLogger('WARN', ({ level, message, meta = {} }) => {
      if (ON_PURPOSE.test(message)) return;
      const error = meta['error'] instanceof Error ? `: ${meta['error'].message}` : '';
      log(level === 'ERROR' ? 'error' : 'warn', `${message}${error}`, taskFields(meta));
    }),
  });
}

/** `exporter` is host and port; absent: nothing is measured. */
function metricsTo(exporter: string | undefined): Pick<TelemetryOptions, 'metrics'> {
  if (exporter === undefined) return {};
  const histogramBucketOverrides: Record<string, number[]> = {};
  for (const [name, { buckets }] of Object.entries(HISTOGRAMS)) histogramBucketOverrides[name] = [...buckets];
  return { metrics: { prometheus: { bindAddress: exporter, histogramBucketOverrides } } };
}

function taskFields({ workflowId, activityType, attempt }: Readonly<Record<string, unknown>>): LogFields {
  return {
    ...(typeof workflowId === 'string' && { session: workflowId }),
    ...(typeof activityType === 'string' && { activity: activityType }),
    ...(typeof attempt === 'number' && { attempt }),
  };
}
