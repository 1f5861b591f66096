// The option --metrics of staying commands: serves /metrics, /healthz and /readyz on an address,
// before anything else starts.
import type { Monitor } from '../../worker/monitor/serve-monitor.ts';
import type { PerdureClient } from '../perdure-client.ts';
import type { Env } from '../../connection/data-folder.ts';
import { fleetMetrics, formatGauge } from './fleet-metrics.ts';

export type MonitorFlags = { readonly metrics?: string };

export const METRICS_OPTION = [
  '--metrics <address>',
  'answer /metrics, /healthz and /readyz there: a port, or host:port (default: $PERDURE_METRICS, or nowhere)',
] as const;

type Saying = { readonly env: Env; readonly say: (line: string) => void };

/** Returns null when no address is given. Throws ConfigProblem and SetupProblem. */
export async function openMonitor({ env, say }: Saying, { metrics }: MonitorFlags): Promise<Monitor | null> {
  const address = metrics ?? env['PERDURE_METRICS'];
  if (address === undefined || address === '') return null;
  const [{ serveMonitor }, { parseNamedHosts: namedHosts }] = await Promise.all([
    import('../../worker/monitor/serve-monitor.ts'),
    import('../../worker/monitor/known-hosts.ts'),
  ]);
  const hosts = namedHosts(env['PERDURE_METRICS_HOSTS']);
  const monitor = await serveMonitor(address, metrics === undefined ? 'PERDURE_METRICS' : '--metrics', hosts);
  say(`metrics ${monitor.url}/metrics, health ${monitor.url}/healthz and /readyz`);
  return monitor;
}

/** Adds the sessions of the server to the metrics of the process. */
export function watchFleet(
  monitor: Monitor | null,
  health: () => Promise<readonly string[]>,
  {
    sessions,
    say,
  }: { readonly sessions: Pick<PerdureClient, 'counts' | 'list'>; readonly say: (line: string) => void },
): void {
  monitor?.watch(health);
  monitor?.add(fleetMetrics(sessions, say));
}

type LivePage = { live(): Readonly<Record<'sessions' | 'watchers' | 'listeners', number>> };

/** Adds the sessions and streams that a page of this process follows. */
export function watchPage(monitor: Monitor | null, { live }: LivePage): void {
  monitor?.add(() => {
    const { sessions, watchers, listeners } = live();
    const gauges = [
      formatGauge('perdure_page_followed_sessions', 'Sessions that the page follows live.', sessions),
      formatGauge('perdure_page_watchers', 'Browser tabs that watch a session.', watchers),
      formatGauge('perdure_api_listeners', 'Streams of events of the HTTP API.', listeners),
    ];
    return Promise.resolve(gauges.join(''));
  });
}
