// The schema of the agents in a configuration (L66), and the settings that they make together with
// the built-in ones.
import { z } from 'zod';
import {
  agentDefaults,
  type AgentLimits,
  type AgentSettings,
  type AgentType,
  type AgentTypeLimits,
} from '../../tools/agent-types.ts';
import { schemaProblem } from '../../system/schema/json-schema.ts';
import { OPTION_BOUNDS } from '../../workflows/contract/run-options.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import { permissionModes } from '../../workflows/contract/permission-rules.ts';
import { efforts } from '../../workflows/contract/loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { modelSchema, nameSchema, textSchema, wholeNumberSchema } from './schema-parts.ts';

const MOST_TYPES = 50;
const LONGEST_DESCRIPTION = 1_000;
/** Levels below a session, each of which may have as many agents as the one above. */
const DEEPEST_AGENT = 10;
const MOST_OPEN = 100;
const MOST_PER_RUN = 200;

const nameRight = 'give 1 to 64 letters, digits, "_" or "-"';

/** Problems are worded as those of a caller's options are. */
const limitsSchema = z
  .strictObject({
    maxTurns: z.unknown(),
    maxBudgetUsd: z.unknown(),
    maxTokens: z.unknown(),
    timeoutMs: z.unknown(),
  } satisfies Readonly<Record<keyof AgentTypeLimits, unknown>>)
  .partial()
  .superRefine((limits, context) => {
    const message = optionsProblem(limits as Partial<RunOptions>);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

const agentTypeSchema = z.strictObject({
  description: textSchema(LONGEST_DESCRIPTION),
  systemPrompt: z.string().max(OPTION_BOUNDS.systemPrompt).optional(),
  tools: z.array(nameSchema).max(OPTION_BOUNDS.tools).optional(),
  model: modelSchema.optional(),
  effort: z.enum(efforts).optional(),
  permissionMode: z.enum(permissionModes).optional(),
  isolation: z.literal('worktree').optional(),
  background: z.boolean().optional(),
  limits: limitsSchema.optional(),
  outputSchema: z
    .record(z.string(), z.unknown())
    .superRefine((schema, context) => {
      const message = optionsProblem({ outputSchema: schema }) ?? schemaProblem(schema);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .optional(),
} satisfies Readonly<Record<keyof AgentType, unknown>>);

export const agentsSchema = z
  .record(z.string(nameRight).regex(/^[A-Za-z0-9_-]{1,64}$/, nameRight), agentTypeSchema)
  .superRefine((types, context) => {
    const { length } = Object.keys(types);
    const message = `it has ${length} types: give at most ${MOST_TYPES}`;
    if (length > MOST_TYPES) context.addIssue({ code: 'custom', message });
  });

export const agentLimitsSchema = z
  .strictObject({
    depth: wholeNumberSchema(DEEPEST_AGENT),
    open: wholeNumberSchema(MOST_OPEN),
    perRun: wholeNumberSchema(MOST_PER_RUN),
  } satisfies Readonly<Record<keyof AgentLimits, unknown>>)
  .partial();

export function agentSettings(types: AgentSettings['types'] = {}, limits: Partial<AgentLimits> = {}): AgentSettings {
  return { types: { ...agentDefaults.types, ...types }, limits: { ...agentDefaults.limits, ...limits } };
}
