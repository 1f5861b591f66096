// Checks the network for `perdure doctor`: which proxy each destination of a worker is reached
// through (X5), and whether MCP servers can be used.
import { isAbsolute } from 'node:path';
import { tryServer } from '../../tools/mcp/open-servers.ts';
import type { McpServer } from '../../tools/mcp/servers.ts';
import { findPlaces } from '../../system/process/places.ts';
import { reasonOf } from '../../system/text.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { mayRunUnconfined } from '../../worker/config/unconfined.ts';
import { ConfigProblem, type PerdureConfig } from '../../worker/config/config.ts';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { isKeyless } from '../../worker/keyless.ts';
import { collectorOf } from '../../worker/monitor/otlp.ts';
import { openNetwork, describeNetwork, type Destination } from '../../connection/network/network.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { oneLine } from '../paint.ts';
import type { ServerList } from './deferred-tools.ts';

/** Checks all destinations of this environment and this configuration. */
export function networkChecks(env: Env, folder: DataFolder | null, config: PerdureConfig): readonly Check[] {
  const model = (env['ANTHROPIC_BASE_URL']?.trim() ?? '') || 'https://api.anthropic.com';
  const { mcpServers = {} } = config;
  const findings = describeNetwork(env, [
    ...(isKeyless(env) ? [] : [{ what: 'the model', address: model }]),
    ...Object.entries(mcpServers).flatMap(([name, server]) =>
      'url' in server ? [{ what: `MCP ${name}`, address: server.url }] : [],
    ),
    ...findDestination('traces', () => collectorOf(env)?.url),
    ...findDestination('the bucket', () => (folder && !isAbsolute(folder.storePlace) ? bucketAddress(env) : undefined)),
    ...findDestination('Temporal', () => {
      const target = resolveConnection(env);
      return target.kind === 'external' ? `https://${target.address}` : undefined;
    }),
  ]);
  return findings.map(({ name, fine, found }) => (fine ? okCheck : missingCheck)(name, found));
}

/** Leaves out a wrong setting, which its own check reports. */
function findDestination(what: string, address: () => string | undefined): readonly Destination[] {
  try {
    const found = address();
    return found === undefined ? [] : [{ what, address: found }];
  } catch (error) {
    if (error instanceof SetupProblem || error instanceof ConfigProblem) return [];
    throw error;
  }
}

function bucketAddress(env: Env): string {
  return env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || 'https://s3.amazonaws.com';
}

/**
 * Prepares what a worker gives its MCP servers, for servers that are tried here. The caller closes
 * its network.
 */
export async function prepareServers(env: Env, dataDir: string | undefined, { sandbox }: PerdureConfig) {
  return {
    env,
    sandbox: await probeSandbox({ places: findPlaces(env), unconfined: mayRunUnconfined(sandbox, env) }),
    ...(dataDir !== undefined && { dataDir }),
    network: openNetwork(env),
  };
}

/** Connects, asks for the list of tools, and ends the server. `list` is absent without one. */
export async function mcpCheck(
  name: string,
  server: McpServer,
  around: Parameters<typeof tryServer>[1],
): Promise<{ readonly check: Check; readonly list?: ServerList }> {
  const title = `MCP ${name}`;
  try {
    const { tools, leftOut } = await tryServer(server, around);
    const found = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`;
    const [first] = leftOut;
    const list = { server: name, tools };
    if (first === undefined) return { check: okCheck(title, found), list };
    const lacks = `${found}, and ${leftOut.length} left out; the first: ${oneLine(first, 200)}`;
    return { check: noteCheck(title, lacks), list };
  } catch (error) {
    return { check: missingCheck(title, `it cannot be used: ${oneLine(reasonOf(error), 300)}`) };
  }
}

/**
 * One thing a machine needs, and its state. `note`: it works and could be better. `missing`:
 * something will not work, and `found` says what to do.
 */
export type Check = {
  readonly name: string;
  readonly state: 'ok' | 'note' | 'missing';
  /** One line. */
  readonly found: string;
};

export const okCheck = (name: string, found: string): Check => ({ name, state: 'ok', found });
export const noteCheck = (name: string, found: string): Check => ({ name, state: 'note', found });
export const missingCheck = (name: string, found: string): Check => ({ name, state: 'missing', found });
