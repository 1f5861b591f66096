// Finds out which part of a request a 400 refuses, if the request may omit or rephrase that part.
import { WEB_SEARCH } from '../../../store/transcript/server-tools.ts';

/** Kept thinking follows other messages than it was made after. The same request always fails. */
const UNBOUND_THINKING = /bound to a different conversation/i;

export function isUnboundThinking(text: string): boolean {
  return UNBOUND_THINKING.test(text);
}

/**
 * A signed summary that the API does not take back, recognised by its code, its words, or an
 * unknown kind of block.
 */
const REFUSED_SUMMARY =
  /^compaction_(?:signature_invalid|content_mismatch|tool_changes_mismatch|block_misplaced|block_ambiguous)$/;
const INVALID_SUMMARY = [
  /invalid \W?signature\W? in \W?compaction\b/i,
  /\bcompaction\W{1,2}block(?: with content)? (?:must|may|differs|requires)\b/i,
  /\bmessages\.0\.content\.0\.compaction\b/i,
];
const NAMES_SUMMARY = /(?:tag|type)\W{1,8}compaction\b/i;
const REFUSES_KIND = /expected|(?:not |un)(?:supported|permitted|allowed|valid|known)/i;

/** `code` is the error's, where it has one. A gateway may keep the words alone. */
export function isRefusedSummary(code: string, text: string): boolean {
  if (REFUSED_SUMMARY.test(code) || INVALID_SUMMARY.some((words) => words.test(text))) return true;
  return NAMES_SUMMARY.test(text) && REFUSES_KIND.test(text);
}

/** The words of the API, of pydantic, and of servers that list the roles they know. */
const REFUSED_ROLE = [
  /role\W{1,4}system\W{1,4}is not supported/i,
  /\.role\W{1,4}input should be\W{1,4}user/i,
  /(?:unexpected|unknown|invalid|unsupported) (?:message )?role\W{1,8}system/i,
];
const NAMES_TOOL_CHANGE = /\btool_(?:addition|removal|definition)\b/;
/** Errors in a definition itself, in a message or among the tools. */
const REFUSED_DEFINITION =
  /\bmessages\.(\d{1,6})\.content\.(\d{1,6})\.tool_addition\.tool\.tool_definition\.definition\.|\btools[.[](\d{1,6})\]?\.(?:\w+\.)?input_schema\b/;

export function isRefusedRole(text: string): boolean {
  return REFUSED_ROLE.some((words) => words.test(text));
}

/** Recognises a refusal of inline tools: their beta, or their blocks. */
export function isRefusedToolChange(text: string): boolean {
  return (
    /inline-tools-\d/.test(text) ||
    (NAMES_TOOL_CHANGE.test(text) && (REFUSES_KIND.test(text) || EXTRA_INPUTS.test(text)))
  );
}

/**
 * The changes of tools in messages contradict each other, or are too many. The same request always
 * fails.
 */
const REFUSED_CHANGES = /^(?:tool_reference_unresolved|tool_name_conflict|available_tools_limit_exceeded)$/;

/** `code` is the error's, where it has one. */
export function isUnresolvedTool(code: string, text: string): boolean {
  return REFUSED_CHANGES.test(code) || /is not defined at this position in the conversation/i.test(text);
}

/** Where a definition stands: among the tools of a request, or in a block of a message. */
export type DefinitionAt =
  | { readonly tool: number }
  | { readonly message: number; readonly block: number }
  /** A tool of the API's own that this server or this account does not have. */
  | { readonly named: string };

/**
 * A server without the tool, a model without the ability, an account with it turned off, or bounds
 * that it does not take.
 */
const REFUSED_SEARCH = [
  /does not support (?:the )?tool types?\b[^.]{0,200}web_search/i,
  /\bweb[ _]search\b[^.]{0,100}(?:not|un)[ -]?(?:enabled|available|supported|allowed|permitted)|\bweb[ _]search\b[^.]{0,60}disabled/i,
  /\btools[.[]\d{1,6}\b[^]{0,300}\bweb_search_\d{8}/i,
  /web_search_\d{8}\W{1,4}(?:found using|is not|does not|unknown|unexpected)/i,
];

/** Finds the tool that the API takes with no other definition; undefined for other refusals. */
export function findRefusedDefinition(text: string): DefinitionAt | undefined {
  if (REFUSED_SEARCH.some((words) => words.test(text))) return { named: WEB_SEARCH };
  const [, message, block, tool] = REFUSED_DEFINITION.exec(text) ?? [];
  if (tool !== undefined) return { tool: Number(tool) };
  return message === undefined ? undefined : { message: Number(message), block: Number(block) };
}

/** Stands for the header among the names of fields. */
export const BETA_HEADER = 'anthropic-beta';

/**
 * Matches one or more fields as they were sent, perhaps quoted twice, since gateways nest errors.
 */
const FIELD_NAME = '[\\s\'"`\\\\(:]*([a-z_][\\w.\\[\\]-]*)';

/** The words by which servers refuse an unknown field: serde, zod, Go, OpenAI. */
const UNKNOWN_FIELD: readonly RegExp[] = [
  new RegExp(`unknown (?:field|parameter|argument)s?${FIELD_NAME}`, 'i'),
  new RegExp(
    `unrecogni[sz]ed (?:request )?(?:key\\(s\\) in object|field|key|parameter|argument)s?(?: supplied)?${FIELD_NAME}`,
    'i',
  ),
  new RegExp(`(?:unexpected|unsupported) (?:field|parameter|keyword argument|property)s?${FIELD_NAME}`, 'i'),
  /property [\s'"`\\]*([a-z_][\w.[\]-]*)[\s'"`\\]* (?:is not supported|should not exist)/i,
];

/** Pydantic names the field before a colon. */
const EXTRA_INPUTS = /extra inputs (?:are|is) not permitted/i;
const NAME = /[a-z_][\w.[\]-]*/gi;
/** How many characters before those words are searched. */
const MOST_NAME = 200;

/** Matches a refusal of the header's values. Bedrock says no more than that. */
const UNKNOWN_BETA =
  /(?:un(?:expected|known|supported|recogni[sz]ed)|invalid) (?:values?(?:\(s\))?|betas?|header)[^.]{0,300}\banthropic[-_]beta\b|\banthropic[-_]beta\b[^.]{0,300} (?:is|are) (?:not|un)[ -]?(?:supported|recogni[sz]ed|known|valid)|invalid beta flag|unsupported beta/i;

/**
 * Returns a path to a field, `anthropic-beta` for a value of that header; undefined for other
 * refusals.
 */
export function findRefusedField(text: string): string | undefined {
  if (UNKNOWN_BETA.test(text)) return BETA_HEADER;
  const extra = text.search(EXTRA_INPUTS);
  if (extra >= 0)
    return text
      .slice(Math.max(0, extra - MOST_NAME), extra)
      .match(NAME)
      ?.at(-1);
  for (const words of UNKNOWN_FIELD) {
    const field = words.exec(text)?.[1];
    if (field !== undefined) return field.replace(/[.]$/, '');
  }
  return undefined;
}
