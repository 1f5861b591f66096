// Which part of a request a 400 is about, where the request may do without that part, or with it
// said otherwise.
import { WEB_SEARCH } from '../../../store/transcript/server-tools.ts';

/**
 * Kept thinking that was made after something else than what this request says before it. The same
 * request fails for ever.
 */
const UNBOUND_THINKING = /bound to a different conversation/i;

export function isUnboundThinking(said: string): boolean {
  return UNBOUND_THINKING.test(said);
}

/**
 * A summary that the API has signed, and does not take back: by its code, by its words, or where it
 * knows no block of the kind.
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

/** `code`: of the error, where it has one. A gateway may keep its words alone. */
export function isRefusedSummary(code: string, said: string): boolean {
  if (REFUSED_SUMMARY.test(code) || INVALID_SUMMARY.some((words) => words.test(said))) return true;
  return NAMES_SUMMARY.test(said) && REFUSES_KIND.test(said);
}

/** The API's words, pydantic's and those of servers that list the roles they know. */
const REFUSED_ROLE = [
  /role\W{1,4}system\W{1,4}is not supported/i,
  /\.role\W{1,4}input should be\W{1,4}user/i,
  /(?:unexpected|unknown|invalid|unsupported) (?:message )?role\W{1,8}system/i,
];
const NAMES_TOOL_CHANGE = /\btool_(?:addition|removal|definition)\b/;
/** What is said of a definition itself, in a message or among the tools. */
const REFUSED_DEFINITION =
  /\bmessages\.(\d{1,6})\.content\.(\d{1,6})\.tool_addition\.tool\.tool_definition\.definition\.|\btools[.[](\d{1,6})\]?\.(?:\w+\.)?input_schema\b/;

export function isRefusedRole(said: string): boolean {
  return REFUSED_ROLE.some((words) => words.test(said));
}

/** Its beta, or a block of it as such. */
export function isRefusedToolChange(said: string): boolean {
  return (
    /inline-tools-\d/.test(said) ||
    (NAMES_TOOL_CHANGE.test(said) && (REFUSES_KIND.test(said) || EXTRA_INPUTS.test(said)))
  );
}

/**
 * What messages have told of tools does not hold together, or is too much. The same request fails
 * for ever.
 */
const REFUSED_CHANGES = /^(?:tool_reference_unresolved|tool_name_conflict|available_tools_limit_exceeded)$/;

/** `code`: of the error, where it has one. */
export function isUnresolvedTool(code: string, said: string): boolean {
  return REFUSED_CHANGES.test(code) || /is not defined at this position in the conversation/i.test(said);
}

/** Where a definition stands: among the tools of a request, or in a block of a message. */
export type DefinitionAt =
  | { readonly tool: number }
  | { readonly message: number; readonly block: number }
  /** A tool of the API's own, which this one does not have, or not for this account. */
  | { readonly named: string };

/**
 * A server without it, a model that cannot, an account in which it is off, or bounds that these do
 * not take.
 */
const REFUSED_SEARCH = [
  /does not support (?:the )?tool types?\b[^.]{0,200}web_search/i,
  /\bweb[ _]search\b[^.]{0,100}(?:not|un)[ -]?(?:enabled|available|supported|allowed|permitted)|\bweb[ _]search\b[^.]{0,60}disabled/i,
  /\btools[.[]\d{1,6}\b[^]{0,300}\bweb_search_\d{8}/i,
  /web_search_\d{8}\W{1,4}(?:found using|is not|does not|unknown|unexpected)/i,
];

/**
 * Of a tool that the API takes with no other definition; undefined for a refusal of another kind.
 */
export function findRefusedDefinition(said: string): DefinitionAt | undefined {
  if (REFUSED_SEARCH.some((words) => words.test(said))) return { named: WEB_SEARCH };
  const [, message, block, tool] = REFUSED_DEFINITION.exec(said) ?? [];
  if (tool !== undefined) return { tool: Number(tool) };
  return message === undefined ? undefined : { message: Number(message), block: Number(block) };
}

/** The header's own name stands for it among the fields. */
export const BETA_HEADER = 'anthropic-beta';

/**
 * The names of one or more fields, as they were sent, perhaps quoted twice: gateways put one error
 * into another.
 */
const NAMED = '[\\s\'"`\\\\(:]*([a-z_][\\w.\\[\\]-]*)';

/**
 * The words by which servers refuse a field that they do not know: serde's, zod's, Go's, OpenAI's.
 */
const UNKNOWN_FIELD: readonly RegExp[] = [
  new RegExp(`unknown (?:field|parameter|argument)s?${NAMED}`, 'i'),
  new RegExp(
    `unrecogni[sz]ed (?:request )?(?:key\\(s\\) in object|field|key|parameter|argument)s?(?: supplied)?${NAMED}`,
    'i',
  ),
  new RegExp(`(?:unexpected|unsupported) (?:field|parameter|keyword argument|property)s?${NAMED}`, 'i'),
  /property [\s'"`\\]*([a-z_][\w.[\]-]*)[\s'"`\\]* (?:is not supported|should not exist)/i,
];

/** Pydantic's, which name the field before a colon. */
const EXTRA_INPUTS = /extra inputs (?:are|is) not permitted/i;
const NAME = /[a-z_][\w.[\]-]*/gi;
/** Characters before them that are looked at. */
const MOST_NAME = 200;

/** Whose values, and not the header, are refused; Bedrock says no more than that. */
const UNKNOWN_BETA =
  /(?:un(?:expected|known|supported|recogni[sz]ed)|invalid) (?:values?(?:\(s\))?|betas?|header)[^.]{0,300}\banthropic[-_]beta\b|\banthropic[-_]beta\b[^.]{0,300} (?:is|are) (?:not|un)[ -]?(?:supported|recogni[sz]ed|known|valid)|invalid beta flag|unsupported beta/i;

/**
 * A path to a field, `anthropic-beta` for a value of that header; undefined for a refusal of
 * another kind.
 */
export function findRefusedField(said: string): string | undefined {
  if (UNKNOWN_BETA.test(said)) return BETA_HEADER;
  const extra = said.search(EXTRA_INPUTS);
  if (extra >= 0)
    return said
      .slice(Math.max(0, extra - MOST_NAME), extra)
      .match(NAME)
      ?.at(-1);
  for (const words of UNKNOWN_FIELD) {
    const field = words.exec(said)?.[1];
    if (field !== undefined) return field.replace(/[.]$/, '');
  }
  return undefined;
}
