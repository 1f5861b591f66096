// Bodies of requests about sessions and their events.
import { z } from 'zod';
import { mcpServers, model, pageQuery, skills, system, tools } from './agents.ts';
import { resources } from './files.ts';
import { flag, metadata, metadataPatch, moment, wholeNumber } from './parse.ts';

export const MOST_EVENTS = 50;
const MOST_BLOCKS = 1_000;

const version = z.int().min(1).optional();
export const agentReference = z.strictObject({ type: z.literal('agent'), id: z.string(), version });
const agent = z.union([
  z.string(),
  agentReference,
  z.strictObject({
    type: z.literal('agent_with_overrides'),
    id: z.string(),
    version,
    mcp_servers: mcpServers.optional(),
    model: model.optional(),
    skills: skills.optional(),
    system: system.nullable().optional(),
    tools: tools.optional(),
  }),
]);
export type AgentChoice = z.output<typeof agent>;

const base64 = z.strictObject({ type: z.literal('base64'), data: z.string(), media_type: z.string() });
const url = z.strictObject({ type: z.literal('url'), url: z.string() });
const file = z.strictObject({ type: z.literal('file'), file_id: z.string() });
const plainText = z.strictObject({ type: z.literal('text'), data: z.string(), media_type: z.literal('text/plain') });

const text = z.strictObject({ type: z.literal('text'), text: z.string() });
const image = z.strictObject({ type: z.literal('image'), source: z.discriminatedUnion('type', [base64, url, file]) });
const document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [base64, plainText, url, file]),
  context: z.string().nullable().optional(),
  title: z.string().nullable().optional(),
});
const block = z.discriminatedUnion('type', [text, image, document, z.strictObject({ type: z.literal('redacted') })]);
export type MessageBlock = z.output<typeof block>;

export const userMessage = z.strictObject({
  type: z.literal('user.message'),
  content: z.array(block).min(1).max(MOST_BLOCKS),
});

/** Characters. */
export const MOST_RUBRIC = 262_144;
const MOST_ITERATIONS = 20;

export const defineOutcome = z.strictObject({
  type: z.literal('user.define_outcome'),
  description: z.string().min(1),
  rubric: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), content: z.string().min(1).max(MOST_RUBRIC) }),
    z.strictObject({ type: z.literal('file'), file_id: z.string() }),
  ]),
  max_iterations: z.int().min(1).max(MOST_ITERATIONS).nullable().optional(),
});

export const userInterrupt = z.strictObject({
  type: z.literal('user.interrupt'),
  session_thread_id: z.string().nullable().optional(),
});

const confirmation = z.strictObject({
  type: z.literal('user.tool_confirmation'),
  tool_use_id: z.string(),
  result: z.enum(['allow', 'deny']),
  deny_message: z.string().nullable().optional(),
});

const searchResult = z.strictObject({
  type: z.literal('search_result'),
  citations: z.strictObject({ enabled: z.boolean() }),
  content: z.array(z.strictObject({ type: z.literal('text'), text: z.string() })),
  source: z.string(),
  title: z.string(),
});
const resultBlock = z.discriminatedUnion('type', [text, image, document, searchResult]);
export type ResultBlock = z.output<typeof resultBlock>;

const customResult = z.strictObject({
  type: z.literal('user.custom_tool_result'),
  custom_tool_use_id: z.string(),
  content: z.array(resultBlock).max(MOST_BLOCKS).optional(),
  is_error: z.boolean().nullable().optional(),
});

const toolResult = z.strictObject({
  type: z.literal('user.tool_result'),
  tool_use_id: z.string(),
  content: z.array(resultBlock).max(MOST_BLOCKS).optional(),
  is_error: z.boolean().nullable().optional(),
});

export const systemMessage = z.strictObject({
  type: z.literal('system.message'),
  content: z.array(text).min(1).max(MOST_BLOCKS),
});

const sentEvent = z.discriminatedUnion('type', [
  userMessage,
  defineOutcome,
  userInterrupt,
  confirmation,
  customResult,
  toolResult,
  systemMessage,
]);
export type SentEvent = z.output<typeof sentEvent>;

export const eventSend = z.strictObject({ events: z.array(sentEvent).min(1).max(MOST_EVENTS) });

const title = z.string().max(500).nullable().optional();

/** Cents, without leading zeros: up to a million US dollars. */
const amount = z.string().regex(/^(?:0|[1-9]\d{0,7}|100000000)$/, 'give whole cents from "0" to "100000000"');

export const budget = z.strictObject({
  type: z.literal('limit'),
  max_list_cost: z.strictObject({ amount, currency: z.literal('USD') }),
});

export const sessionCreate = z.strictObject({
  agent,
  environment_id: z.string(),
  budget: budget.optional(),
  initial_events: z
    .array(z.discriminatedUnion('type', [userMessage, defineOutcome]))
    .max(MOST_EVENTS)
    .optional(),
  metadata: metadata.optional(),
  resources: resources.optional(),
  title,
  vault_ids: z.array(z.string()).optional(),
});

export const sessionUpdate = z.strictObject({
  agent: z.strictObject({ mcp_servers: mcpServers.optional(), tools: tools.optional() }).optional(),
  budget: budget.nullable().optional(),
  metadata: metadataPatch.nullable().optional(),
  title,
  vault_ids: z.array(z.string()).optional(),
});

const order = z.enum(['asc', 'desc']).optional();
export const times = {
  'created_at[gt]': moment.optional(),
  'created_at[gte]': moment.optional(),
  'created_at[lt]': moment.optional(),
  'created_at[lte]': moment.optional(),
};

const status = z.enum(['rescheduling', 'running', 'idle', 'terminated']);
export type SessionStatus = z.output<typeof status>;

export const sessionList = pageQuery.extend({
  ...times,
  agent_id: z.string().optional(),
  agent_version: wholeNumber(1, 999_999_999).optional(),
  deployment_id: z.string().optional(),
  include_archived: flag.optional(),
  memory_store_id: z.string().optional(),
  order,
  statuses: z.array(status).optional(),
});

export const threadList = pageQuery.extend({ statuses: z.array(status).optional() });

export const eventList = pageQuery.extend({ ...times, order, types: z.array(z.string().max(100)).optional() });

const preview = z.enum(['agent.message', 'agent.thinking']);
export const eventStream = z.strictObject({ event_deltas: z.array(preview).max(100).optional() });

/** Tells whether a time in microseconds lies within the bounds of a query. */
export function isWithin(
  micros: number,
  bounds: { readonly [Bound in keyof typeof times]?: number | undefined },
): boolean {
  const { 'created_at[gt]': above, 'created_at[gte]': from, 'created_at[lt]': below, 'created_at[lte]': to } = bounds;
  return (
    micros > (above ?? -Infinity) &&
    micros >= (from ?? -Infinity) &&
    micros < (below ?? Infinity) &&
    micros <= (to ?? Infinity)
  );
}
