// The schema of the tools in a configuration. A tool that cannot be registered is found before
// anything starts, and named by its place.
import { z } from 'zod';
import { builtinNames } from '../../tools/builtin/builtin-names.ts';
import { buildDefinition } from '../../tools/registry.ts';
import { nearName } from '../../workflows/contract/did-you-mean.ts';
import { type InputSchema, isStandardSchema } from '../../system/schema/input-schema.ts';
import type { Recovery, Risk, Tool } from '../../tools/tool.ts';
import { reasonOf } from '../../system/text.ts';
import { toolNameSchema } from './offered-tools.ts';
import { functionSchema } from './schema-parts.ts';

const risks = ['read', 'write', 'execute', 'external'] as const satisfies readonly Risk[];
const recoveries = ['rerun', 'verify', 'ask', 'report'] as const satisfies readonly Recovery[];

/** The configuration may import any copy of any schema library, so classes are not compared. */
const inputSchema = z.custom<InputSchema>(
  (value) => isStandardSchema(value) || (typeof value === 'object' && value !== null && !Array.isArray(value)),
  'give a schema of zod, valibot or arktype, such as z.strictObject({ … }), or a JSON schema',
);

const toolFields = {
  name: toolNameSchema,
  description: z.string(),
  inputSchema,
  inputJsonSchema: z.record(z.string(), z.unknown(), 'give a JSON schema').optional(),
  risk: z.union([z.enum(risks), functionSchema]),
  safe: functionSchema.optional(),
  recovery: z.enum(recoveries),
  asksModel: functionSchema.optional(),
  asksPeople: z.literal(true).optional(),
  validate: functionSchema.optional(),
  wouldFail: functionSchema.optional(),
  canUse: functionSchema.optional(),
  subject: functionSchema.optional(),
  call: functionSchema,
  delegate: functionSchema.optional(),
  conclude: functionSchema.optional(),
  verify: functionSchema.optional(),
  close: functionSchema.optional(),
  backfillObservableInput: functionSchema.optional(),
} satisfies Readonly<Record<keyof Tool, unknown>>;

const toolSchema = z.looseObject(toolFields, 'give a tool made with defineTool').superRefine((value, context) => {
  // A tool may have further keys; one that is nearly a known key was meant to be that key.
  for (const key of Object.keys(value)) {
    const near = Object.hasOwn(toolFields, key) ? undefined : nearName(key, Object.keys(toolFields));
    if (near !== undefined) context.addIssue({ code: 'custom', path: [key], message: `did you mean "${near}"?` });
  }
  if (value.recovery === 'verify' && value.verify === undefined) {
    const message = 'give a function, or another recovery than "verify"';
    context.addIssue({ code: 'custom', path: ['verify'], input: undefined, message });
  }
  const problem = definitionProblem(value);
  if (problem !== undefined) context.addIssue({ code: 'custom', path: ['inputSchema'], message: problem });
});

/** Returns the registry's complaint about a tool. */
function definitionProblem(tool: unknown): string | undefined {
  try {
    buildDefinition(tool as Tool);
    return undefined;
  } catch (error) {
    // The schema is foreign code: an error that it throws is its own mistake.
    return reasonOf(error);
  }
}

/**
 * Describes a name that differs from a built-in tool's in case alone: a rule for `Bash` means bash,
 * and would rule that tool too.
 */
function describeBuiltinLike(name: string): string | undefined {
  const builtin = name.toLowerCase();
  return builtinNames.some((known) => known === builtin)
    ? `the built-in tool ${builtin}, written otherwise,`
    : undefined;
}

export const toolsSchema = z.array(toolSchema).superRefine((tools, context) => {
  const owners = new Map<string, string>(builtinNames.map((name) => [name, 'a built-in tool']));
  for (const [at, { name }] of tools.entries()) {
    const whose = owners.get(name) ?? describeBuiltinLike(name);
    const message = `give another name, ${whose} has this one`;
    if (whose !== undefined) context.addIssue({ code: 'custom', path: [at, 'name'], input: name, message });
    owners.set(name, `"tools.${at}"`);
  }
});
