// Finds which Temporal server to use: the one that the environment or a Temporal profile names,
// else ours.
import { present } from '../workflows/contract/present.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadClientConnectConfig, type LoadClientProfileOptions } from '@temporalio/envconfig';
import type { ConnectionOptions } from '@temporalio/client';
import type { KeyRing } from './payloads/key-ring.ts';
import { type Env, openNamedKeys, xdgFolder } from './data-folder.ts';
import { type Proxy, readProxyRules } from './network/proxy-rules.ts';
import { foreignWriterProblem } from './others-may-write.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { codeOf, reasonOf } from '../system/text.ts';

/** Everything that a client's or a worker's connection takes. `metadata` is sent with each call. */
export type ExternalServer = {
  readonly kind: 'external';
  /** host:port */
  readonly address: string;
  readonly namespace: string;
  readonly tls?: NonNullable<ConnectionOptions['tls']>;
  readonly apiKey?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The proxy; absent: the server is reached directly. */
  readonly proxy?: Proxy;
  /** The keys that seal payloads; without them payloads are plain. */
  readonly keys?: KeyRing;
};

type ResolvedConnection = ExternalServer | { readonly kind: 'embedded' };

const DEFAULT_NAMESPACE = 'default';
const DEFAULT_PORT = 7233;

/**
 * Resolves to an external server when TEMPORAL_ADDRESS is set or the chosen profile has an address
 * (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE, or the default profile of Temporal's own configuration
 * file). Throws SetupProblem when a setting cannot be used.
 */
export function resolveConnection(env: Env): ResolvedConnection {
  const set = Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => !!pair[1]));
  const file = readConfigFile(set);
  const { connectionOptions, namespace } = loadProfile(set, file);
  const { address, tls, apiKey, metadata } = connectionOptions;
  if (address === undefined || address === '') {
    const profile = set['TEMPORAL_PROFILE'];
    if (profile === undefined) return { kind: 'embedded' };
    throw new SetupProblem(
      `the Temporal profile ${profile} in ${file.path} has no address: add one, or unset TEMPORAL_PROFILE`,
    );
  }
  return {
    kind: 'external',
    address: parseServerAddress(address),
    namespace: namespace ?? DEFAULT_NAMESPACE,
    ...present({
      tls: tls ?? undefined,
      apiKey: typeof apiKey === 'string' ? apiKey : undefined,
      metadata: metadata && toTexts(metadata),
    }),
    ...proxyOf(set, address),
    ...keysOf(set),
  };
}

/**
 * Finds the proxy as gRPC does: the one for `https`, in a tunnel, whether it carries TLS or not.
 */
function proxyOf(env: Env, address: string): Pick<ExternalServer, 'proxy'> {
  const proxy = readProxyRules(env).proxyFor(new URL(`https://${parseServerAddress(address)}`));
  if (proxy === null) return {};
  if (proxy.address.startsWith('http://')) return { proxy };
  throw new SetupProblem(
    `${proxy.by} names a proxy that is itself asked by https, and no connection to Temporal can go through one: name ${address} in NO_PROXY`,
  );
}

/**
 * Opens the keys: on a foreign server payloads are sealed only when the user names keys. Commands
 * of the agent do not see the data folder.
 */
function keysOf(env: Env): Pick<ExternalServer, 'keys'> {
  const keys = openNamedKeys(env);
  return keys ? { keys } : {};
}

const toTexts = (metadata: object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, String(value)]));

type ConfigFile = { readonly path: string; readonly text: string | null };

/**
 * Reads the file here, because the SDK takes a missing file for an empty one, also one that was
 * asked for by name.
 */
function readConfigFile(env: Record<string, string>): ConfigFile {
  const named = env['TEMPORAL_CONFIG_FILE'];
  const path = named ?? join(userConfigFolder(env), 'temporalio', 'temporal.toml');
  // The file chooses the server that begins sessions and decides calls.
  const foreign = foreignWriterProblem(path);
  if (foreign !== null) throw new SetupProblem(`the Temporal configuration ${path} is not used, for ${foreign}`);
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    if (named === undefined && ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return { path, text: null };
    throw new SetupProblem(`cannot read the Temporal configuration ${path}: ${reasonOf(error)}`);
  }
}

function userConfigFolder(env: Env): string {
  if (process.platform === 'darwin')
    return join(xdgFolder({ HOME: env['HOME'] }, 'none', 'Library'), 'Application Support');
  return xdgFolder(env, 'XDG_CONFIG_HOME', '.config');
}

function loadProfile(env: Record<string, string>, { path, text }: ConfigFile) {
  // The SDK fails on a file without a profile table.
  const hasProfile = text !== null && /^[ \t]*(?:\[[ \t]*)?"?profile\b/m.test(text);
  const options: LoadClientProfileOptions = {
    overrideEnvVars: env,
    configSource: { data: hasProfile ? text : '[profile]' },
  };
  try {
    return loadClientConnectConfig(options);
  } catch (error) {
    // Only reading this configuration can fail here: bad TOML, an unknown profile, a missing
    // certificate.
    throw new SetupProblem(
      `the Temporal configuration (${path} and TEMPORAL_* variables) cannot be used: ${reasonOf(error)}`,
    );
  }
}

function parseServerAddress(address: string): string {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+)(?::(\d{1,5}))?$/i.exec(address);
  const port = Number(match?.[2] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65_535)
    throw new SetupProblem(
      `the Temporal address ${JSON.stringify(address)} is not host:port: correct TEMPORAL_ADDRESS or the profile`,
    );
  return `${match[1]}:${port}`;
}
