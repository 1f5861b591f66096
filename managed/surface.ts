// Every path of the public API in one table (G6, G7): what is served, by which role, and the name
// of the capability where it is not. Routes, tests and the table in docs/managed.md follow from it.
import type { Role } from '../page/hosting/people.ts';

export type Method = 'get' | 'post' | 'delete';

/** A worker of a self-hosted environment: with the environment's key, or the token of its lease. */
export type Worker = 'environment key' | 'session token';

/**
 * `name` is the SDK's method below `client.beta`; `path` stands below `/v1`. `role`: null where no
 * person may. `workers`: the credentials of workers that may, besides people.
 */
const route = <Name extends string>(
  name: Name,
  method: Method,
  path: string,
  role: Role | null,
  workers: readonly Worker[] = [],
) => ({ name, method, path, role, workers }) as const;

const anyWorker = ['environment key', 'session token'] as const;
const keyOnly = ['environment key'] as const;

export const servedRoutes = [
  route('agents.create', 'post', '/agents', 'steer'),
  route('agents.list', 'get', '/agents', 'look'),
  route('agents.retrieve', 'get', '/agents/{agent_id}', 'look'),
  route('agents.update', 'post', '/agents/{agent_id}', 'steer'),
  route('agents.archive', 'post', '/agents/{agent_id}/archive', 'steer'),
  route('agents.versions.list', 'get', '/agents/{agent_id}/versions', 'look'),
  route('environments.create', 'post', '/environments', 'steer'),
  route('environments.list', 'get', '/environments', 'look'),
  route('environments.retrieve', 'get', '/environments/{environment_id}', 'look'),
  route('environments.update', 'post', '/environments/{environment_id}', 'steer'),
  route('environments.delete', 'delete', '/environments/{environment_id}', 'steer'),
  route('environments.archive', 'post', '/environments/{environment_id}/archive', 'steer'),
  route('environments.work.poll', 'get', '/environments/{environment_id}/work/poll', null, keyOnly),
  route('environments.work.stats', 'get', '/environments/{environment_id}/work/stats', 'look', keyOnly),
  route('environments.work.list', 'get', '/environments/{environment_id}/work', null, keyOnly),
  route('environments.work.retrieve', 'get', '/environments/{environment_id}/work/{work_id}', 'look'),
  route('environments.work.update', 'post', '/environments/{environment_id}/work/{work_id}', 'steer'),
  route('environments.work.ack', 'post', '/environments/{environment_id}/work/{work_id}/ack', null, anyWorker),
  route(
    'environments.work.heartbeat',
    'post',
    '/environments/{environment_id}/work/{work_id}/heartbeat',
    null,
    anyWorker,
  ),
  route('environments.work.stop', 'post', '/environments/{environment_id}/work/{work_id}/stop', 'steer', anyWorker),
  route('sessions.create', 'post', '/sessions', 'steer'),
  route('sessions.list', 'get', '/sessions', 'look'),
  route('sessions.retrieve', 'get', '/sessions/{session_id}', 'look', anyWorker),
  route('sessions.update', 'post', '/sessions/{session_id}', 'steer'),
  route('sessions.delete', 'delete', '/sessions/{session_id}', 'steer'),
  route('sessions.archive', 'post', '/sessions/{session_id}/archive', 'steer'),
  route('sessions.events.list', 'get', '/sessions/{session_id}/events', 'look', anyWorker),
  route('sessions.events.send', 'post', '/sessions/{session_id}/events', 'decide', anyWorker),
  route('sessions.events.stream', 'get', '/sessions/{session_id}/events/stream', 'look', anyWorker),
  route('sessions.threads.list', 'get', '/sessions/{session_id}/threads', 'look'),
  route('sessions.threads.retrieve', 'get', '/sessions/{session_id}/threads/{thread_id}', 'look'),
  route('sessions.threads.archive', 'post', '/sessions/{session_id}/threads/{thread_id}/archive', 'steer'),
  route('sessions.threads.events.list', 'get', '/sessions/{session_id}/threads/{thread_id}/events', 'look'),
  route('sessions.threads.events.stream', 'get', '/sessions/{session_id}/threads/{thread_id}/stream', 'look'),
] as const;

/** Routes that Perdure adds to the API, below `/x/perdure` (G85). */
export const ownRoutes = [
  route('perdure.environments.keys', 'post', '/x/perdure/environments/{environment_id}/keys', 'steer'),
  route('perdure.refused', 'get', '/x/perdure/sessions/{session_id}/refused', 'look'),
  route('perdure.fence', 'get', '/x/perdure/sessions/{session_id}/fence', null, anyWorker),
] as const;

export type ServedRoute = (typeof servedRoutes)[number] | (typeof ownRoutes)[number];
export type ServedName = ServedRoute['name'];

/** A capability that is refused by name; `/*` stands for everything below. */
export type RefusedPaths = { readonly capability: string; readonly paths: readonly string[] };

export const refusedPaths: readonly RefusedPaths[] = [
  {
    capability: 'sessions.resources',
    paths: ['/sessions/{session_id}/resources', '/sessions/{session_id}/resources/*'],
  },
  { capability: 'skills', paths: ['/skills', '/skills/*'] },
  { capability: 'files', paths: ['/files', '/files/*'] },
  { capability: 'memoryStores', paths: ['/memory_stores', '/memory_stores/*'] },
  { capability: 'vaults', paths: ['/vaults', '/vaults/*'] },
  { capability: 'deployments', paths: ['/deployments', '/deployments/*'] },
  { capability: 'deploymentRuns', paths: ['/deployment_runs', '/deployment_runs/*'] },
  { capability: 'models', paths: ['/models', '/models/*'] },
  { capability: 'messages', paths: ['/messages', '/messages/*'] },
  { capability: 'completions', paths: ['/complete'] },
  { capability: 'dreams', paths: ['/dreams', '/dreams/*'] },
  { capability: 'tunnels', paths: ['/tunnels', '/tunnels/*'] },
  { capability: 'userProfiles', paths: ['/user_profiles', '/user_profiles/*'] },
  { capability: 'organization', paths: ['/organizations/*'] },
];

/** Writes a path in the router's form. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');
