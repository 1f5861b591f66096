// The chart as Helm renders it: what one object names in another is there, and the schemas of
// Kubernetes take each of its own kinds.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { installPackages } from '../packages/python-packages.ts';
import { drainTimes } from '../../worker/create-worker.ts';
import { tempDir } from '../support/temp-dir.ts';
import { knownVariables } from './known-variables.ts';

const root = resolve(import.meta.dirname, '../..');
const chart = join(root, 'deploy/chart');
const run = promisify(execFile);
const { python, isMissing } = installPackages(['kubernetes-validate==1.37.0']);

/** What must be said, and everything that can be. */
const LEAST = {
  temporal: { address: 'temporal.internal:7233' },
  store: 's3://bucket/agents',
  secrets: 'perdure-secrets',
  model: { apiKeySecret: 'anthropic' },
  serve: { name: 'agents.example' },
};
const MOST = {
  ...LEAST,
  imagePullSecrets: [{ name: 'registry' }],
  temporal: { ...LEAST.temporal, apiKeySecret: 'temporal-key', tlsSecret: 'temporal-tls' },
  s3: { endpoint: 'http://s3:7070', credentialsSecret: 's3' },
  live: { secret: 'redis' },
  model: { apiKeySecret: 'anthropic', baseUrl: 'https://models.internal' },
  config: 'export default { drainMs: 90_000 };',
  serviceAccount: { annotations: { role: 'agents' } },
  serve: { name: 'agents.example', ingress: { enabled: true, className: 'nginx', annotations: { a: 'b' } } },
  worker: { drainMs: 90_000, storage: { className: 'fast' } },
  networkPolicy: { servedFrom: [{ namespaceSelector: {} }] },
  metrics: { serviceMonitor: true },
  autoscaling: { enabled: true },
};

/** A part of an object of Kubernetes, whose fields are looked for by name. */
type Part = { readonly [field: string]: Part } & readonly Part[];

async function render(values: object): Promise<{ readonly text: string; readonly objects: readonly Part[] }> {
  const file = join(tempDir(), 'values.yaml');
  writeFileSync(file, JSON.stringify(values));
  const { stdout } = await run(inject('helm'), ['template', 'perdure', chart, '-f', file]);
  return { text: stdout, objects: parseAllDocuments(stdout).map((one) => one.toJS() as Part) };
}

const ofKind = (objects: readonly Part[], kind: string): Part[] =>
  objects.filter((one) => String(one['kind']) === kind);

/** Each pod's description, with the names of the volumes that its set makes. */
function podsOf(objects: readonly Part[]): readonly { readonly spec: Part; readonly claims: readonly string[] }[] {
  return [...ofKind(objects, 'Deployment'), ...ofKind(objects, 'StatefulSet')].map(({ spec }) => ({
    spec: spec?.['template']?.['spec'] as Part,
    claims: (spec?.['volumeClaimTemplates'] ?? []).map((claim) => String(claim['metadata']?.['name'])),
  }));
}

const containersOf = (spec: Part): Part[] => [...(spec['initContainers'] ?? []), ...(spec['containers'] ?? [])];

describe.each([
  ['least', LEAST],
  ['most', MOST],
])('rendered with the %s values', (_, values) => {
  test('every container mounts volumes of its pod, and every volume is mounted', async () => {
    for (const { spec, claims } of podsOf((await render(values)).objects)) {
      const volumes = [...(spec['volumes'] ?? []).map(({ name }) => String(name)), ...claims];
      const mounted = containersOf(spec).flatMap((one) => (one['volumeMounts'] ?? []).map(({ name }) => String(name)));
      expect(new Set(mounted)).toEqual(new Set(volumes));
    }
  });

  test('probes, services and monitors name ports that are there, and paths that are served', async () => {
    const { objects } = await render(values);
    const containers = podsOf(objects).flatMap(({ spec }) => [...(spec['containers'] ?? [])]);
    for (const container of containers) {
      const ports = (container['ports'] ?? []).map(({ name }) => String(name));
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        const asked = container[probe]?.['httpGet'];
        expect(ports).toContain(String(asked?.['port']));
        expect(['/healthz', '/readyz']).toContain(String(asked?.['path']));
      }
    }
    const open = new Set(containers.flatMap((one) => (one['ports'] ?? []).map(({ name }) => String(name))));
    const services = ofKind(objects, 'Service').flatMap(({ spec }) => [...(spec?.['ports'] ?? [])]);
    expect(services.filter(({ targetPort }) => !open.has(String(targetPort)))).toEqual([]);
    for (const { spec } of ofKind(objects, 'ServiceMonitor'))
      for (const { port } of spec?.['endpoints'] ?? []) expect(services.map(({ name }) => name)).toContain(port);
  });

  test('selectors match the labels of a pod, and names of objects lead to one', async () => {
    const { objects } = await render(values);
    const labels = [...ofKind(objects, 'Deployment'), ...ofKind(objects, 'StatefulSet')].map(
      ({ spec }) => spec?.['template']?.['metadata']?.['labels'] as unknown as Record<string, string>,
    );
    const matches = (selector: object): boolean =>
      labels.some((one) => Object.entries(selector).every(([name, value]) => one[name] === value));
    for (const { spec } of ofKind(objects, 'Service')) expect(matches(spec?.['selector'] as Part)).toBe(true);
    for (const kind of ['NetworkPolicy', 'PodDisruptionBudget'])
      for (const { spec } of ofKind(objects, kind))
        expect(matches((spec?.['podSelector'] ?? spec?.['selector'])?.['matchLabels'] as Part)).toBe(true);
    const names = (kind: string): string[] => ofKind(objects, kind).map((one) => String(one['metadata']?.['name']));
    for (const { spec } of podsOf(objects)) {
      expect(names('ServiceAccount')).toContain(spec['serviceAccountName']);
      for (const { configMap } of spec['volumes'] ?? [])
        if (configMap) expect(names('ConfigMap')).toContain(configMap['name']);
    }
    for (const { spec } of ofKind(objects, 'ScaledObject')) {
      expect(names('StatefulSet')).toContain(spec?.['scaleTargetRef']?.['name']);
      for (const { authenticationRef } of spec?.['triggers'] ?? [])
        if (authenticationRef) expect(names('TriggerAuthentication')).toContain(authenticationRef['name']);
    }
  });

  test('variables are documented ones, secrets only by reference, and files lie where they are mounted', async () => {
    const { text, objects } = await render(values);
    const env = podsOf(objects).flatMap(({ spec }) => containersOf(spec).flatMap((one) => [...(one['env'] ?? [])]));
    expect(env.map(({ name }) => String(name)).filter((name) => !knownVariables().has(name))).toEqual([]);
    const secret = env.filter(({ name }) => /_(KEY|KEY_ID|LIVE)$/.test(String(name)));
    expect(secret.filter(({ valueFrom }) => valueFrom?.['secretKeyRef'] === undefined)).toEqual([]);
    expect(ofKind(objects, 'Secret')).toEqual([]);
    for (const [path] of text.matchAll(/\/etc\/perdure\/\w+(?=\/)/g)) expect(text).toContain(`mountPath: ${path},`);
  });

  test('no pod is root, none has a capability, and none writes into its image', async () => {
    for (const { spec } of podsOf((await render(values)).objects)) {
      expect(spec['securityContext']).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001 });
      for (const { securityContext } of containersOf(spec))
        expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
    }
  });

  test('the schemas of Kubernetes 1.33 and 1.37 take it', async () => {
    if (isMissing()) return;
    const file = join(tempDir(), 'rendered.yaml');
    const { text, objects } = await render(values);
    writeFileSync(file, text);
    const others = ['ScaledObject', 'TriggerAuthentication', 'ServiceMonitor'];
    const own = objects.filter(({ kind }) => !others.includes(String(kind)));
    for (const version of ['1.33', '1.37']) {
      const args = ['--strict', '-k', version, file];
      const { stdout, stderr } = await run(join(python, '../kubernetes-validate'), args);
      expect((stdout + stderr).match(/ passed for resource /g)).toHaveLength(own.length);
    }
  });
});

test('a pod has longer to stop than its worker lets calls finish', async () => {
  const grace = async (drainMs: number): Promise<number> => {
    const [set] = ofKind((await render({ ...LEAST, worker: { drainMs } })).objects, 'StatefulSet');
    return Number(set?.['spec']?.['template']?.['spec']?.['terminationGracePeriodSeconds']);
  };
  for (const drainMs of [10_000, 90_500])
    expect((await grace(drainMs)) * 1_000).toBeGreaterThan(drainTimes(drainMs).shutdownForceTime);
});

test('sessions that leave a host that drains have a drain of their own for it, and let a scaler scale in (D7)', async () => {
  const rendered = async (onDrain: string) => {
    const { objects } = await render({
      ...LEAST,
      worker: { drainMs: 60_000, onDrain },
      autoscaling: { enabled: true },
    });
    const [set] = ofKind(objects, 'StatefulSet');
    const [scaled] = ofKind(objects, 'ScaledObject');
    const { containers, terminationGracePeriodSeconds: grace } = set?.['spec']?.['template']?.['spec'] ?? ({} as Part);
    const env = containers?.[0]?.['env']?.find(({ name }: Part) => String(name) === 'PERDURE_ON_DRAIN');
    return { grace: Number(grace), value: String(env?.['value']), advanced: scaled?.['spec']?.['advanced'] };
  };
  const leaving = await rendered('leave');
  expect(leaving).toEqual({ grace: 140, value: 'leave', advanced: undefined });
  expect(leaving.grace * 1_000).toBeGreaterThan(60_000 + drainTimes(60_000).shutdownForceTime);
  expect(await rendered('stay')).toMatchObject({
    grace: 80,
    value: 'stay',
    advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { selectPolicy: 'Disabled' } } } },
  });
});

test('a value that must be said is asked for by its name', async () => {
  for (const [name] of Object.entries(LEAST)) {
    const { [name as 'store']: _, ...others } = LEAST;
    await expect(render(others)).rejects.toThrow(new RegExp(`${name}(\\.\\w+)?: `));
  }
});

test('the page has every value in its table', () => {
  const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8');
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Record<string, unknown>;
  const leaves = (value: unknown, path: string): string[] =>
    value !== null &&
    typeof value === 'object' &&
    !Array.isArray(value) &&
    Object.keys(value).length > 0 &&
    !path.endsWith('resources')
      ? Object.entries(value).flatMap(([name, one]) => leaves(one, path === '' ? name : `${path}.${name}`))
      : [path];
  expect(leaves(values, '').filter((path) => !page.includes(`\`${path}\``))).toEqual([]);
});
