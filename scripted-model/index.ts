// The scripted model server: everything a test, a bench, the CLI or the demo takes from it.
export { fault, gate, reply, text, thinking, toolUse } from './script-words.ts';
export { DEMO_TASK, demoScript, isDemoTask } from './demo/demo-script.ts';
export { loadScript, parseScript } from './script-format.ts';
export { lastUserText, systemText, toolResults } from './read-request.ts';
export type { ToolResult } from './read-request.ts';
export type { RequestRetention, RecordedRequest } from './recorder.ts';
export type * from './script.ts';
export { startScriptedModel } from './server.ts';
export type { ScriptedModel, ScriptedModelOptions } from './server.ts';
export type { ThinkingDisplay } from './answer/message-for.ts';
export type { ResponseEnd } from './answer/playback.ts';
export type { CacheOptions } from './prompt-cache.ts';
