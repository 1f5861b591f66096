// The SDK's types judge the schemas of bodies at build time (G90): a field that an update of the SDK
// adds, drops or changes is an error here. What is refused by name whatever it holds is listed.
import type { z } from 'zod';
import type { AgentCreateParams, AgentUpdateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import type { DeploymentCreateParams, DeploymentUpdateParams } from '@anthropic-ai/sdk/resources/beta/deployments';
import type { EnvironmentCreateParams, EnvironmentUpdateParams } from '@anthropic-ai/sdk/resources/beta/environments';
import type {
  BetaManagedAgentsEventParams,
  SessionCreateParams,
  SessionUpdateParams,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import type { ResourceAddParams } from '@anthropic-ai/sdk/resources/beta/sessions/resources';
import type {
  MemoryCreateParams,
  MemoryStoreCreateParams,
  MemoryStoreUpdateParams,
  MemoryUpdateParams,
} from '@anthropic-ai/sdk/resources/beta/memory-stores';
import type { VaultCreateParams, VaultUpdateParams } from '@anthropic-ai/sdk/resources/beta/vaults';
import type {
  CredentialCreateParams,
  CredentialUpdateParams,
} from '@anthropic-ai/sdk/resources/beta/vaults/credentials';
import type { agentCreate, agentUpdate } from '../../managed/shapes/agents.ts';
import type { deploymentCreate, deploymentUpdate } from '../../managed/shapes/deployments.ts';
import type { environmentCreate, environmentUpdate } from '../../managed/shapes/environments.ts';
import type { resourceAdd } from '../../managed/shapes/files.ts';
import type {
  memoryCreate,
  memoryStoreCreate,
  memoryStoreUpdate,
  memoryUpdate,
} from '../../managed/shapes/memory-stores.ts';
import type { SentEvent, sessionCreate, sessionUpdate } from '../../managed/shapes/sessions.ts';
import type { credentialCreate, credentialUpdate, vaultCreate, vaultUpdate } from '../../managed/shapes/vaults.ts';

/** A value as JSON carries it: an optional field is there or not. */
type Sent<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? Sent<Item>[]
    : T extends object
      ? { [Key in keyof T]: Sent<Exclude<T[Key], undefined>> }
      : T;

type Same<A, B> = [Sent<A>] extends [Sent<B>] ? ([Sent<B>] extends [Sent<A>] ? true : false) : false;

/** Both take the same values, apart from the fields that are refused by name. */
type Held<Schema extends z.ZodType, Params, Refused extends string = never> = [
  Same<Omit<z.input<Schema>, Refused>, Omit<Params, 'betas' | 'workspace_id' | Refused>>,
  Same<keyof z.input<Schema>, Exclude<keyof Params, 'betas' | 'workspace_id'>>,
];

/** Refused by name, whatever it holds. */
type Served<Auth extends { type: string }> = Exclude<Auth, { type: 'environment_variable' }>;

type Events = Extract<BetaManagedAgentsEventParams, { type: SentEvent['type'] }>;

export const held: {
  readonly agentCreate: Held<typeof agentCreate, AgentCreateParams>;
  readonly agentUpdate: Held<typeof agentUpdate, AgentUpdateParams>;
  readonly environmentCreate: Held<typeof environmentCreate, EnvironmentCreateParams>;
  readonly environmentUpdate: Held<typeof environmentUpdate, EnvironmentUpdateParams>;
  readonly sessionCreate: Held<typeof sessionCreate, SessionCreateParams, 'resources'>;
  readonly sessionUpdate: Held<typeof sessionUpdate, SessionUpdateParams>;
  readonly deploymentCreate: Held<typeof deploymentCreate, DeploymentCreateParams, 'resources'>;
  readonly deploymentUpdate: Held<typeof deploymentUpdate, DeploymentUpdateParams, 'resources'>;
  readonly resourceAdd: Held<typeof resourceAdd, ResourceAddParams>;
  readonly memoryStoreCreate: Held<typeof memoryStoreCreate, MemoryStoreCreateParams>;
  readonly memoryStoreUpdate: Held<typeof memoryStoreUpdate, MemoryStoreUpdateParams>;
  readonly memoryCreate: Held<typeof memoryCreate, Omit<MemoryCreateParams, 'view'>>;
  readonly memoryUpdate: Held<typeof memoryUpdate, Omit<MemoryUpdateParams, 'view' | 'memory_store_id'>>;
  readonly vaultCreate: Held<typeof vaultCreate, VaultCreateParams>;
  readonly vaultUpdate: Held<typeof vaultUpdate, VaultUpdateParams>;
  readonly credentialCreate: Held<typeof credentialCreate, CredentialCreateParams, 'auth'>;
  readonly newAuth: Same<Served<z.input<typeof credentialCreate>['auth']>, Served<CredentialCreateParams['auth']>>;
  readonly credentialUpdate: Held<typeof credentialUpdate, Omit<CredentialUpdateParams, 'vault_id'>, 'auth'>;
  readonly authUpdate: Same<
    Served<NonNullable<z.input<typeof credentialUpdate>['auth']>>,
    Served<NonNullable<CredentialUpdateParams['auth']>>
  >;
  readonly events: [Same<SentEvent, Events>, true];
} = {
  agentCreate: [true, true],
  agentUpdate: [true, true],
  environmentCreate: [true, true],
  environmentUpdate: [true, true],
  sessionCreate: [true, true],
  sessionUpdate: [true, true],
  deploymentCreate: [true, true],
  deploymentUpdate: [true, true],
  resourceAdd: [true, true],
  memoryStoreCreate: [true, true],
  memoryStoreUpdate: [true, true],
  memoryCreate: [true, true],
  memoryUpdate: [true, true],
  vaultCreate: [true, true],
  vaultUpdate: [true, true],
  credentialCreate: [true, true],
  newAuth: true,
  credentialUpdate: [true, true],
  authUpdate: true,
  events: [true, true],
};
