// The schema of the tools in a configuration. A tool that cannot be registered is found before anything starts, and named by its place.
import { z } from 'zod';
import { builtinNames } from '../activities/tools/builtin/builtin-tools.ts';
import { definitionOf, VALID_NAME } from '../activities/tools/registry.ts';
import { nearName } from '../workflows/contract/near-name.ts';
import type { Recovery, Risk, Tool } from '../activities/tools/tool.ts';
import { run } from './config-parts.ts';
import { reasonOf } from './embedded/setup-problem.ts';

const risks = ['read', 'write', 'execute', 'external'] as const satisfies readonly Risk[];
const recoveries = ['rerun', 'verify', 'ask', 'report'] as const satisfies readonly Recovery[];

const nameRight = 'give 1 to 64 letters, digits, "_" or "-"';

/** Of whatever copy of zod the file imports. */
const inputSchema = z.custom<z.ZodType>(
  (value) => typeof value === 'object' && value !== null && '_zod' in value && 'safeParse' in value,
  'give a schema of zod 4, such as z.strictObject({ … })',
);

const parts = {
  name: z.string(nameRight).regex(VALID_NAME, nameRight),
  description: z.string(),
  inputSchema,
  risk: z.union([z.enum(risks), run]),
  safe: run.optional(),
  recovery: z.enum(recoveries),
  validate: run.optional(),
  canUse: run.optional(),
  subject: run.optional(),
  call: run,
  verify: run.optional(),
  backfillObservableInput: run.optional(),
} satisfies Readonly<Record<keyof Tool, unknown>>;

const tool = z.looseObject(parts, 'give a tool made with defineTool').superRefine((given, context) => {
  // A tool may have more than we know; what has nearly a name that we know was meant to be heeded.
  for (const key of Object.keys(given)) {
    const near = Object.hasOwn(parts, key) ? undefined : nearName(key, Object.keys(parts));
    if (near !== undefined) context.addIssue({ code: 'custom', path: [key], message: `did you mean "${near}"?` });
  }
  if (given.recovery === 'verify' && given.verify === undefined) {
    const message = 'give a function, or another recovery than "verify"';
    context.addIssue({ code: 'custom', path: ['verify'], input: undefined, message });
  }
  const problem = definitionProblem(given);
  if (problem !== undefined) context.addIssue({ code: 'custom', path: ['inputSchema'], message: problem });
});

/** What the registry says of it. */
function definitionProblem(given: Parameters<typeof definitionOf>[0]): string | undefined {
  try {
    definitionOf(given);
    return undefined;
  } catch (error) {
    // The schema is foreign code: whatever it throws is its own mistake.
    return reasonOf(error);
  }
}

export const toolsSchema = z.array(tool).superRefine((tools, context) => {
  const taken = new Map<string, string>(builtinNames.map((name) => [name, 'a built-in tool']));
  for (const [at, { name }] of tools.entries()) {
    const whose = taken.get(name);
    const message = `give another name, ${whose} has this one`;
    if (whose !== undefined) context.addIssue({ code: 'custom', path: [at, 'name'], input: name, message });
    taken.set(name, `"tools.${at}"`);
  }
});
