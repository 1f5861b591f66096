// What `perdure doctor` finds of the network: which proxy each of what a worker reaches is asked
// through (X5), and whether MCP servers can be used.
import { isAbsolute } from 'node:path';
import { tryServer } from '../../tools/mcp/open-servers.ts';
import type { McpServer } from '../../tools/mcp/servers.ts';
import { findPlaces } from '../../system/process/places.ts';
import { reasonOf } from '../../system/text.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { ConfigProblem, type PerdureConfig } from '../../worker/config/config.ts';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { isKeyless } from '../../worker/keyless.ts';
import { collectorOf } from '../../worker/monitor/otlp.ts';
import { describeNetwork, type Destination } from '../../connection/network/describe.ts';
import { openNetwork } from '../../connection/network/network.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { type Check, missing, note, ok } from './model-checks.ts';
import { oneLine } from '../paint.ts';

/** What is reached elsewhere, as this environment and this configuration have it. */
export function networkChecks(env: Env, folder: DataFolder | null, config: PerdureConfig): readonly Check[] {
  const model = (env['ANTHROPIC_BASE_URL']?.trim() ?? '') || 'https://api.anthropic.com';
  const { mcpServers = {} } = config;
  const findings = describeNetwork(env, [
    ...(isKeyless(env) ? [] : [{ what: 'the model', address: model }]),
    ...Object.entries(mcpServers).flatMap(([name, server]) =>
      'url' in server ? [{ what: `MCP ${name}`, address: server.url }] : [],
    ),
    ...destination('traces', () => collectorOf(env)?.url),
    ...destination('the bucket', () => (folder && !isAbsolute(folder.storePlace) ? bucketAddress(env) : undefined)),
    ...destination('Temporal', () => {
      const target = resolveConnection(env);
      return target.kind === 'external' ? `https://${target.address}` : undefined;
    }),
  ]);
  return findings.map(({ name, fine, found }) => (fine ? ok : missing)(name, found));
}

/** None of what is set wrong: that is told where it is looked at. */
function destination(what: string, address: () => string | undefined): readonly Destination[] {
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

/** What a server that is tried here gets, as a worker's gets it. Its network is to be closed. */
export async function aroundServers(env: Env, dataDir: string | undefined) {
  return {
    env,
    sandbox: await probeSandbox({ places: findPlaces(env) }),
    ...(dataDir !== undefined && { dataDir }),
    network: openNetwork(env),
  };
}

/** It is connected, asked for its list, and ended. */
export async function mcpCheck(
  name: string,
  server: McpServer,
  around: Parameters<typeof tryServer>[1],
): Promise<Check> {
  const title = `MCP ${name}`;
  try {
    const { tools, leftOut } = await tryServer(server, around);
    const found = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`;
    const [first] = leftOut;
    if (first === undefined) return ok(title, found);
    return note(title, `${found}, and ${leftOut.length} left out; the first: ${oneLine(first, 200)}`);
  } catch (error) {
    return missing(title, `it cannot be used: ${oneLine(reasonOf(error), 300)}`);
  }
}
