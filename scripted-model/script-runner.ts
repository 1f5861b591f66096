// Walks a script and chooses the reply that answers a request. A function is asked; data is used
// reply by reply.
import type { ParsedRequest, Reply, RequestCondition, Script, ScriptFunction } from './script.ts';
import { lastUserText, systemText, toolResults } from './read-request.ts';
import { isSummaryRequest } from './validate/compaction.ts';

type Answer =
  /** `step` is the reply's position in the script, from 0; null when a function gave it. */
  { readonly kind: 'reply'; readonly reply: Reply; readonly step: number | null } | BrokenScript;

/**
 * The script cannot answer: a mistake in the script or in the tested program, never something to
 * retry.
 */
type BrokenScript = { readonly kind: 'broken'; readonly why: string };

/** `label` names the request in messages to people. */
export type ScriptRunner = (request: ParsedRequest, label: string) => Promise<Answer>;

export function createScriptRunner(script: Script): ScriptRunner {
  if (typeof script === 'function') return createFunctionRunner(script);
  return createDataRunner('replies' in script ? script.replies : script);
}

function createFunctionRunner(script: ScriptFunction): ScriptRunner {
  let count = 0;
  return async (request, label) => {
    count += 1;
    try {
      const reply = await script(request, count);
      return reply === undefined ? describeMissingReply(label) : checkExpectation(reply, null, request);
    } catch (error) {
      return { kind: 'broken', why: `scripted model: the script threw for ${label}: ${String(error)}` };
    }
  };
}

function createDataRunner(replies: readonly Reply[]): ScriptRunner {
  const left = replies.map((reply) => (reply.times === 'any' ? Infinity : (reply.times ?? 1)));
  return async (request, label) => {
    for (const [step, reply] of replies.entries()) {
      const remaining = left[step] ?? 0;
      if (remaining === 0 || (reply.when !== undefined && describeUnmet(reply.when, request) !== undefined)) continue;
      const answer = checkExpectation(reply, step, request);
      if (answer.kind === 'reply') left[step] = remaining - 1;
      return answer;
    }
    return describeMissingReply(label);
  };
}

function checkExpectation(reply: Reply, step: number | null, request: ParsedRequest): Answer {
  const lacks = (reply.expect && describeUnmet(reply.expect, request)) ?? searchProblem(reply, request);
  if (lacks === undefined) return { kind: 'reply', reply, step };
  return {
    kind: 'broken',
    why: `scripted model: ${step === null ? 'the' : `replies.${step}:`} reply expected ${lacks}`,
  };
}

/** A model searches the web only where the request offers it. */
function searchProblem({ content = [] }: Reply, { tools = [] }: ParsedRequest): string | undefined {
  const searches = content.some(({ type }) => type === 'web_search' || type === 'web_search_result');
  const offers = tools.some(({ type }) => /^web_search_\d{8}$/.test(type ?? ''));
  return searches && !offers ? 'the tool web_search among those of the request, and it is not' : undefined;
}

function describeMissingReply(label: string): BrokenScript {
  return { kind: 'broken', why: `scripted model: the script has no reply for ${label}` };
}

/**
 * Says which condition of a reply's
 * `when` or `expect` a request does not meet; undefined when it meets all of them.
 */
function describeUnmet(condition: RequestCondition, request: ParsedRequest): string | undefined {
  const { lastUserText: text, toolResult, hasToolResult, system, model, maxTokens, compaction } = condition;
  if (text !== undefined && !lastUserText(request).includes(text)) {
    return `the last user text to include ${quoteText(text)}, and got ${quoteText(lastUserText(request))}`;
  }
  const results = toolResults(request);
  if (toolResult !== undefined && !results.some((result) => result.text.includes(toolResult))) {
    const got = results.map((result) => quoteText(result.text)).join(', ');
    return `a tool_result that includes ${quoteText(toolResult)}, and got ${got === '' ? 'none' : got}`;
  }
  if (hasToolResult !== undefined && hasToolResult !== results.length > 0) {
    return `${hasToolResult ? 'a tool_result' : 'no tool_result'} in the last user message, and got ${results.length}`;
  }
  if (system !== undefined && !systemText(request).includes(system)) {
    return `the system prompt to include ${quoteText(system)}, and got ${quoteText(systemText(request))}`;
  }
  if (model !== undefined && request.model !== model)
    return `model ${quoteText(model)}, and got ${quoteText(request.model)}`;
  if (maxTokens !== undefined && request.max_tokens !== maxTokens) {
    return `max_tokens ${maxTokens}, and got ${request.max_tokens}`;
  }
  if (compaction !== undefined && compaction !== isSummaryRequest(request)) {
    return compaction ? 'a request for a summary' : 'no request for a summary';
  }
  return undefined;
}

function quoteText(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
