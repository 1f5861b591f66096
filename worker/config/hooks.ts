// The schema of the hooks in a configuration: a function, or an object with either `run` or `command`.
import { z } from 'zod';
import type { HookName } from '../../activities/hooks/hooks.ts';
import { nameSchema, run, upTo } from './tools.ts';

const work = {
  run: run.optional(),
  command: z.union([z.array(z.string().min(1)).min(1), z.string().min(1)]).optional(),
  sandbox: z.boolean().optional(),
};

type Work = { readonly run?: unknown; readonly command?: unknown; readonly sandbox?: unknown };

const one = (given: Work): boolean => (given.run === undefined) !== (given.command === undefined);
const said = 'it needs exactly one of "run" (a function) and "command"';
const heldIsCommand = (given: Work): boolean => given.sandbox === undefined || given.command !== undefined;
const saidOfHeld = '"sandbox" goes with "command"';

/** `minutes`: its longest time. */
function hooksOf(minutes: number) {
  const hook = z
    .strictObject({ name: nameSchema.optional(), timeoutMs: upTo(minutes).optional(), ...work })
    .refine(one, said)
    .refine(heldIsCommand, saidOfHeld);
  return z.array(z.union([run, hook])).optional();
}

const tools = z.array(z.string().min(1)).min(1).optional();

const toolHook = z
  .strictObject({ name: nameSchema.optional(), timeoutMs: upTo(24 * 60).optional(), tools, ...work })
  .refine(one, said)
  .refine(heldIsCommand, saidOfHeld);

const toolHooks = z.array(z.union([run, toolHook])).optional();
const hooks = hooksOf(24 * 60);
/** Opening and closing a session is short work. */
const shortHooks = hooksOf(5);

export const hooksSchema = z.strictObject({
  sessionStart: shortHooks,
  promptSubmitted: hooks,
  preTool: toolHooks,
  postTool: toolHooks,
  postSampling: hooks,
  preCompact: hooks,
  postCompact: hooks,
  stop: hooks,
  sessionEnd: shortHooks,
  waiting: shortHooks,
  failed: shortHooks,
} satisfies Readonly<Record<HookName, unknown>>);
