// The exports of `perdure/testing`: test an agent with its tools in milliseconds, and once for real
// (Q6).
import '../../system/process/supported.ts';
export { runInMemory } from './run-in-memory.ts';
export type { InMemory, InMemoryDeps, RanInMemory } from './run-in-memory.ts';
export { replay, testEnvironment } from './environment.ts';
export type { ReplayOptions, TestEnvironment, TestEnvironmentOptions } from './environment.ts';
export {
  fault,
  gate,
  lastUserText,
  reply,
  startScriptedModel,
  systemText,
  text,
  thinking,
  toolResults,
  toolUse,
} from '../../scripted-model/index.ts';
export type {
  AccountOptions,
  CacheOptions,
  DeclinedReply,
  Fault,
  ParsedRequest,
  RecordedRequest,
  Reply,
  ReplyBlock,
  ReplyUsage,
  RequestCondition,
  RequestRetention,
  ResponseEnd,
  Script,
  ScriptData,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptFunction,
  SearchResult,
  ThinkingDisplay,
  ToolResult,
} from '../../scripted-model/index.ts';
export type { Summarizer } from '../../activities/deps.ts';
