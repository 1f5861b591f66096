// The schema of the hooks in a configuration: a function, or an object with either `run` or
// `command`.
import { z } from 'zod';
import type { HookName } from '../../activities/hooks/payloads.ts';
import { nameSchema, run, upTo } from './tools.ts';

const work = {
  run: run.optional(),
  command: z.union([z.array(z.string().min(1)).min(1), z.string().min(1)]).optional(),
  sandbox: z.boolean().optional(),
};

type Work = Partial<Readonly<Record<'run' | 'command' | 'sandbox' | 'transcript', unknown>>>;

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

const heldIsBlind = (given: Work): boolean => given.transcript !== true || given.sandbox !== true;
const saidOfBlind = '"transcript" does not go with "sandbox", which would keep the file out of its reach';

const stopHook = z
  .strictObject({
    name: nameSchema.optional(),
    timeoutMs: upTo(24 * 60).optional(),
    transcript: z.boolean().optional(),
    ...work,
  })
  .refine(one, said)
  .refine(heldIsCommand, saidOfHeld)
  .refine(heldIsBlind, saidOfBlind);

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
  stop: z.array(z.union([run, stopHook])).optional(),
  agentIdle: hooks,
  sessionEnd: shortHooks,
  waiting: shortHooks,
  failed: shortHooks,
  agentEnded: shortHooks,
} satisfies Readonly<Record<HookName, unknown>>);
