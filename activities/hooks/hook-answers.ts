// The exact shapes of what hooks may answer. Strict: a misspelt key is a failure that is reported, not an opinion that is lost.
import { z } from 'zod';
import { deeperThan } from '../tools/depth.ts';
import { MAX_DEPTH } from '../tools/prepare.ts';
import type { HookAnswers } from './hook-config.ts';
import { thrownText } from './hook-text.ts';
import type { HookName } from './hooks.ts';

const text = z.string();
const reason = z.string().min(1);

const schemas: { readonly [Name in HookName]: z.ZodType<HookAnswers[Name]> } = {
  sessionStart: z.strictObject({ context: text.optional() }),
  promptSubmitted: z.strictObject({ context: text.optional(), stop: reason.optional() }),
  preTool: z.strictObject({
    decision: z.enum(['allow', 'ask', 'deny']).optional(),
    reason: text.optional(),
    input: z.record(z.string(), z.unknown()).optional(),
    stop: reason.optional(),
  }),
  postTool: z.strictObject({ context: text.optional(), stop: reason.optional() }),
  postSampling: z.strictObject({}),
  preCompact: z.strictObject({ instructions: text.optional() }),
  postCompact: z.strictObject({}),
  stop: z.strictObject({ block: reason.optional(), prevent: reason.optional() }),
  sessionEnd: z.strictObject({}),
};

type Failed = { readonly kind: 'failed'; readonly detail: string };

export type ReadAnswer<Name extends HookName> =
  { readonly kind: 'answer'; readonly answer: HookAnswers[Name] } | Failed;

/**
 * `value` is untrusted: whatever a function returned or a command printed. Nothing means no opinion. The answer is a copy, JSON
 * through and through: it is told to commands and stored, and a function may answer anything, or change it later.
 */
export function readAnswer<Name extends HookName>(hook: Name, value: unknown): ReadAnswer<Name> {
  const json = asJson(value ?? {});
  if (json.kind === 'failed') return json;
  const read = schemas[hook].safeParse(json.value);
  if (read.success) return { kind: 'answer', answer: read.data };
  const issue = read.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return { kind: 'failed', detail: `its answer is not one of a ${hook} hook: ${where}${issue?.message ?? ''}` };
}

function asJson(value: unknown): { readonly kind: 'json'; readonly value: unknown } | Failed {
  try {
    const written = JSON.stringify(value) as string | undefined;
    if (written === undefined) return failed(`it is a ${typeof value}`);
    const copy: unknown = JSON.parse(written);
    return deeperThan(copy, MAX_DEPTH)
      ? failed(`it is nested more than ${MAX_DEPTH} levels deep`)
      : { kind: 'json', value: copy };
  } catch (error) {
    // A bigint, a circle, a getter that throws, more levels than the stack holds: the first line says which.
    return failed(thrownText(error).split('\n')[0] ?? '');
  }
}

const failed = (why: string): Failed => ({ kind: 'failed', detail: `its answer is not JSON: ${why}` });
