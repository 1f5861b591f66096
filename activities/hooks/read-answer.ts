// The exact shapes of what hooks may answer. They are strict: a misspelt key is a failure that is
// reported, not an opinion that is lost.
import { z } from 'zod';
import type { HookName } from './payloads.ts';
import type { HookAnswers } from './hook-config.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';

const text = z.string();
const reason = z.string().min(1);

const SCHEMAS: { readonly [Name in HookName]: z.ZodType<HookAnswers[Name]> } = {
  sessionStart: z.strictObject({ context: text.optional() }),
  promptSubmitted: z.strictObject({ context: text.optional(), stop: reason.optional() }),
  preTool: z
    .strictObject({
      decision: z.enum(['allow', 'ask', 'deny']).optional(),
      reason: text.optional(),
      fatal: z.boolean().optional(),
      input: z.record(z.string(), z.unknown()).optional(),
      stop: reason.optional(),
    })
    .refine(({ fatal, decision }) => fatal !== true || decision === 'deny', {
      path: ['fatal'],
      message: 'only a decision to deny can be fatal',
    }),
  postTool: z.strictObject({ context: text.optional(), stop: reason.optional() }),
  postSampling: z.strictObject({}),
  preCompact: z.strictObject({ instructions: text.optional() }),
  postCompact: z.strictObject({}),
  stop: z.strictObject({ block: reason.optional(), prevent: reason.optional() }),
  agentIdle: z.strictObject({ block: reason.optional(), prevent: reason.optional() }),
  sessionEnd: z.strictObject({}),
  waiting: z.strictObject({}),
  failed: z.strictObject({}),
  agentEnded: z.strictObject({}),
  silent: z.strictObject({}),
};

type AnswerFailure = { readonly kind: 'failed'; readonly detail: string };

export type CheckedAnswer<Name extends HookName> =
  { readonly kind: 'answer'; readonly answer: HookAnswers[Name] } | AnswerFailure;

/**
 * Checks an answer. `value` is untrusted: a function returned it or a command printed it. Nothing
 * means no opinion. The answer is a copy, JSON through and through: it is told to commands and
 * stored, and a function may answer anything, or change it later.
 */
export function readAnswer<Name extends HookName>(hook: Name, value: unknown): CheckedAnswer<Name> {
  const json = copyAnswer(value ?? {});
  if (json.kind === 'failed') return json;
  const read = SCHEMAS[hook].safeParse(json.value);
  if (read.success) return { kind: 'answer', answer: read.data };
  const issue = read.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return { kind: 'failed', detail: `its answer is not one of a ${hook} hook: ${where}${issue?.message ?? ''}` };
}

function copyAnswer(value: unknown): { readonly kind: 'json'; readonly value: unknown } | AnswerFailure {
  try {
    const written = JSON.stringify(value) as string | undefined;
    if (written === undefined) return refuseAnswer(`it is a ${typeof value}`);
    const copy: unknown = JSON.parse(written);
    return isDeeperThan(copy, DEEPEST_INPUT)
      ? refuseAnswer(`it is nested more than ${DEEPEST_INPUT} levels deep`)
      : { kind: 'json', value: copy };
  } catch (error) {
    // It is a bigint, a circle, a getter that throws, more levels than the stack holds: the first
    // line says which.
    return refuseAnswer(describeThrown(error).split('\n')[0] ?? '');
  }
}

const refuseAnswer = (why: string): AnswerFailure => ({ kind: 'failed', detail: `its answer is not JSON: ${why}` });

/** Prints what a function threw, which need not be an error. */
export function describeThrown(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    // It is an object without a prototype, a proxy, or a message that throws: words cannot tell it.
    return `threw what has no text (${typeof error})`;
  }
}
