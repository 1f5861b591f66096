// Answers waiting approvals and questions with the program's `canUseTool`. It runs in the program's
// process, and the session waits while it is gone.
import { z } from 'zod';
import { reasonOf } from '../../system/text.ts';
import type { ApprovalAnswer, OnApproval, OnQuestion, ListedQuestion } from '../faces/types.ts';
import { splitQuestions } from '../faces/words.ts';
import type { CallOrder } from './call-order.ts';
import type { Grants } from './grants.ts';
import { toInwardInput, outwardInput, outwardName } from './names.ts';
import { permissionOf, type ProgramHooks } from './program-hooks.ts';
import type { CanUseTool, PermissionResult } from './shapes/permissions.ts';

/** Grants and hooks decide before `canUseTool` is called. */
export type DecisionPorts = {
  readonly grants?: Grants;
  readonly hooks?: ProgramHooks;
  readonly order?: CallOrder;
  readonly say: (line: string) => void;
};

/**
 * Returns a handler that answers approvals by the grants, the hooks, and `canUseTool`, in this
 * order. When one throws, the call is denied with the reason.
 */
export function createApprovalHandler(
  canUseTool: CanUseTool | undefined,
  { grants, hooks, order, say }: DecisionPorts,
): OnApproval {
  return async (approval, { signal }) => {
    const { session, call, tool, input, toolUseId = '', reason } = approval;
    const known = grants?.answerTo(approval) ?? null;
    if (known) return known;
    await order?.awaitCall(session, toolUseId, signal);
    const sdkInput = outwardInput(tool, input);
    const name = outwardName(tool);
    const suggestions = grants?.suggestions(approval) ?? [];
    const facts = { tool_name: name, tool_input: sdkInput, permission_suggestions: suggestions };
    try {
      notifyHooks(hooks, `A decision about ${name} is needed: ${reason}`, 'permission_prompt');
      const byHook = permissionOf((await hooks?.tell('PermissionRequest', facts, name)) ?? []);
      const options = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions };
      const result = byHook ?? (await canUseTool?.(name, structuredClone(sdkInput), options));
      if (result?.behavior === 'allow') grants?.add(result.updatedPermissions ?? []);
      return toApprovalAnswer(result, tool, sdkInput);
    } catch (error) {
      say(`canUseTool failed about ${name}: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not decide: ${reasonOf(error)}` };
    }
  };
}

function toApprovalAnswer(
  result: PermissionResult | null | undefined,
  tool: string,
  sdkInput: Record<string, unknown>,
): ApprovalAnswer {
  if (result === undefined || result === null) return { kind: 'deny', reason: 'the program does not answer' };
  if (result.behavior === 'deny')
    return { kind: 'deny', reason: result.message || 'the program denied it', interrupt: result.interrupt ?? false };
  const { updatedInput } = result;
  const isEdited = updatedInput !== undefined && JSON.stringify(updatedInput) !== JSON.stringify(sdkInput);
  return isEdited ? { kind: 'allow', input: toInwardInput(tool, updatedInput) } : { kind: 'allow' };
}

/** Calls the Notification hooks without waiting for them. */
function notifyHooks(hooks: ProgramHooks | undefined, message: string, kind: string): void {
  void hooks?.tell('Notification', { message, notification_type: kind }, kind);
}

const questionSchema = z.object({ question: z.string(), options: z.array(z.string()).optional() });
const answersSchema = z.object({ answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])) });

/** Returns the answers as one text, or undefined when the program gave none. */
function answerOf(questions: readonly ListedQuestion[], updatedInput: unknown): string | undefined {
  const answers = answersSchema.safeParse(updatedInput).data?.answers ?? {};
  const pairs = questions.flatMap(({ question }) => {
    const answer = answers[question];
    return answer === undefined ? [] : [{ question, answer: typeof answer === 'string' ? answer : answer.join(', ') }];
  });
  if (questions.length === 1) return pairs[0]?.answer;
  return pairs.length === 0 ? undefined : pairs.map(({ question, answer }) => `${question} ${answer}`).join('\n');
}

/**
 * Returns a handler that presents a question as a call of `AskUserQuestion`. The program allows it
 * with the answer in its input.
 */
export function createQuestionHandler(
  canUseTool: CanUseTool | undefined,
  { hooks, order, say }: DecisionPorts,
): OnQuestion {
  return async ({ session, call, input, toolUseId = '', reason }, { signal }) => {
    const parsed = questionSchema.parse(input);
    const questions = splitQuestions(parsed);
    await order?.awaitCall(session, toolUseId, signal);
    const sdkInput = { questions };
    try {
      notifyHooks(hooks, parsed.question, 'elicitation_dialog');
      const context = { signal, toolUseID: toolUseId, decisionReason: reason, requestId: call, suggestions: [] };
      const result = await canUseTool?.('AskUserQuestion', structuredClone(sdkInput), context);
      const text = result?.behavior === 'allow' ? answerOf(questions, result.updatedInput) : undefined;
      if (text !== undefined && (parsed.options?.includes(text) ?? true)) return { kind: 'answer', text };
      // A question with options takes these alone, and programs let people write other answers.
      if (text !== undefined)
        return { kind: 'deny', reason: `the user chose none of the options, and answered: ${text}` };
      const message = result?.behavior === 'deny' ? result.message : '';
      return { kind: 'deny', reason: message || 'the program does not answer' };
    } catch (error) {
      say(`canUseTool failed about a question: ${reasonOf(error)}`);
      return { kind: 'deny', reason: `the program could not answer: ${reasonOf(error)}` };
    }
  };
}
