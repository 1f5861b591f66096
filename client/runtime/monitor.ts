// The option --metrics of staying commands: serves /metrics, /healthz and /readyz on an address,
// before anything else starts.
import type { Monitor } from '../../worker/monitor/serve-monitor.ts';
import type { PerdureClient } from '../perdure-client.ts';
import type { Env } from '../../connection/data-folder.ts';
import { awaitInTime } from '../../system/async.ts';
import { silenceOf } from '../sessions/running/with-running.ts';
import { reasonOf } from '../../system/text.ts';

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

/**
 * Milliseconds for which a result is reused, and milliseconds that a scrape waits. A later answer
 * serves the next scrape.
 */
const HOLDS_MS = 10_000;
const WAIT_MS = 4_000;

type FleetMetrics = () => Promise<string>;

type Sessions = Pick<PerdureClient, 'counts' | 'list'>;

/**
 * Exposes the sessions of a server as gauges for Prometheus (O14). They are computed on request
 * from visibility and are equal in every process, so take the largest over all processes, not their
 * sum. `say` gets the reason when the server cannot be asked, once until it answers again.
 */
function fleetMetrics(sessions: Sessions, say: (line: string) => void, now = Date.now): FleetMetrics {
  let last: { readonly at: number; readonly text: Promise<string> } | null = null;
  let failing = false;
  const counted = async (): Promise<string> => {
    try {
      const text = await fleetGauges(sessions, now);
      failing = false;
      return text;
    } catch (error) {
      if (!failing)
        say(`metrics: the sessions cannot be counted (${reasonOf(error)}): perdure_fleet_up is 0 until they can`);
      failing = true;
      return down;
    }
  };
  return () => {
    const at = now();
    if (!last || at - last.at > HOLDS_MS) last = { at, text: counted() };
    return awaitInTime(last.text, down, WAIT_MS);
  };
}

const isUp = (value: 0 | 1): string =>
  formatGauge('perdure_fleet_up', 'Whether the sessions could be counted: 1, else 0.', value);
const down = isUp(0);

async function fleetGauges(sessions: Sessions, now: () => number): Promise<string> {
  const { note: _note, ...counts } = await sessions.counts();
  const phases = Object.entries(counts).map(([phase, count]) => `perdure_sessions{phase="${phase}"} ${count}\n`);
  const oldest = counts.waiting_approval > 0 ? await oldestWait(sessions) : null;
  const age = oldest === null ? 0 : Math.max(0, now() - oldest) / 1_000;
  const silence = counts.running > 0 ? await longestSilence(sessions, now) : 0;
  return [
    isUp(1),
    gaugeHead('perdure_sessions', 'Sessions of the server, by phase.'),
    ...phases,
    formatGauge(
      'perdure_oldest_approval_seconds',
      'How long the call that waits longest for a person has waited; 0: none does.',
      age,
    ),
    formatGauge(
      'perdure_oldest_progress_seconds',
      'How long ago the run that has been silent longest did something; 0: none is under way.',
      silence / 1_000,
    ),
  ].join('');
}

/** Milliseconds since the last sign of the run under way that gave none for the longest time. */
async function longestSilence(sessions: Sessions, now: () => number): Promise<number> {
  for await (const session of sessions.list({ filter: 'phase:running sort:-idle', open: true }))
    return silenceOf(session, now()) ?? 0;
  return 0;
}

async function oldestWait(sessions: Sessions): Promise<number | null> {
  let oldest: number | null = null;
  for await (const { facts } of sessions.list({ filter: 'phase:waiting', open: true })) {
    const since = facts?.waitingSince;
    if (since !== undefined) oldest = Math.min(oldest ?? since, since);
  }
  return oldest;
}

function formatGauge(name: string, help: string, value: number): string {
  return `${gaugeHead(name, help)}${name} ${value}\n`;
}

function gaugeHead(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}
