// The schema of the hooks in a configuration: each is a function, or an object with either `run` or
// `command`.
import { z } from 'zod';
import type { HookName } from '../../activities/hooks/payloads.ts';
import { nameSchema, functionSchema, millisecondsSchema } from './schema-parts.ts';

const workFields = {
  run: functionSchema.optional(),
  command: z.union([z.array(z.string().min(1)).min(1), z.string().min(1)]).optional(),
  sandbox: z.boolean().optional(),
};

type HookWork = Partial<Readonly<Record<'run' | 'command' | 'sandbox' | 'transcript', unknown>>>;

const hasOneWork = (work: HookWork): boolean => (work.run === undefined) !== (work.command === undefined);
const ONE_WORK = 'it needs exactly one of "run" (a function) and "command"';
const hasCommandForSandbox = (work: HookWork): boolean => work.sandbox === undefined || work.command !== undefined;
const SANDBOX_NEEDS_COMMAND = '"sandbox" goes with "command"';

/** Makes the schema of a list of hooks. `minutes` is the longest time of one. */
function hookListSchema(minutes: number) {
  const hook = z
    .strictObject({ name: nameSchema.optional(), timeoutMs: millisecondsSchema(minutes).optional(), ...workFields })
    .refine(hasOneWork, ONE_WORK)
    .refine(hasCommandForSandbox, SANDBOX_NEEDS_COMMAND);
  return z.array(z.union([functionSchema, hook])).optional();
}

const canReachTranscript = (work: HookWork): boolean => work.transcript !== true || work.sandbox !== true;
const NO_TRANSCRIPT_IN_SANDBOX = '"transcript" does not go with "sandbox", which would keep the file out of its reach';

const stopHook = z
  .strictObject({
    name: nameSchema.optional(),
    timeoutMs: millisecondsSchema(24 * 60).optional(),
    transcript: z.boolean().optional(),
    ...workFields,
  })
  .refine(hasOneWork, ONE_WORK)
  .refine(hasCommandForSandbox, SANDBOX_NEEDS_COMMAND)
  .refine(canReachTranscript, NO_TRANSCRIPT_IN_SANDBOX);

const silentHook = z
  .strictObject({
    name: nameSchema.optional(),
    timeoutMs: millisecondsSchema(5).optional(),
    afterMs: millisecondsSchema(24 * 60).optional(),
    ...workFields,
  })
  .refine(hasOneWork, ONE_WORK)
  .refine(hasCommandForSandbox, SANDBOX_NEEDS_COMMAND);

const tools = z.array(z.string().min(1)).min(1).optional();

const toolHook = z
  .strictObject({
    name: nameSchema.optional(),
    timeoutMs: millisecondsSchema(24 * 60).optional(),
    tools,
    ...workFields,
  })
  .refine(hasOneWork, ONE_WORK)
  .refine(hasCommandForSandbox, SANDBOX_NEEDS_COMMAND);

const toolHooks = z.array(z.union([functionSchema, toolHook])).optional();
const hooks = hookListSchema(24 * 60);
/** Hooks of opening and closing a session, which is short work. */
const shortHooks = hookListSchema(5);

export const hooksSchema = z.strictObject({
  sessionStart: shortHooks,
  promptSubmitted: hooks,
  preTool: toolHooks,
  postTool: toolHooks,
  postSampling: hooks,
  preCompact: hooks,
  postCompact: hooks,
  stop: z.array(z.union([functionSchema, stopHook])).optional(),
  agentIdle: hooks,
  sessionEnd: shortHooks,
  waiting: shortHooks,
  failed: shortHooks,
  agentEnded: shortHooks,
  silent: z.array(z.union([functionSchema, silentHook])).optional(),
} satisfies Readonly<Record<HookName, unknown>>);
