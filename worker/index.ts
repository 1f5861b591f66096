// The exports of `perdure/worker`: a worker of one's own, and the types of its configuration.
import '../system/process/supported.ts';
export { openWorker as createWorker } from './open-worker.ts';
export type { CreateWorker } from './open-worker.ts';
export type { RunningWorker } from './start-worker.ts';
export { checkConfig, ConfigProblem, defineConfig } from './config/config.ts';
export type { ManagedSettings, PerdureConfig, ToolSource } from './config/config.ts';
export type { Versioning, WorkerDeployment } from './config/deployment.ts';
export { loadConfig } from './config/load-config.ts';
export type { LoadedConfig } from './config/load-config.ts';
export type { Log, LogFields, LogLevel } from '../system/log.ts';
export type { AttachmentContext, AttachmentProvider } from '../activities/attachments/prefetch.ts';
export type { AfterStopHandler, EndedRun, WebhookEndpoint } from '../activities/deps.ts';
export type {
  CommandHook,
  FunctionHook,
  Hook,
  HookAnswers,
  HookConfig,
  HookFunction,
  HookInput,
} from '../activities/hooks/hook-config.ts';
export type { AlertKind, WaitingCall } from '../workflows/contract/told.ts';
export type { WebhookType } from '../workflows/contract/webhooks.ts';
export type { HookCallFacts, HookName, HookPayloads } from '../activities/hooks/payloads.ts';
export type { AgentLimits, AgentType, AgentTypeLimits } from '../tools/agent-types.ts';
export type { KeyAgent, WebSettings } from '../tools/builtin/files/options.ts';
export type {
  AnswerServer,
  HttpServer,
  KnownServer,
  KnownServers,
  McpHeaders,
  McpServer,
  McpServers,
  ServerAnswer,
  ServerQuestion,
  StdioServer,
} from '../tools/mcp/servers.ts';
export type { FieldNames, ToolNames, WebSearchSettings } from '../store/configuration.ts';
export type { ModelFacts, ModelTable, ThinkingKind } from '../store/model-facts.ts';
export type { SnapshotCaps } from '../store/snapshots/capture-folder.ts';
export type { HostSettings } from './config/session-host.ts';
export type { SnapshotSettings } from '../store/snapshots/take-snapshot.ts';
export type { CompactionRules, ModelPrice } from '../workflows/contract/loop.ts';
export type { SandboxConfig } from './config/schema-parts.ts';
