// Every path of the public API in one table (G6, G7): method, name and roles of each, or the
// capability that isn't served. Routes, tests and the tables in docs/managed.md follow from it.
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
const tokenOnly = ['session token'] as const;

const MEMORY = '/memory_stores/{memory_store_id}/memories/{memory_id}';
const CREDENTIAL = '/vaults/{vault_id}/credentials/{credential_id}';
const MEMORY_VERSION = '/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}';
const SKILL_VERSION = '/skills/{skill_id}/versions/{version}';

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
  route('sessions.resources.add', 'post', '/sessions/{session_id}/resources', 'steer'),
  route('sessions.resources.list', 'get', '/sessions/{session_id}/resources', 'look'),
  route('sessions.resources.retrieve', 'get', '/sessions/{session_id}/resources/{resource_id}', 'look'),
  route('sessions.resources.update', 'post', '/sessions/{session_id}/resources/{resource_id}', 'steer'),
  route('sessions.resources.delete', 'delete', '/sessions/{session_id}/resources/{resource_id}', 'steer'),
  route('sessions.threads.list', 'get', '/sessions/{session_id}/threads', 'look'),
  route('sessions.threads.retrieve', 'get', '/sessions/{session_id}/threads/{thread_id}', 'look'),
  route('sessions.threads.archive', 'post', '/sessions/{session_id}/threads/{thread_id}/archive', 'steer'),
  route('sessions.threads.events.list', 'get', '/sessions/{session_id}/threads/{thread_id}/events', 'look'),
  route('sessions.threads.events.stream', 'get', '/sessions/{session_id}/threads/{thread_id}/stream', 'look'),
  route('memoryStores.create', 'post', '/memory_stores', 'steer'),
  route('memoryStores.list', 'get', '/memory_stores', 'look'),
  route('memoryStores.retrieve', 'get', '/memory_stores/{memory_store_id}', 'look'),
  route('memoryStores.update', 'post', '/memory_stores/{memory_store_id}', 'steer'),
  route('memoryStores.delete', 'delete', '/memory_stores/{memory_store_id}', 'steer'),
  route('memoryStores.archive', 'post', '/memory_stores/{memory_store_id}/archive', 'steer'),
  route('memoryStores.memories.create', 'post', '/memory_stores/{memory_store_id}/memories', 'steer', tokenOnly),
  route('memoryStores.memories.list', 'get', '/memory_stores/{memory_store_id}/memories', 'look', tokenOnly),
  route('memoryStores.memories.retrieve', 'get', MEMORY, 'look', tokenOnly),
  route('memoryStores.memories.update', 'post', MEMORY, 'steer', tokenOnly),
  route('memoryStores.memories.delete', 'delete', MEMORY, 'steer', tokenOnly),
  route('memoryStores.memoryVersions.list', 'get', '/memory_stores/{memory_store_id}/memory_versions', 'look'),
  route('memoryStores.memoryVersions.retrieve', 'get', MEMORY_VERSION, 'look'),
  route('memoryStores.memoryVersions.redact', 'post', `${MEMORY_VERSION}/redact`, 'steer'),
  route('vaults.create', 'post', '/vaults', 'steer'),
  route('vaults.list', 'get', '/vaults', 'look'),
  route('vaults.retrieve', 'get', '/vaults/{vault_id}', 'look'),
  route('vaults.update', 'post', '/vaults/{vault_id}', 'steer'),
  route('vaults.delete', 'delete', '/vaults/{vault_id}', 'steer'),
  route('vaults.archive', 'post', '/vaults/{vault_id}/archive', 'steer'),
  route('vaults.credentials.create', 'post', '/vaults/{vault_id}/credentials', 'steer'),
  route('vaults.credentials.list', 'get', '/vaults/{vault_id}/credentials', 'look'),
  route('vaults.credentials.retrieve', 'get', CREDENTIAL, 'look'),
  route('vaults.credentials.update', 'post', CREDENTIAL, 'steer'),
  route('vaults.credentials.delete', 'delete', CREDENTIAL, 'steer'),
  route('vaults.credentials.archive', 'post', `${CREDENTIAL}/archive`, 'steer'),
  route('vaults.credentials.mcpOAuthValidate', 'post', `${CREDENTIAL}/mcp_oauth_validate`, 'steer'),
  route('files.upload', 'post', '/files', 'steer'),
  route('files.list', 'get', '/files', 'look'),
  route('files.retrieveMetadata', 'get', '/files/{file_id}', 'look'),
  route('files.download', 'get', '/files/{file_id}/content', 'look'),
  route('files.delete', 'delete', '/files/{file_id}', 'steer'),
  route('deployments.create', 'post', '/deployments', 'steer'),
  route('deployments.list', 'get', '/deployments', 'look'),
  route('deployments.retrieve', 'get', '/deployments/{deployment_id}', 'look'),
  route('deployments.update', 'post', '/deployments/{deployment_id}', 'steer'),
  route('deployments.archive', 'post', '/deployments/{deployment_id}/archive', 'steer'),
  route('deployments.pause', 'post', '/deployments/{deployment_id}/pause', 'steer'),
  route('deployments.unpause', 'post', '/deployments/{deployment_id}/unpause', 'steer'),
  route('deployments.run', 'post', '/deployments/{deployment_id}/run', 'steer'),
  route('deploymentRuns.list', 'get', '/deployment_runs', 'look'),
  route('deploymentRuns.retrieve', 'get', '/deployment_runs/{deployment_run_id}', 'look'),
  route('skills.create', 'post', '/skills', 'steer'),
  route('skills.list', 'get', '/skills', 'look'),
  route('skills.retrieve', 'get', '/skills/{skill_id}', 'look'),
  route('skills.delete', 'delete', '/skills/{skill_id}', 'steer'),
  route('skills.versions.create', 'post', '/skills/{skill_id}/versions', 'steer'),
  route('skills.versions.list', 'get', '/skills/{skill_id}/versions', 'look'),
  route('skills.versions.retrieve', 'get', SKILL_VERSION, 'look', tokenOnly),
  route('skills.versions.download', 'get', `${SKILL_VERSION}/content`, 'look', tokenOnly),
  route('skills.versions.delete', 'delete', SKILL_VERSION, 'steer'),
  route('models.list', 'get', '/models', 'look'),
  route('models.retrieve', 'get', '/models/{model_id}', 'look'),
] as const;

/** Routes that Perdure adds to the API, below `/x/perdure` (G85). */
export const ownRoutes = [
  route('perdure.environments.keys', 'post', '/x/perdure/environments/{environment_id}/keys', 'steer'),
  route('perdure.refused', 'get', '/x/perdure/sessions/{session_id}/refused', 'look'),
  route('perdure.fence', 'get', '/x/perdure/sessions/{session_id}/fence', null, anyWorker),
  route('perdure.fenced', 'post', '/x/perdure/sessions/{session_id}/fence', null, anyWorker),
] as const;

export type ServedRoute = (typeof servedRoutes)[number] | (typeof ownRoutes)[number];
export type ServedName = ServedRoute['name'];

/** A capability that is refused by name; `/*` stands for everything below. */
export type RefusedPaths = { readonly capability: string; readonly paths: readonly string[] };

export const refusedPaths: readonly RefusedPaths[] = [
  { capability: 'messages', paths: ['/messages', '/messages/*'] },
  { capability: 'completions', paths: ['/complete'] },
  { capability: 'dreams', paths: ['/dreams', '/dreams/*'] },
  { capability: 'tunnels', paths: ['/tunnels', '/tunnels/*'] },
  { capability: 'userProfiles', paths: ['/user_profiles', '/user_profiles/*'] },
  { capability: 'organization', paths: ['/organizations/*'] },
];

/** Writes a path in the router's form. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');
