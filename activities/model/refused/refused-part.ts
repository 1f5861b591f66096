// Chooses the part that a refused request leaves out when it is repeated. It is always a part that
// the request had, so the repetition ends.
import type { Tool } from '@anthropic-ai/sdk/resources/messages';
import type { ModelRequest } from '../../model-deps.ts';
import { changesTools } from '../../../store/transcript/system-message.ts';
import { isServerTool } from '../../../store/transcript/server-tools.ts';
import type { Verdict } from '../classify.ts';
import {
  beginsWithSummary,
  REFUSABLE,
  betasOf,
  COMPACTION_BETA,
  INLINE_TOOLS_BETA,
  THINKING_BINDING_BETA,
} from '../request.ts';
import { BETA_HEADER, type DefinitionAt } from './request-parts.ts';

type RefusablePart = (typeof REFUSABLE)[keyof typeof REFUSABLE];

/** The order in which betas are given up when the server does not name the refused one. */
const BETAS: readonly (readonly [RefusablePart, string])[] = [
  [REFUSABLE.inlineTools, INLINE_TOOLS_BETA],
  [REFUSABLE.binding, THINKING_BINDING_BETA],
  [REFUSABLE.summaries, COMPACTION_BETA],
];

/** Undefined when the request has no part that the refusal could mean. */
export function partToLeaveOut(verdict: Verdict, body: ModelRequest): RefusablePart | undefined {
  const { messages } = body;
  const hasSummary = beginsWithSummary(messages);
  switch (verdict.kind) {
    case 'refused_role':
      return hasRole(messages, 'system') ? REFUSABLE.systemMessages : undefined;
    case 'refused_tools':
      if (changesTools(messages)) return REFUSABLE.inlineTools;
      // A summary includes changes of tools.
      return hasSummary ? REFUSABLE.summaries : undefined;
    case 'refused_summary':
      return hasSummary ? REFUSABLE.summaries : undefined;
    case 'refused_field':
      if (verdict.field !== BETA_HEADER) return partOfField(verdict.field, body);
      return findSentPart(partOfBeta(verdict.detail, body), body);
    default:
      return undefined;
  }
}

function partOfField(field: string, body: ModelRequest): RefusablePart | undefined {
  if (field.includes('block_binding')) return body.thinking?.block_binding ? REFUSABLE.binding : undefined;
  return /^compaction\b/.test(field) && body.compaction ? REFUSABLE.summaries : undefined;
}

/** Changes of tools that a summary includes are sent as long as it is. */
function findSentPart(part: RefusablePart | undefined, { messages }: ModelRequest): RefusablePart | undefined {
  return part === REFUSABLE.inlineTools && !changesTools(messages) ? REFUSABLE.summaries : part;
}

/**
 * Finds the part that the server does not know at all, where a summary was refused: it may be the
 * tools in it.
 */
export function findUnknownPart(verdict: Verdict, body: ModelRequest): RefusablePart | undefined {
  if (verdict.kind === 'refused_tools') return REFUSABLE.inlineTools;
  return verdict.kind === 'refused_field' && verdict.field === BETA_HEADER
    ? partOfBeta(verdict.detail, body)
    : undefined;
}

/** Picks the beta that the refusal names, or the first one that the request used. */
function partOfBeta(text: string, body: ModelRequest): RefusablePart | undefined {
  const used = betasOf(body);
  const named = used.filter((beta) => text.includes(beta));
  return BETAS.find(([, beta]) => (named.length > 0 ? named : used).includes(beta))?.[0];
}

function hasRole(messages: ModelRequest['messages'], wanted: string): boolean {
  return messages.some(({ role }) => (role as string) === wanted);
}

/** Finds the tool whose definition stands at a place of the request. */
export function toolAt({ messages, tools = [] }: ModelRequest, at: DefinitionAt): Tool | undefined {
  if ('named' in at) return (tools as readonly Tool[]).find((tool) => tool.name === at.named && isServerTool(tool));
  if ('tool' in at) return tools[at.tool] as Tool | undefined;
  const { content } = messages[at.message] ?? {};
  const block: unknown = Array.isArray(content) ? content[at.block] : undefined;
  return (block as { readonly tool?: { readonly definition?: Tool } } | undefined)?.tool?.definition;
}
