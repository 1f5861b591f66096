// Implements query() of the SDK on a durable session. The program's process is the session's
// worker: its tools and hooks run here, and what needs it waits while it is gone. A program that is
// started again under its name goes on where it was.
import { present } from '../faces/basics.ts';
import { ClientProblem, VERSION } from '../faces/start.ts';
import type { OptionChanges } from '../faces/types.ts';
import { prepareWorker } from '../faces/processes.ts';
import { catalogue } from '../../models/catalogue.ts';
import { COMMANDS } from './commands.ts';
import { asksSomebody, modeInEffect, inwardMode } from './names.ts';
import { ownEnv } from './query-settings.ts';
import { READER_LEFT, runQuery } from './run-query.ts';
import type { Steering } from './send-messages.ts';
import type { AccountInfo, AgentInfo, ModelInfo, PermissionMode } from './shapes/facts.ts';
import type { SDKMessage, SDKUserMessage } from './shapes/messages.ts';
import type { Options } from './shapes/options.ts';
import type { Query, QueryParams, WarmQuery } from './shapes/query.ts';
import { createServerChanges, type ServerChanges } from './server-changes.ts';
import { listSkills } from './skills.ts';

/**
 * Starts or continues a session, and yields its messages. The first `next()` throws ClientProblem,
 * SetupProblem or ConfigProblem with a sentence. Throws AbortError once it is aborted.
 */
export function query({ prompt, options = {} }: QueryParams): Query {
  const steering: Steering = {
    changes: {},
    sent: {},
    interrupt: () => Promise.reject(new ClientProblem('refused', 'nothing runs yet: ask for the first message')),
    grantMode: null,
    stopTask: null,
    rewindFiles: null,
    contextUsage: null,
    add: null,
    servers: createServerChanges(),
    closeIfRead: new AbortController(),
  };
  const messages = runQuery(prompt, options, steering);
  const end = messages.return.bind(messages);
  const leave = (): Promise<IteratorResult<SDKMessage, void>> => {
    // This also ends a `next()` that waits.
    steering.closeIfRead.abort(READER_LEFT);
    return end();
  };
  return Object.assign(messages, {
    return: leave,
    close: () => void leave(),
    [Symbol.asyncDispose]: async () => void (await leave()),
    ...steeringMethods(steering, options),
    ...factMethods(options),
    ...serverMethods(steering.servers, options),
    ...unsupported,
  });
}

/**
 * Prepares a query, so that its first message comes sooner: loads what a worker needs. No process
 * is started, and the options are checked when the query begins.
 */
export async function startup({
  options = {},
}: { options?: Options; initializeTimeoutMs?: number } = {}): Promise<WarmQuery> {
  await prepareWorker({ log: () => undefined });
  return {
    query: (prompt) => query({ prompt, options }),
    close: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

type SteeringMethod =
  | 'stopTask'
  | 'rewindFiles'
  | 'getContextUsage'
  | 'interrupt'
  | 'setModel'
  | 'setPermissionMode'
  | 'setMaxThinkingTokens'
  | 'streamInput';

function steeringMethods(steering: Steering, options: Options): Pick<Query, SteeringMethod> {
  const change = (changes: OptionChanges): Promise<void> => {
    steering.changes = { ...steering.changes, ...changes };
    return Promise.resolve();
  };
  return {
    interrupt: async () => {
      await steering.interrupt();
      return undefined;
    },
    setModel: (model) => change({ model: model ?? null }),
    setPermissionMode: async (mode: PermissionMode) => {
      const effective = modeInEffect(mode);
      await change({ permissionMode: inwardMode(mode, asksSomebody(options)) });
      steering.grantMode?.(effective);
      return { mode: effective };
    },
    setMaxThinkingTokens: (tokens) => change({ thinkingTokens: tokens ?? null }),
    rewindFiles: (uuid, how) => {
      if (!options.enableFileCheckpointing)
        return Promise.resolve({ canRewind: false, error: 'File rewinding is not enabled.' });
      return steering.rewindFiles?.(uuid, how) ?? refuseIdle('files are rewound while messages of a query are read');
    },
    stopTask: (id) => steering.stopTask?.(id) ?? refuseIdle('a task is stopped while messages of its query are read'),
    getContextUsage: () => steering.contextUsage?.() ?? refuseIdle('it is counted while messages of a query are read'),
    streamInput: async (stream: AsyncIterable<SDKUserMessage>) => {
      if (steering.add === null)
        throw new ClientProblem(
          'refused',
          'nothing runs yet, or no more: give messages while those of the query are read',
        );
      await steering.add(stream);
    },
  };
}

type FactMethod =
  | 'supportedModels'
  | 'supportedAgents'
  | 'supportedCommands'
  | 'accountInfo'
  | 'initializationResult'
  | 'reinitialize'
  | 'reloadSkills';

function factMethods({ agents = {}, ...options }: Options): Pick<Query, FactMethod> {
  const own = Object.entries(agents).map(([name, { description, model }]): AgentInfo => {
    return present({ name, description, model });
  });
  const env = ownEnv(options.env);
  const account: AccountInfo = {
    apiKeySource: env['ANTHROPIC_API_KEY'] === undefined ? 'none' : 'ANTHROPIC_API_KEY',
    apiProvider: env['ANTHROPIC_BASE_URL'] === undefined ? 'firstParty' : 'gateway',
  };
  const all = () => ({
    commands: [...COMMANDS],
    agents: own,
    models: availableModels(),
    account,
    output_style: 'default',
    available_output_styles: ['default'],
    claude_code_version: VERSION,
  });
  return {
    supportedModels: () => Promise.resolve(availableModels()),
    supportedAgents: () => Promise.resolve(own),
    supportedCommands: () => Promise.resolve([...COMMANDS]),
    accountInfo: () => Promise.resolve(account),
    initializationResult: () => Promise.resolve(all()),
    reinitialize: () => Promise.resolve(all()),
    // The session reads them again before each call of the model.
    reloadSkills: async () => ({
      skills: (await listSkills({ ...options, agents })).map(({ name, description }) => {
        return { name, description, argumentHint: '' };
      }),
    }),
  };
}

type ServerMethod = 'mcpServerStatus' | 'setMcpServers' | 'toggleMcpServer' | 'reconnectMcpServer';

function serverMethods(changes: ServerChanges, { mcpServers: own = {} }: Options): Pick<Query, ServerMethod> {
  return {
    mcpServerStatus: () => Promise.resolve(changes.status(own)),
    setMcpServers: (servers) => changes.set(own, servers),
    toggleMcpServer: async (name, isOn) => changes.toggle(own, name, isOn),
    reconnectMcpServer: async (name) => changes.reconnect(own, name),
  };
}

/** Returns the models that are not retired, newest first, under the names that the API takes. */
function availableModels(): ModelInfo[] {
  return Object.entries(catalogue.models).flatMap(([base, model]) => {
    const { retires } = model;
    if (retires !== undefined && retires < catalogue.date) return [];
    const [, line = '', ...version] = base.split('-');
    const name = `${line.charAt(0).toUpperCase()}${line.slice(1)} ${version.join('.')}`.trim();
    const window = `${model.window.toLocaleString('en')} tokens`;
    return [{ value: model.id ?? base, displayName: name, description: `Claude ${name}, a window of ${window}` }];
  });
}

const refuseIdle = (when: string): Promise<never> =>
  Promise.reject(new ClientProblem('refused', `nothing runs yet, or no more: ${when}`));

const refuse = (why: string) => (): Promise<never> => Promise.reject(new ClientProblem('refused', why));
const refuseSettings = refuse('settings of a query are its options: give them to the next one');

/** The methods that a query here does not support. */
const unsupported = {
  applyFlagSettings: refuseSettings,
  updateSettings: refuseSettings,
  readFile: refuse('read the file in the program, which is where the session works'),
  seedReadState: refuse('a file is read by a tool before it is changed'),
  setMcpPermissionModeOverride: refuse('give permission rules as allowedTools and disallowedTools'),
  readMcpResource: refuse('resources of servers are read by tools: mcp_resources'),
  reloadPlugins: refuse('there are no plugins'),
  backgroundTasks: refuse('a call goes to the background when the model asks for it'),
} satisfies Partial<Query>;
