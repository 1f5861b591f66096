// The exports of `perdure/worker`: a worker of one's own, and the types of its configuration.
import '../system/process/supported.ts';
export { openWorker as createWorker } from './open-worker.ts';
export type { OpenWorker as CreateWorker } from './open-worker.ts';
export { startWorker } from './start-worker.ts';
export type { RunningWorker, StartWorker } from './start-worker.ts';
export { checkConfig, ConfigProblem, defineConfig } from './config/config.ts';
export type { PerdureConfig, ToolSource } from './config/config.ts';
export { loadConfig } from './config/load-config.ts';
export type { LoadedConfig } from './config/load-config.ts';
export type { Log, LogFields, LogLevel } from '../system/log.ts';
export type { AttachmentContext, AttachmentProvider } from '../activities/attachments/prefetch.ts';
export type { AfterStopHandler, EndedRun } from '../activities/deps.ts';
export type {
  CommandHook,
  FunctionHook,
  Hook,
  HookAnswers,
  HookConfig,
  HookFunction,
  HookInput,
} from '../activities/hooks/hook-config.ts';
export type { HookName } from '../activities/hooks/payloads.ts';
