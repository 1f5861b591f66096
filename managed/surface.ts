// Every path of the public API in one table (G6, G7): what is served, by which role, and the name
// of the capability where it is not. Routes, tests and the table in docs/managed.md follow from it.
import type { Role } from '../page/hosting/people.ts';

export type Method = 'get' | 'post' | 'delete';

/** `name` is the SDK's method below `client.beta`; `path` stands below `/v1`. */
const route = <Name extends string>(name: Name, method: Method, path: string, role: Role) =>
  ({ name, method, path, role }) as const;

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
  route('sessions.create', 'post', '/sessions', 'steer'),
  route('sessions.list', 'get', '/sessions', 'look'),
  route('sessions.retrieve', 'get', '/sessions/{session_id}', 'look'),
  route('sessions.update', 'post', '/sessions/{session_id}', 'steer'),
  route('sessions.delete', 'delete', '/sessions/{session_id}', 'steer'),
  route('sessions.archive', 'post', '/sessions/{session_id}/archive', 'steer'),
  route('sessions.events.list', 'get', '/sessions/{session_id}/events', 'look'),
  route('sessions.events.send', 'post', '/sessions/{session_id}/events', 'decide'),
  route('sessions.events.stream', 'get', '/sessions/{session_id}/events/stream', 'look'),
] as const;

export type ServedName = (typeof servedRoutes)[number]['name'];

/** A capability that is refused by name; `/*` stands for everything below. */
export type RefusedPaths = { readonly capability: string; readonly paths: readonly string[] };

export const refusedPaths: readonly RefusedPaths[] = [
  {
    capability: 'environments.work',
    paths: ['/environments/{environment_id}/work', '/environments/{environment_id}/work/*'],
  },
  {
    capability: 'sessions.resources',
    paths: ['/sessions/{session_id}/resources', '/sessions/{session_id}/resources/*'],
  },
  { capability: 'sessions.threads', paths: ['/sessions/{session_id}/threads', '/sessions/{session_id}/threads/*'] },
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
