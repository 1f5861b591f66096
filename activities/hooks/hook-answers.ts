// The exact shapes of what hooks may answer. Strict: a misspelt key is a failure that is reported, not an opinion that is lost.
import { z } from 'zod';
import type { HookAnswers } from './hook-config.ts';
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

export type ReadAnswer<Name extends HookName> =
  | { readonly kind: 'answer'; readonly answer: HookAnswers[Name] }
  | { readonly kind: 'failed'; readonly detail: string };

/** `value` is untrusted: whatever a function returned or a command printed. Nothing means no opinion. */
export function readAnswer<Name extends HookName>(hook: Name, value: unknown): ReadAnswer<Name> {
  const read = schemas[hook].safeParse(value ?? {});
  if (read.success) return { kind: 'answer', answer: read.data };
  const issue = read.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return { kind: 'failed', detail: `its answer is not one of a ${hook} hook: ${where}${issue?.message ?? ''}` };
}
