// Parts of the configuration's schema, each with the words for what would be right.
import { isIP } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { builtinNames } from '../../tools/builtin/builtin-names.ts';
import { buildDefinition, VALID_NAME } from '../../tools/registry.ts';
import { nearName } from '../../workflows/contract/options-problem.ts';
import { MOST_NOTES } from '../../activities/memory/notes.ts';
import { modelProblem } from '../../models/find-model.ts';
import { type InputSchema, isStandard } from '../../system/schema/input-schema.ts';
import type { Recovery, Risk, Tool } from '../../tools/tool.ts';
import { KEY_AGENTS, type KeyAgent, type WebSettings } from '../../tools/builtin/files/options.ts';
import { HOST_PATTERN } from '../../workflows/contract/permission-rules.ts';
import { reasonOf } from '../../system/text.ts';

export const nameSchema = text(200);

/** Of a model. What it is to a server the worker finds out when a run opens. */
export const modelSchema = nameSchema.superRefine((model, context) => {
  const message = modelProblem({ model });
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** Not empty; `most` in characters. */
export function text(most: number) {
  const right = `give a text of 1 to ${most} characters`;
  return z.string(right).trim().min(1, right).max(most, right);
}

/** `of`: its unit. */
export function wholeNumberSchema(most: number, of?: string) {
  const right = `give a whole number${of === undefined ? '' : ` of ${of}`} from 1 to ${most}`;
  return z.int(right).min(1, right).max(most, right);
}

const notesRight = `give a whole number of notes from 2 to ${MOST_NOTES}`;
export const notesSchema = z.int(notesRight).min(2, notesRight).max(MOST_NOTES, notesRight);

/** Milliseconds. */
export const upTo = (minutes: number) => wholeNumberSchema(minutes * 60_000, 'milliseconds');

const shareRight = 'give a number above 0 and up to 1';
export const share = z.number(shareRight).gt(0, shareRight).max(1, shareRight);

const dollarsRight = 'give a number of US dollars from 0 to 1000000';
export const dollars = z.number(dollarsRight).min(0, dollarsRight).max(1_000_000, dollarsRight);

export const run = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'give a function');

/** A list whose items have different names. */
export function differentlyNamed<Item extends z.ZodType<{ readonly name: string }>>(item: Item) {
  return z.array(item).superRefine((items, context) => {
    const names = items.map((one) => one.name);
    const twice = names.find((one, at) => names.indexOf(one) !== at);
    if (twice === undefined) return;
    context.addIssue({ code: 'custom', message: `${JSON.stringify(twice)} is in it twice: give each its own name` });
  });
}

const hostRight =
  'give a host without scheme, port or path, such as docs.internal.example, *.corp.example or 127.0.0.1';

const folderRight = 'give the absolute path of a folder, and not the root';

export const skillsSchema = z
  .array(z.string(folderRight).refine((path) => isAbsolute(path) && resolve(path) !== '/', folderRight))
  .max(20);

export const missingCredentialsSchema = z.enum(['tell', 'end'], 'give "tell" or "end"');

const rangeRight = 'give a range of addresses with its prefix, such as 198.18.0.0/15 or fc00::/18';

function isRange(range: string): boolean {
  const [, network = '', prefix = ''] = /^([\da-f.:]+)\/(\d{1,3})$/i.exec(range) ?? [];
  const most = { 0: 0, 4: 32, 6: 128 }[isIP(network)] ?? 0;
  return Number(prefix) > 0 && Number(prefix) <= most;
}

export const webFetchSchema = z.strictObject({
  missingCredentials: missingCredentialsSchema.optional(),
  fakeIpRanges: z.array(z.string(rangeRight).refine(isRange, rangeRight)).max(20).optional(),
  privateHosts: z.array(z.string(hostRight).max(253, hostRight).regex(HOST_PATTERN, hostRight)).max(100).optional(),
} satisfies Readonly<Record<keyof WebSettings, unknown>>);

export type SandboxSettings = { readonly agents?: readonly KeyAgent[] };

export const sandboxSchema = z.strictObject({
  agents: z.array(z.enum(KEY_AGENTS, 'give "ssh" or "gpg"')).max(KEY_AGENTS.length).optional(),
} satisfies Readonly<Record<keyof SandboxSettings, unknown>>);

// The schema of the tools in a configuration. A tool that cannot be registered is found before
// anything starts, and named by its place.

const risks = ['read', 'write', 'execute', 'external'] as const satisfies readonly Risk[];
const recoveries = ['rerun', 'verify', 'ask', 'report'] as const satisfies readonly Recovery[];

const nameRight = 'give 1 to 64 letters, digits, "_" or "-"';

/** The file may import any copy of any library. */
const inputSchema = z.custom<InputSchema>(
  (value) => isStandard(value) || (typeof value === 'object' && value !== null && !Array.isArray(value)),
  'give a schema of zod, valibot or arktype, such as z.strictObject({ … }), or a JSON schema',
);

const parts = {
  name: z.string(nameRight).regex(VALID_NAME, nameRight),
  description: z.string(),
  inputSchema,
  inputJsonSchema: z.record(z.string(), z.unknown(), 'give a JSON schema').optional(),
  risk: z.union([z.enum(risks), run]),
  safe: run.optional(),
  recovery: z.enum(recoveries),
  asksModel: run.optional(),
  asksPeople: z.literal(true).optional(),
  validate: run.optional(),
  canUse: run.optional(),
  subject: run.optional(),
  call: run,
  delegate: run.optional(),
  conclude: run.optional(),
  verify: run.optional(),
  close: run.optional(),
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

/** Returns the registry's complaint about it. */
function definitionProblem(given: unknown): string | undefined {
  try {
    buildDefinition(given as Tool);
    return undefined;
  } catch (error) {
    // The schema is foreign code: whatever it throws is its own mistake.
    return reasonOf(error);
  }
}

/**
 * A rule for `Bash` means bash: a tool with a name that differs in case alone would be ruled by
 * what is meant for the other.
 */
function builtinLike(name: string): string | undefined {
  const builtin = name.toLowerCase();
  return builtinNames.some((known) => known === builtin)
    ? `the built-in tool ${builtin}, written otherwise,`
    : undefined;
}

export const toolsSchema = z.array(tool).superRefine((tools, context) => {
  const taken = new Map<string, string>(builtinNames.map((name) => [name, 'a built-in tool']));
  for (const [at, { name }] of tools.entries()) {
    const whose = taken.get(name) ?? builtinLike(name);
    const message = `give another name, ${whose} has this one`;
    if (whose !== undefined) context.addIssue({ code: 'custom', path: [at, 'name'], input: name, message });
    taken.set(name, `"tools.${at}"`);
  }
});
