// Checks the file format of a script: docs/scripted-model.md says it in words, script.ts as types.
import { z } from 'zod';
import type { ScriptData } from './script.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';

const count = z.int().min(0);
const positive = z.int().min(1);

const pagesSchema = z.array(z.strictObject({ url: z.string(), title: z.string(), text: z.string().optional() }));

const blockSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('thinking'),
    thinking: z.string(),
    signature: z.string().optional(),
    note: z.boolean().optional(),
    silentMs: count.optional(),
    pingMs: positive.optional(),
  }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.strictObject({
    type: z.literal('tool_use'),
    name: z.string(),
    input: z.unknown().optional(),
    inputJson: z.string().optional(),
    id: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('web_search'),
    query: z.string(),
    id: z.string().optional(),
    results: pagesSchema.optional(),
    error: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('web_search_result'),
    id: z.string(),
    results: pagesSchema.optional(),
    error: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('raw'), block: z.record(z.string(), z.unknown()) }),
]);

const conditionSchema = z.strictObject({
  lastUserText: z.string().optional(),
  toolResult: z.string().optional(),
  hasToolResult: z.boolean().optional(),
  system: z.string().optional(),
  model: z.string().optional(),
  maxTokens: positive.optional(),
  compaction: z.boolean().optional(),
});

/** Each fault by the key that names it, with its other fields. */
const FAULTS: Readonly<Record<string, readonly string[]>> = {
  status: ['message', 'errorCode', 'retryAfter', 'xShouldRetry'],
  too_long: [],
  media_too_large: [],
  hangUp: [],
  silence: [],
  cutAtByte: [],
  cutAfterEvent: [],
  silenceAfterEvent: [],
  pingsAfterEvent: ['pingMs'],
  garbageAfterEvent: ['garbage'],
  errorEvent: ['afterEvent', 'message'],
  withoutMessageStop: [],
  maxTokensAfter: [],
};

const faultFields = z.strictObject({
  status: z.int().min(400).max(599).optional(),
  too_long: z.literal(true).optional(),
  media_too_large: z.literal(true).optional(),
  hangUp: z.literal(true).optional(),
  silence: z.literal(true).optional(),
  cutAtByte: count.optional(),
  cutAfterEvent: count.optional(),
  silenceAfterEvent: count.optional(),
  pingsAfterEvent: count.optional(),
  garbageAfterEvent: count.optional(),
  errorEvent: z.string().optional(),
  withoutMessageStop: z.literal(true).optional(),
  maxTokensAfter: z.strictObject({ block: count, chars: count }).optional(),
  message: z.string().optional(),
  errorCode: z.string().optional(),
  retryAfter: z.union([z.number().min(0), z.string()]).optional(),
  xShouldRetry: z.boolean().optional(),
  pingMs: positive.optional(),
  garbage: z.string().optional(),
  afterEvent: count.optional(),
});

const faultSchema = faultFields.check((context) => {
  const problem = checkFault(Object.keys(context.value));
  if (problem !== undefined) context.issues.push({ code: 'custom', input: context.value, message: problem });
});

function checkFault(keys: readonly string[]): string | undefined {
  const names = keys.filter((key) => key in FAULTS);
  const [name] = names;
  if (name === undefined || names.length > 1) {
    return `names exactly one fault of ${Object.keys(FAULTS).join(', ')}; this one names ${names.join(', ') || 'none'}`;
  }
  const stray = keys.find((key) => key !== name && !FAULTS[name]?.includes(key));
  return stray === undefined ? undefined : `${stray} does not go with ${name}`;
}

const replySchema = z.strictObject({
  content: z.array(blockSchema).optional(),
  stop_reason: z.string().nullable().optional(),
  stop_details: z.record(z.string(), z.unknown()).optional(),
  declined: z
    .strictObject({ category: z.string().nullable(), explanation: z.string().optional(), at: count.optional() })
    .optional(),
  usage: z
    .strictObject({
      input_tokens: count.optional(),
      output_tokens: count.optional(),
      cache_read_input_tokens: count.optional(),
      cache_creation_input_tokens: count.optional(),
    })
    .nullable()
    .optional(),
  model: z.string().optional(),
  delayMs: count.optional(),
  msPerEvent: count.optional(),
  deltaChars: positive.optional(),
  chunkBytes: positive.optional(),
  when: conditionSchema.optional(),
  expect: conditionSchema.optional(),
  fault: faultSchema.optional(),
  times: z.union([positive, z.literal('any')]).optional(),
});

const createdSchema = z
  .string()
  .refine(
    (text) => text === 'new' || text === 'old' || !Number.isNaN(Date.parse(text)),
    'is "new", "old" or a time in ISO 8601',
  );

const scriptSchema = z.strictObject({
  replies: z.array(replySchema),
  window: positive.optional(),
  maxOutputTokens: positive.optional(),
  account: z.strictObject({ created: createdSchema.optional(), id: z.string().optional() }).optional(),
});

/**
 * Parses a script. Throws an Error of one line for each mistake, naming its path. `source` names
 * the text.
 */
export function parseScript(json: string, source: string): ScriptData {
  const parsed = scriptSchema.safeParse(parseJson(json, source));
  // A field that JSON leaves out is absent, never undefined, and the two types differ in nothing
  // else.
  if (parsed.success) return parsed.data as ScriptData;
  const mistakes = parsed.error.issues.map(
    ({ path, message }) => `${source}: ${path.join('.') || 'script'}: ${message}`,
  );
  throw new Error(mistakes.join('\n'));
}

function parseJson(json: string, source: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new Error(`${source} is not JSON: ${String(error)}`, { cause: error });
  }
}

/**
 * Reads a script from a file. Rejects with an Error of one line for each mistake, naming its path
 * in the script.
 */
export async function loadScript(file: string): Promise<ScriptData> {
  let json: string;
  try {
    json = readNamedFile(file);
  } catch (error) {
    throw new Error(`the script ${file} ${whyUnread(error)}: name another`, { cause: error });
  }
  return parseScript(json, file);
}
