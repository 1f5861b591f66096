// Checks for `perdure doctor`: which proxy each destination of a worker is reached through (X5),
// whether the model (X1) and MCP servers can be used, and which tools are deferred (L74).
import { isAbsolute } from 'node:path';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { describeNetwork, type Destination, openNetwork } from '../../connection/network/network.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { catalogue } from '../../models/catalogue.ts';
import { createModels, parseServerModel, type ServerModel } from '../../models/models.ts';
import type { ModelFacts } from '../../store/model-facts.ts';
import { findPlaces } from '../../system/process/places.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { countTokens, deferLimit } from '../../tools/deferred-tools.ts';
import { describeDeferral } from '../../tools/find-tools.ts';
import type { ListedTool } from '../../tools/mcp/list-tools.ts';
import { tryServer } from '../../tools/mcp/open-servers.ts';
import { type McpServer, nameServerTool } from '../../tools/mcp/servers.ts';
import { buildDefinition } from '../../tools/registry.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { ConfigProblem, type PerdureConfig } from '../../worker/config/config.ts';
import { runDefaults } from '../../worker/config/defaults.ts';
import { mayRunUnconfined } from '../../worker/config/unconfined.ts';
import { isKeyless } from '../../worker/keyless.ts';
import { askModels, openClient } from '../../worker/model-access.ts';
import { modelSettings } from '../../worker/model-settings.ts';
import { collectorOf } from '../../worker/monitor/otlp.ts';
import { oneLine } from '../paint.ts';

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

// Says whether runs of a configuration leave tools of MCP servers out of their requests (L74).
export type ServerList = { readonly server: string; readonly tools: readonly ListedTool[] };

/** Returns a sentence for people; undefined where all tools of the lists are sent. */
export function deferralOf(config: PerdureConfig, lists: readonly ServerList[]): string | undefined {
  const { model = runDefaults.model, models: configured, deferTools } = config;
  const models = createModels({ model, configured });
  const found = models.find(model);
  const { window } = models.facts('name' in found ? found.name : model);
  const definitions = lists.flatMap(({ server, tools }) =>
    tools.map((tool) => buildDefinition({ ...tool, name: nameServerTool(server, tool.name) })),
  );
  const tokens = countTokens(definitions);
  const limit = deferLimit(deferTools, window);
  return limit !== undefined && tokens > limit ? describeDeferral(definitions.length, tokens)[0] : undefined;
}

// Checks the model for `perdure doctor`: how it is reached, and what its server and the catalogue
// know of the models that runs use (X1).
export async function modelChecks(env: Env, config: PerdureConfig): Promise<readonly Check[]> {
  if (isKeyless(env))
    return [
      noteCheck('model', 'scripted: set ANTHROPIC_API_KEY for a real one; until then only the demo task can be done'),
    ];
  try {
    const { client, official, close } = openClient(env);
    try {
      return [accessCheck(env, modelSettings(env)), ...(await eachModel(client, official, config))];
    } finally {
      await close();
    }
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missingCheck('model', error.message)];
  }
}

function accessCheck(env: Env, { authToken, baseURL }: ReturnType<typeof modelSettings>): Check {
  const key = env['ANTHROPIC_API_KEY']?.trim()
    ? 'ANTHROPIC_API_KEY is set'
    : authToken === null
      ? 'no key'
      : 'ANTHROPIC_AUTH_TOKEN is set';
  return okCheck('model', baseURL === undefined ? key : `${key}, at ${bareAddress(baseURL)}`);
}

/** Hides the query, in which some servers expect a key. */
function bareAddress(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

/** Milliseconds that the server may take to describe a model. */
const TIMEOUT_MS = 5_000;

type ServerAnswer =
  { readonly kind: 'said'; readonly model: ServerModel } | { readonly kind: 'silent' | 'gone'; readonly why: string };

type Client = ReturnType<typeof openClient>['client'];

/** Checks the primary model, its fallbacks and the small one, each under the name that is sent. */
async function eachModel(client: Client, official: boolean, config: PerdureConfig): Promise<readonly Check[]> {
  const {
    model = runDefaults.model,
    fallbackModels = [],
    smallModel = runDefaults.smallModel,
    models: configured,
  } = config;
  const models = createModels({ model, configured, official });
  const found = [...new Set([model, ...fallbackModels, smallModel])].map((name) => ({ name, ...models.find(name) }));
  return Promise.all(
    found.map(async (each) => {
      if ('problem' in each) return missingCheck('models', each.problem);
      const answer = await ask(client, each.name);
      return oneModel(
        each.name,
        { ...models.facts(each.name), ...(answer.kind === 'said' && pickKnownSizes(answer.model)) },
        answer,
        official,
      );
    }),
  );
}

async function ask(client: Client, name: string): Promise<ServerAnswer> {
  try {
    const model = parseServerModel(await askModels(client)(name, AbortSignal.timeout(TIMEOUT_MS)));
    return model ? { kind: 'said', model } : { kind: 'silent', why: 'its server has no Models API' };
  } catch (error) {
    const { status } = error as { readonly status?: number };
    if (status === 404) return { kind: 'gone', why: 'its server does not know it' };
    return { kind: 'silent', why: `its server could not be asked (${status ?? oneLine(reasonOf(error), 100)})` };
  }
}

function pickKnownSizes({ window, maxOutput, retires }: ServerModel): Partial<ModelFacts> {
  return { ...(window && { window }), ...(maxOutput && { maxOutput }), ...(retires && { retires }) };
}

function oneModel(name: string, facts: ModelFacts, answer: ServerAnswer, official: boolean): Check {
  const source = answer.kind === 'said' ? 'as its server says' : `by the catalogue of ${catalogue.date}: ${answer.why}`;
  const found = `${name}: ${describe(facts)}; ${source}`;
  if (answer.kind === 'gone' && official) return missingCheck('models', `${found}; name another in the configuration`);
  if (answer.kind === 'said' && answer.model.lifecycle === 'retired')
    return missingCheck('models', `${found}; it is retired, name another`);
  return facts.price === null || facts.assumed || facts.retires ? noteCheck('models', found) : okCheck('models', found);
}

function describe({ window, maxOutput, price, assumed, retires }: ModelFacts): string {
  const tokens = (count: number): string => count.toLocaleString('en');
  const size = `${assumed ? 'an assumed window of ' : 'a window of '}${tokens(window)} tokens, answers of ${tokens(maxOutput)}`;
  const cost = price ? `$${price.input} in and $${price.output} out per million` : 'no known price';
  return [size, cost, ...(retires ? [`ends on ${retires}`] : [])].join(', ');
}
