// Bodies of requests about agents. The compiler holds them to the SDK's types
// (test/managed/sdk-types.ts, G90).
import { z } from 'zod';
import { MOST_ROSTER } from '../../client/faces/outside.ts';
import { PAGE_BOUNDS } from '../pages.ts';
import { flag, metadata, metadataPatch, moment, wholeNumber } from './parse.ts';

const LONGEST_SYSTEM = 100_000;
const MOST_TOOLS = 128;
const LONGEST_TOOL = 128;
/** Tools of one MCP server, as many as it may have. */
const MOST_CONFIGS = 200;

const level = z.enum(['low', 'medium', 'high', 'xhigh', 'max']);

const modelConfig = z.strictObject({
  id: z.string().min(1).max(200),
  effort: z
    .union([level, z.strictObject({ type: level })])
    .nullable()
    .optional(),
  inference_geo: z.string().nullable().optional(),
  speed: z.enum(['standard', 'fast']).nullable().optional(),
});
export const model = z.union([z.string().min(1).max(200), modelConfig]);

const policy = z.strictObject({ type: z.enum(['always_allow', 'always_ask', 'auto']) });
const rules = { enabled: z.boolean().nullable().optional(), permission_policy: policy.nullable().optional() };
const domains = z.array(z.string()).optional();

const toolConfig = <Name extends string>(name: Name) =>
  z.strictObject({ name: z.literal(name), type: z.literal(name).optional(), ...rules });

const tool = z.strictObject({ name: z.string(), type: z.literal('tool_reference') });
const listed = { tools: z.array(tool) };
const shorthand = z.enum(['all', 'none']);
const fromUser = z.union([shorthand, z.strictObject({ type: shorthand })]);
const fromTools = z.union([
  shorthand,
  z.strictObject({ type: shorthand }),
  z.strictObject({ type: z.literal('only'), ...listed }),
  z.strictObject({ type: z.literal('except'), ...listed }),
]);

const configs = z.discriminatedUnion('name', [
  toolConfig('bash'),
  toolConfig('edit'),
  toolConfig('read'),
  toolConfig('write'),
  toolConfig('glob'),
  toolConfig('grep'),
  toolConfig('web_fetch').extend({
    allowed_domains: domains,
    blocked_domains: domains,
    max_content_tokens: z.number().nullable().optional(),
    url_sources: z
      .strictObject({
        client_tool_results: fromTools.nullable().optional(),
        server_tool_results: fromTools.nullable().optional(),
        user_input: fromUser.nullable().optional(),
      })
      .nullable()
      .optional(),
  }),
  toolConfig('web_search').extend({
    allowed_domains: domains,
    blocked_domains: domains,
    user_location: z
      .strictObject({
        type: z.literal('approximate'),
        city: z.string().nullable().optional(),
        country: z.string().nullable().optional(),
        region: z.string().nullable().optional(),
        timezone: z.string().nullable().optional(),
      })
      .nullable()
      .optional(),
  }),
]);

export const toolset = z.strictObject({
  type: z.literal('agent_toolset_20260401'),
  configs: z.array(configs).max(MOST_TOOLS).optional(),
  default_config: z.strictObject(rules).nullable().optional(),
});

export const mcpToolset = z.strictObject({
  type: z.literal('mcp_toolset'),
  mcp_server_name: z.string(),
  configs: z
    .array(z.strictObject({ name: z.string().min(1).max(LONGEST_TOOL), ...rules }))
    .max(MOST_CONFIGS)
    .optional(),
  default_config: z.strictObject(rules).nullable().optional(),
});

const customTool = z.strictObject({
  type: z.literal('custom'),
  name: z.string(),
  description: z.string(),
  input_schema: z.looseObject({
    type: z.literal('object'),
    properties: z.record(z.string(), z.unknown()).nullable().optional(),
    required: z.array(z.string()).nullable().optional(),
  }),
});

export const tools = z.array(z.discriminatedUnion('type', [toolset, mcpToolset, customTool])).max(MOST_TOOLS);

const skill = (type: 'anthropic' | 'custom') =>
  z.strictObject({ type: z.literal(type), skill_id: z.string(), version: z.string().nullable().optional() });
export const skills = z.array(z.discriminatedUnion('type', [skill('anthropic'), skill('custom')])).max(MOST_TOOLS);

export const mcpServers = z
  .array(z.strictObject({ type: z.literal('url'), name: z.string(), url: z.string() }))
  .max(20);

const identity = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('service_account') }),
  z.strictObject({ type: z.literal('aws_role'), role_arn: z.string() }),
]);

export const system = z.string().max(LONGEST_SYSTEM);
export const name = z.string().min(1).max(256);
export const description = z.string().max(2_048).nullable().optional();

const disabled = z.strictObject({ type: z.literal('disabled') });
const enabled = z.strictObject({ type: z.literal('enabled') });
const reference = z.strictObject({ type: z.literal('agent'), id: z.string(), version: z.int().min(1).optional() });
const self = z.strictObject({ type: z.literal('self') });
const advisorEntry = z.strictObject({ type: z.literal('advisor'), model: z.string() });
const inline_agents = z.discriminatedUnion('type', [enabled, disabled]).nullable().optional();
const predefined_agents = z
  .array(z.union([z.string(), reference, self]))
  .max(MOST_ROSTER)
  .nullable()
  .optional();
const spawning = z
  .discriminatedUnion('type', [enabled.extend({ inline_agents, predefined_agents }), disabled])
  .nullable()
  .optional();

/** `rosters.ts` refuses unserved members by name. */
export const multiagent = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('coordinator'),
    agents: z
      .array(z.union([z.string(), reference, self, advisorEntry]))
      .min(1)
      .max(MOST_ROSTER),
  }),
  z.strictObject({
    type: z.literal('multiagent_20261001'),
    advisor: z
      .discriminatedUnion('type', [enabled.extend({ model: z.string() }), disabled])
      .nullable()
      .optional(),
    subagents: spawning,
    workflows: spawning,
  }),
]);

export const agentCreate = z.strictObject({
  model,
  name,
  description,
  execution_identity: identity.nullable().optional(),
  mcp_servers: mcpServers.optional(),
  metadata: metadata.optional(),
  multiagent: multiagent.nullable().optional(),
  skills: skills.optional(),
  system: system.nullable().optional(),
  tools: tools.optional(),
});

export const agentUpdate = z.strictObject({
  model: model.optional(),
  name: name.optional(),
  description,
  execution_identity: identity.nullable().optional(),
  mcp_servers: mcpServers.nullable().optional(),
  metadata: metadataPatch.nullable().optional(),
  multiagent: multiagent.nullable().optional(),
  skills: skills.nullable().optional(),
  system: system.nullable().optional(),
  tools: tools.nullable().optional(),
  version: z.int().min(1).optional(),
});

const page = {
  limit: wholeNumber(PAGE_BOUNDS.least, PAGE_BOUNDS.most).optional(),
  page: z.string().max(2_000).optional(),
};

export const agentRetrieve = z.strictObject({ version: wholeNumber(1, 999_999_999).optional() });
export const pageQuery = z.strictObject(page);
export const skillList = pageQuery.extend({ source: z.string().nullable().optional() });
export const listQuery = z.strictObject({ ...page, include_archived: flag.optional() });
export const agentList = listQuery.extend({
  'created_at[gte]': moment.optional(),
  'created_at[lte]': moment.optional(),
});
