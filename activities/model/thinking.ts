// How a run's wish for extended thinking is said to a model (L59). Thinking counts as output, so it must leave room for the answer.
import type { ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages';

/** Tokens; the API refuses less. */
export const LEAST_THINKING = 1_024;

/** These models decide by themselves how much to think: a budget of tokens is a 400 for them, and 4.6 warns of one. */
const ADAPTIVE = /(?:^|[./])claude-(?:(?:fable|mythos)-|[a-z]+-(?:4-[6-9]|[5-9]|\d\d)(?!\d))/;

/** `cap`: max_tokens of the request. Undefined: not asked for, or no room for it. */
export function thinkingFor(model: string, tokens: number | null, cap: number): ThinkingConfigParam | undefined {
  if (tokens === null) return undefined;
  if (ADAPTIVE.test(model)) return { type: 'adaptive' };
  const budget = Math.min(tokens, cap - 1);
  return budget < LEAST_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
}
