// Metrics and health of processes that stay, as their operators have them: scraped by a real
// Prometheus, through kills (O14, O17).
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COUNTERS, HISTOGRAMS } from '../../worker/monitor/metrics.ts';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, type Command } from '../support/cli.ts';
import { prometheus, promtool } from '../support/prometheus.ts';
import { until } from '../support/until.ts';

const urlOf = async (command: Command): Promise<string> =>
  until(() => /metrics (http:\/\/[^/]+)\/metrics/.exec(command.err())?.[1] ?? null);

const ready = (command: Command) => until(() => command.out().includes('worker ready'));

/** As Grafana asks them. */
function dashboardQueries(): readonly string[] {
  type Dashboard = { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] };
  const text = readFileSync(new URL('../../docs/operating/dashboard.json', import.meta.url), 'utf8');
  const { panels } = JSON.parse(text) as Dashboard;
  return panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$model', '.*')),
  );
}

const textOf = async (url: string): Promise<string> => (await fetch(url)).text();

/** The value of a series, found by its name and a part of its labels. */
function valueOf(text: string, name: string, label = ''): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(label));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

describe('a worker that was given an address for its metrics', () => {
  test('is scraped by Prometheus: what it did, what sessions there are, and what was counted before a kill once (O14)', async () => {
    const call = toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' });
    const script = [reply('Hi.'), fault({ status: 529 }), reply([toolUse('glob', { pattern: '*' })]), reply([call])];
    const place = cliPlace(await modelFor([...script, reply('Done.')]));
    const first = place.start(['worker', '--metrics', '127.0.0.1:0']);
    const url = await urlOf(first);
    const target = new URL(url).host;
    await ready(first);
    const scraper = await prometheus(target);
    expect(await place.run('run', 'Say hi.')).toMatchObject({ status: 0 });
    await until(async () => (await scraper.value('perdure_runs_ended_total{reason="completed",bad="false"}')) === 1);
    const second = await place.run('start', '--permission-mode', 'bypass', 'Work.');
    expect(second.status).toBe(0);
    await until(() => existsSync(join(place.cwd, 'begun')));
    const requests = 'sum(gen_ai_client_operation_duration_seconds_count)';
    await until(async () => (await scraper.value(requests)) === 4);
    expect(await scraper.value(`${requests.slice(0, -1)}{error_type="529"})`)).toBe(1);
    expect(await scraper.value('max(perdure_sessions{phase="idle"})')).not.toBeNull();
    expect(await scraper.value('sum(temporal_workflow_task_execution_latency_count)')).toBeGreaterThan(0);
    expect(await scraper.alerts()).toContain('PerdureWaitsForPerson');
    for (const query of dashboardQueries()) expect(await scraper.problem(query)).toBeNull();

    first.signal('SIGKILL');
    await first.status;
    await until(async () => (await scraper.value('up')) === 0);
    const other = place.start(['worker', '--metrics', target]);
    await ready(other);
    await until(async () => (await scraper.value('up')) === 1);
    await until(async () => (await scraper.value('perdure_runs_ended_total')) === 1);
    // Both processes together: each run, and each tool that ended, once.
    expect(await scraper.value('sum(increase(perdure_runs_ended_total[10m]))')).not.toBeNull();

    const text = await textOf(`${url}/metrics`);
    expect(promtool(['check', 'metrics'], text.replaceAll(/^.*temporal_.*\n/gm, ''))).toBe('');
    for (const name of Object.keys(COUNTERS).slice(0, 2)) expect(text).toContain(`# TYPE ${name} counter`);
    expect(valueOf(text, 'perdure_iterations_total', 'next_turn')).toBeGreaterThan(0);
    expect(Object.keys(HISTOGRAMS).filter((name) => text.includes(`# TYPE ${name} histogram`)).length).toBeGreaterThan(
      4,
    );
  });

  test('is alive at once and ready when it polls, and says what else keeps it from its work (O17)', async () => {
    const place = cliPlace(await modelFor([reply('Hi.')]));
    const worker = place.start(['worker', '--metrics', '0']);
    const url = await urlOf(worker);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const early = await fetch(`${url}/readyz`);
    expect([early.status, await early.text()]).toEqual([503, 'not ready: it is starting\n']);
    await until(async () => (await fetch(`${url}/readyz`)).status === 200);
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
  });
});

describe('an address for metrics', () => {
  test('that is none, or is taken, ends the command before anything is started (O14)', async () => {
    const place = cliPlace(await modelFor([]));
    const none = await place.run('worker', '--metrics', 'localhost');
    expect(none).toEqual({
      status: 2,
      out: '',
      err: 'perdure: --metrics is "localhost": give a port, or host:port as in 127.0.0.1:9464\n',
    });
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await until(() => other.listening);
    const { port } = other.address() as AddressInfo;
    const taken = place.start(['page'], { env: { PERDURE_METRICS: `127.0.0.1:${port}` } });
    expect(await taken.status).toBe(2);
    expect(taken.err()).toMatch(/^perdure: PERDURE_METRICS: nothing can listen on 127\.0\.0\.1:\d+ \(something else/);
    expect(existsSync(place.data)).toBe(false);
  });

  test('of a page without a worker tells the sessions, and that its server is gone (O14 O17)', async () => {
    const place = cliPlace(await modelFor([reply('Hi.')]));
    expect(await place.run('run', 'Say hi.')).toMatchObject({ status: 0 });
    const page = place.start(['page', '--metrics', '0']);
    const url = await urlOf(page);
    await until(async () => (await fetch(`${url}/readyz`)).status === 200);
    const text = await textOf(`${url}/metrics`);
    expect(text).toContain('perdure_fleet_up 1\n');
    expect(text).toContain('perdure_page_watchers 0\n');
    expect(text).toContain('perdure_api_listeners 0\n');
    expect(text).toMatch(/perdure_sessions\{phase="(idle|waiting_worker)"\} 1/);
    expect(promtool(['check', 'metrics'], text)).toBe('');
  });
});
