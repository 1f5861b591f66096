// A real Prometheus on a free port, ended with the test: it scrapes one address every half second
// and has our alert rules loaded.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

export const rulesFile = fileURLToPath(new URL('../../docs/operating/alerts.yml', import.meta.url));

type Vector = { readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] } };

export type Prometheus = {
  /** The value of a query with one result; null while it has none. */
  value(query: string): Promise<number | null>;
  /** Why it does not take a query; null when it does. */
  problem(query: string): Promise<string | null>;
  /** The names of the alert rules that it has loaded. */
  alerts(): Promise<readonly string[]>;
};

export async function prometheus(target: string): Promise<Prometheus> {
  const folder = tempDir();
  const port = await findFreePort();
  const config = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    scrape_configs: [{ job_name: 'perdure', static_configs: [{ targets: [target] }] }],
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    value: async (query) => {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
      const [one] = ((await response.json()) as Vector).data.result;
      return one ? Number(one.value[1]) : null;
    },
    problem: async (query) => {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
      return response.ok ? null : await response.text();
    },
    alerts: async () => {
      type Rules = { readonly data: { readonly groups: readonly { readonly rules: readonly { name: string }[] }[] } };
      const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as Rules;
      return data.groups.flatMap(({ rules }) => rules.map(({ name }) => name));
    },
  };
}

/** What promtool says against it; empty when it is content. */
export function promtool(args: readonly string[], input = ''): string {
  const { status, stderr, stdout } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}`;
}
