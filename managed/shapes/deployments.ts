// Bodies and queries of requests about deployments and their runs (G71).
import { z } from 'zod';
import { MOST_VAULTS } from '../../client/faces/outside.ts';
import { agentList, description, name, pageQuery } from './agents.ts';
import { resources } from './files.ts';
import { flag, metadata, metadataPatch } from './parse.ts';
import { agentReference, budget, defineOutcome, MOST_EVENTS, systemMessage, times, userMessage } from './sessions.ts';

const agent = z.union([z.string(), agentReference]);
const initial_events = z
  .array(z.discriminatedUnion('type', [userMessage, defineOutcome, systemMessage]))
  .min(1)
  .max(MOST_EVENTS);
const schedule = z.strictObject({ type: z.literal('cron'), expression: z.string(), timezone: z.string().max(100) });
const vault_ids = z.array(z.string()).max(MOST_VAULTS);

export const deploymentCreate = z.strictObject({
  agent,
  environment_id: z.string(),
  initial_events,
  name,
  budget: budget.nullable().optional(),
  description,
  metadata: metadata.optional(),
  resources: resources.optional(),
  schedule: schedule.nullable().optional(),
  vault_ids: vault_ids.optional(),
});

export const deploymentUpdate = z.strictObject({
  agent: agent.optional(),
  environment_id: z.string().optional(),
  initial_events: initial_events.optional(),
  name: name.optional(),
  budget: budget.nullable().optional(),
  description,
  metadata: metadataPatch.nullable().optional(),
  resources: resources.nullable().optional(),
  schedule: schedule.nullable().optional(),
  vault_ids: vault_ids.nullable().optional(),
});

export const deploymentList = agentList.extend({
  agent_id: z.string().optional(),
  status: z.enum(['active', 'paused']).optional(),
});

export const deploymentRunList = pageQuery.extend({
  ...times,
  deployment_id: z.string().optional(),
  has_error: flag.optional(),
  trigger_type: z.enum(['schedule', 'manual']).optional(),
});
