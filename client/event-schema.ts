// The schema of the events that `query()`, `follow` and `--json` give (Q12).
// docs/events.v1.schema.json is made from it, and tests hold every collected event to it. A change
// that removes something or gives it another meaning needs another version.
import { z } from 'zod';
import {
  agents,
  wholeNumber,
  ends,
  notice,
  reasons,
  runEnded,
  steered,
  transition,
  usage,
  usd,
} from './event-parts.ts';

/**
 * Place of an event that an attempt of a step tells. Step 0 means that it is told from the
 * transcript.
 */
const place = { step: wholeNumber, attempt: wholeNumber };
const stepEvent = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape, ...place });
const iteration = wholeNumber;
const index = wholeNumber;

const stepEvents = [
  stepEvent('run_start', {
    run: wholeNumber,
    queryId: z.string(),
    depth: wholeNumber,
    cwd: z.string(),
    model: z.string(),
    window: wholeNumber.optional().describe('the model’s context window, in tokens'),
    scripted: z.boolean().describe('no real model is behind it'),
  }),
  stepEvent('user', { id: z.string(), text: z.string() }),
  stepEvent('transition', { iteration, reason: z.enum(reasons) }),
  stepEvent('notice', { notice }),
  stepEvent('steered', { steered }),
  stepEvent('request_start', { iteration, model: z.string() }),
  stepEvent('text_delta', { iteration, index, text: z.string() }),
  stepEvent('thinking_delta', { iteration, index, text: z.string() }),
  stepEvent('tool_use', { iteration, index, id: z.string(), name: z.string(), input: z.unknown() }),
  stepEvent('web_search', { iteration, index, query: z.string() }),
  stepEvent('tool_start', { iteration, index, name: z.string(), early: z.boolean() }),
  stepEvent('tool_progress', { iteration, index, text: z.string() }),
  stepEvent('tool_end', {
    iteration,
    index,
    name: z.string(),
    isError: z.boolean(),
    content: z.string(),
    durationMs: z.number(),
    untimed: z.literal(true).optional(),
  }),
  stepEvent('retry', { iteration, failures: wholeNumber, delayMs: z.number(), error: z.string() }),
  stepEvent('reply', {
    iteration,
    stopReason: z.string().nullable(),
    fate: z.enum(['whole', 'cut', 'interrupted']),
    head: z.string().optional().describe('it is stored under it, and what it calls may still run'),
    spend: z.strictObject({ usage, usd }).optional().describe('of all attempts of its call'),
  }),
  stepEvent('compaction_start', { iteration, trigger: z.enum(['auto', 'reactive', 'manual']) }),
  stepEvent('compaction_end', {
    iteration,
    before: wholeNumber,
    after: wholeNumber,
    kept: wholeNumber,
    summary: z.string(),
    signed: z.literal(true).optional().describe('the API made the summary'),
    keepsThinking: z
      .literal(true)
      .optional()
      .describe('thinking since is sent on to models that check what stood before it'),
  }),
  stepEvent('collapse_staged', { iteration, savings: z.array(z.number()).readonly() }),
  stepEvent('hook_start', { iteration, hook: z.string() }),
  stepEvent('hook_end', { iteration, hook: z.string(), result: z.string() }),
  stepEvent('run_end', { ended: runEnded, head: z.string() }),
  stepEvent('tombstone', {
    iteration: wholeNumber.nullable(),
    why: z.string().describe('everything that this attempt of this step told is void'),
    retold: z.literal(true).optional().describe('it is not void, and is told again'),
  }),
] as const;

export const resultSchema = z.strictObject({
  type: z.literal('result'),
  sessionId: z.string(),
  run: wholeNumber,
  reason: z.enum(ends),
  turns: wholeNumber,
  iterations: wholeNumber,
  transitions: z.array(transition).readonly(),
  text: z.string(),
  usage,
  costUsd: usd,
  agents: agents.optional(),
  durationMs: z.number(),
  detail: z.string().optional(),
  output: z.unknown().optional(),
});

/**
 * The events of this version of Perdure. It fails on unknown fields and types; other programs read
 * docs/events.v1.schema.json, which allows more.
 */
export const eventSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('session'), sessionId: z.string() }),
  ...stepEvents,
  z.strictObject({
    type: z.enum(['approval', 'question']),
    session: z.string(),
    call: z.string(),
    tool: z.string(),
    reason: z.string(),
    inputHash: z.string(),
    head: z.string(),
    index,
    askedAt: z.number().optional().describe('milliseconds since the epoch'),
    agent: z
      .strictObject({ session: z.string(), call: z.string(), path: z.array(z.string()).readonly() })
      .optional()
      .describe('it waits in the session of an agent; the titles on the way to it'),
    deadline: z
      .number()
      .describe('milliseconds since the epoch; then it counts as denied, and a question goes unanswered'),
    toolUseId: z.string().optional().describe('of the tool_use block; absent when the transcript cannot be read'),
    input: z.unknown(),
    problem: z.string().optional().describe('why the input is not known for certain'),
    question: z
      .strictObject({ options: z.array(z.string()).readonly().optional() })
      .optional()
      .describe('of a question: its text and its options stand in the input'),
  }),
  z.strictObject({ type: z.literal('approval_settled'), session: z.string(), call: z.string() }),
  resultSchema,
]);

export const EVENTS_VERSION = 1;

/**
 * Returns the JSON schema for readers of events, which pass over fields and types that a later
 * version adds.
 */
export function eventJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(eventSchema, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return {
    $schema,
    $id: `perdure/events.v${EVENTS_VERSION}.schema.json`,
    title: `An event of Perdure, version ${EVENTS_VERSION}`,
    ...schema,
  };
}
