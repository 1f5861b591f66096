// The metrics of a worker on a meter that only remembers, and docs/operating/metrics.md, which
// names every one of them (O14).
import { readFileSync } from 'node:fs';
import { noopMetricMeter, type MetricTags } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { Observation } from '../../../store/live/observe.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import {
  createBoundedLabel,
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  type Meter,
  observeByMetrics,
  recordCommandPolicy,
} from '../../../worker/monitor/metrics.ts';
import { observeAll } from '../../../worker/monitor/watchers.ts';

const about = { session: 's-1' as SessionId, chain: 'c', run: 1, queryId: 'c.1', depth: 0, iteration: 1 };
const docs = new URL('../../../docs/', import.meta.url);
const page = readFileSync(new URL('operating/metrics.md', docs), 'utf8');
const runbook = readFileSync(new URL('operating.md', docs), 'utf8');

type Recorded = { readonly name: string; readonly value: number; readonly tags: MetricTags };

function remembering() {
  const recorded: Recorded[] = [];
  const meter: Meter = {
    createCounter: (name) => ({
      ...noopMetricMeter.createCounter(name),
      add: (value, tags = {}) => void recorded.push({ name, value, tags }),
    }),
    createHistogram: (name) => ({
      ...noopMetricMeter.createHistogram(name, 'float'),
      record: (value, tags = {}) => void recorded.push({ name, value, tags }),
    }),
  };
  return { recorded, observe: observeByMetrics(meter) };
}

const call = (model: string, error: string | null): Observation => {
  const usage = { input: 100, output: 7, cacheRead: 900, cacheWrite: 0 };
  return { kind: 'model_call', about, at: 0, ms: 1_500, model, firstMs: 200, error, spend: { usage, usd: 0.25 } };
};

describe('metrics of a worker', () => {
  test('tell of a request its time, its tokens by kind and its cost, and nothing of its session (O14)', () => {
    const { recorded, observe } = remembering();
    observe(call('claude-a', '429'));
    const byName = (name: string): readonly Recorded[] => recorded.filter((each) => each.name === name);
    expect(byName('gen_ai_client_operation_duration_seconds')).toMatchObject([
      { value: 1.5, tags: { gen_ai_request_model: 'claude-a', error_type: '429' } },
    ]);
    expect(byName('gen_ai_client_token_usage').map(({ value, tags }) => [tags['gen_ai_token_type'], value])).toEqual([
      ['input', 100],
      ['output', 7],
      ['cache_read', 900],
    ]);
    expect(byName('perdure_model_call_cost_usd')).toMatchObject([{ value: 0.25 }]);
    expect(JSON.stringify(recorded)).not.toContain('s-1');
  });

  test('keep a bounded number of values of each label, however many callers and models make up (O14)', () => {
    const { recorded, observe } = remembering();
    for (let n = 0; n < 1_000; n += 1) {
      observe(call(`model-${n}`, null));
      observe({ kind: 'tool_call', about, tool: `tool-${n}`, callId: 'x', at: 0, ms: 1, outcome: 'ok' });
    }
    expect(new Set(recorded.map(({ tags }) => tags['gen_ai_request_model'])).size).toBeLessThanOrEqual(52);
    expect(new Set(recorded.map(({ tags }) => tags['tool'])).size).toBeLessThanOrEqual(52);
    const bounded = createBoundedLabel(2);
    expect(['a', 'b', 'c', 'a'].map(bounded)).toEqual(['a', 'b', 'other', 'a']);
  });

  test('tell how a run ended and that someone should look at it (O14)', () => {
    const { recorded, observe } = remembering();
    const seen = { chain: 'c', run: 1, iteration: 3, from: 0, to: 2_000, turns: 2, model: null, spend: noSpend };
    observe({ kind: 'seen', session: 's-1', seen: { ...seen, kind: 'run_ended', reason: 'model_error', bad: true } });
    expect(recorded).toEqual([
      { name: 'perdure_runs_ended_total', value: 1, tags: { reason: 'model_error', bad: 'true' } },
      { name: 'perdure_run_duration_seconds', value: 2, tags: { reason: 'model_error', bad: 'true' } },
    ]);
  });

  test('tell whether commands of agents run unconfined (O14)', () => {
    const set: unknown[] = [];
    const createGauge = (name: string) => ({
      ...noopMetricMeter.createGauge(name),
      set: (value: number, tags?: MetricTags) => void set.push([name, value, tags]),
    });
    for (const policy of ['confined', 'refused', 'unconfined'] as const) recordCommandPolicy({ createGauge }, policy);
    expect(set).toEqual([
      ['perdure_unconfined', 0, { commands: 'confined' }],
      ['perdure_unconfined', 0, { commands: 'refused' }],
      ['perdure_unconfined', 1, { commands: 'unconfined' }],
    ]);
  });

  test('are all described in docs/operating/metrics.md, and the alerts in docs/operating.md (O14 O17)', () => {
    const named = [...page.matchAll(/^\| `((?:perdure|gen_ai)_[a-z_]+)`/gm)].map(([, name]) => name);
    const gauges = [
      'api_listeners',
      'fleet_up',
      'oldest_approval_seconds',
      'oldest_progress_seconds',
      'page_followed_sessions',
      'sessions',
    ].map((name) => `perdure_${name}`);
    expect(new Set(named)).toEqual(new Set([...[COUNTERS, HISTOGRAMS, GAUGES].flatMap(Object.keys), ...gauges]));
    const dashboard = readFileSync(new URL('../../../docs/operating/dashboard.json', import.meta.url), 'utf8');
    const drawn = [
      ...dashboard.matchAll(/(?:perdure|gen_ai_client)_[a-z_]+?(?=(?:_(?:sum|count|bucket))?[[{()])/g),
    ].map(([name]) => name);
    expect(drawn.filter((name) => !named.includes(name))).toEqual([]);
    expect(drawn.length).toBeGreaterThan(10);
    const rules = readFileSync(new URL('../../../docs/operating/alerts.yml', import.meta.url), 'utf8');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect([...runbook.matchAll(/^### (Perdure[A-Za-z]+)$/gm)].map(([, name]) => name)).toEqual(alerts);
  });
});

test('a watcher that throws keeps nothing from the others, and is told of once (L21 O14)', () => {
  const seen: Observation[] = [];
  const said: string[] = [];
  const broken = (): never => {
    throw new Error('broken');
  };
  const observe = observeAll([broken, (one) => void seen.push(one)], (_, message) => void said.push(message));
  observe(call('a', null));
  observe(call('a', null));
  expect(seen).toHaveLength(2);
  expect(said).toEqual(['what watches this worker failed (told once): broken']);
});
