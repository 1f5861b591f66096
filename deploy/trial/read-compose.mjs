// Reads a compose file as its engine would: merge keys, variables with defaults, and what an
// image's Dockerfile adds. Only what deploy/compose.yaml uses is known; anything else is refused by
// name.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';

const KNOWN = new Set(
  'image build restart cap_drop cap_add security_opt user entrypoint command environment volumes ports depends_on healthcheck stop_grace_period'.split(
    ' ',
  ),
);

/**
 * @typedef {{ condition: 'service_healthy' | 'service_completed_successfully' | 'service_started' }} Needs
 * @typedef {{ test: readonly string[], intervalMs: number, timeoutMs: number, startMs: number, retries: number }} Health
 * @typedef {{ from: string, to: string, isVolume: boolean, isReadOnly: boolean }} Mount
 * @typedef {{ name: string, image: string, isBuilt: boolean, restart: string, user: string | null, capAdd: readonly string[],
 *   entrypoint: readonly string[] | null, command: readonly string[] | null, env: Record<string, string>, stopMs: number,
 *   mounts: readonly Mount[], needs: Record<string, Needs>, health: Health | null, ports: readonly string[] }} Service
 */

/**
 * @param {string} path
 * @param {Record<string, string | undefined>} env
 * @returns {{ services: readonly Service[], volumes: readonly string[] }}
 */
export function readCompose(path, env = process.env) {
  const file = interpolate(parse(readFileSync(path, 'utf8'), { merge: true }), env);
  const volumes = Object.keys(file.volumes ?? {});
  const services = Object.entries(file.services).map(([name, raw]) =>
    readService(name, raw, { env, folder: dirname(resolve(path)), volumes }),
  );
  for (const { name, needs } of services)
    for (const other of Object.keys(needs))
      if (!services.some((service) => service.name === other))
        throw new Error(`${name} depends on ${other}, which is none`);
  return { services, volumes };
}

function readService(name, raw, { env, folder, volumes }) {
  const unknown = Object.keys(raw).filter((key) => !KNOWN.has(key));
  if (unknown.length > 0) throw new Error(`${name}: ${unknown.join(', ')} is not known here`);
  return {
    name,
    image: raw.image,
    isBuilt: raw.build !== undefined,
    restart: raw.restart ?? 'no',
    user: raw.user ?? null,
    capAdd: raw.cap_add ?? [],
    entrypoint: raw.entrypoint ?? null,
    command: raw.command?.map(String) ?? null,
    env: readEnvironment(raw.environment ?? {}, env),
    stopMs: milliseconds(raw.stop_grace_period ?? '10s'),
    mounts: (raw.volumes ?? []).map((text) => readMount(name, text, { folder, volumes })),
    needs: raw.depends_on ?? {},
    health: readHealth(raw.healthcheck),
    ports: raw.ports ?? [],
  };
}

/** A variable without a value is the caller's, where the caller has it. */
function readEnvironment(environment, env) {
  const pairs = Object.entries(environment).map(([name, value]) => [name, value ?? env[name]]);
  return Object.fromEntries(
    pairs.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]),
  );
}

function readMount(name, text, { folder, volumes }) {
  const [from, to, mode] = text.split(':');
  const isVolume = !/^[./]/.test(from);
  if (isVolume && !volumes.includes(from)) throw new Error(`${name}: the volume ${from} is not declared`);
  return { from: isVolume ? from : resolve(folder, from), to, isVolume, isReadOnly: mode === 'ro' };
}

function readHealth(raw) {
  if (raw === undefined || raw.disable === true) return null;
  const [kind, ...argv] = raw.test;
  if (kind !== 'CMD') throw new Error(`a health check begins with CMD, not ${kind}`);
  return {
    test: argv,
    intervalMs: milliseconds(raw.interval ?? '30s'),
    timeoutMs: milliseconds(raw.timeout ?? '30s'),
    startMs: milliseconds(raw.start_period ?? '0s'),
    retries: raw.retries ?? 3,
  };
}

function milliseconds(text) {
  const [, count, unit] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (count === undefined) throw new Error(`${text} is no time: give seconds (20s) or minutes (1m)`);
  return Number(count) * (unit === 'm' ? 60_000 : 1_000);
}

function interpolate(value, env) {
  if (typeof value === 'string')
    return value.replaceAll(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name, or = '') => env[name] || or);
  if (Array.isArray(value)) return value.map((one) => interpolate(one, env));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, interpolate(one, env)]));
}

/**
 * What the last stage of a Dockerfile says about the containers of its image.
 * @param {string} path
 * @returns {{ env: Record<string, string>, user: string, folder: string, entrypoint: readonly string[], command: readonly string[],
 *   copied: readonly { from: readonly string[], to: string }[] }}
 */
export function readDockerfile(path) {
  const lines = readFileSync(path, 'utf8').replaceAll('\\\n', ' ').split('\n');
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  const all = (word) =>
    stage.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1).trim());
  const last = (word) => all(word).at(-1) ?? '';
  const env = all('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('=')));
  const copied = all('COPY')
    .filter((line) => !line.startsWith('--from'))
    .map((line) => ({ from: line.split(/\s+/).slice(0, -1), to: line.split(/\s+/).at(-1) ?? '' }));
  return {
    env: Object.fromEntries(env),
    user: last('USER'),
    folder: last('WORKDIR'),
    entrypoint: JSON.parse(last('ENTRYPOINT')),
    command: JSON.parse(last('CMD')),
    copied,
  };
}
