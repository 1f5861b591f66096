// Checks one content block of a message as the API does: its kind, its fields, the role it stands
// under.
import { extraKeyProblem, firstProblem, isObject, stringProblem, type Json } from './shape.ts';

type Verify = (thinking: string, signature: string) => boolean;
type Check = (block: Json, path: string, verify: Verify) => string | undefined;

const USER_CHECKS: Readonly<Record<string, Check>> = {
  text: userTextProblem,
  image: imageProblem,
  document: sourceProblem,
  search_result: () => undefined,
  container_upload: () => undefined,
  tool_result: toolResultProblem,
};

const ASSISTANT_CHECKS: Readonly<Record<string, Check>> = {
  text: textProblem,
  thinking: thinkingProblem,
  redacted_thinking: redactionProblem,
  tool_use: toolUseProblem,
  server_tool_use: serverUseProblem,
  web_search_tool_result: searchResultProblem,
};

const resultKeys = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name']);
const useKeys = new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller', 'toolset_name']);
const thinkingKeys = new Set(['type', 'thinking', 'signature']);
const redactedKeys = new Set(['type', 'data']);

/** These have checks of their own, which know the request around them. */
const ELSEWHERE = ['compaction', 'fallback'];

const ROLES = { user: USER_CHECKS, assistant: ASSISTANT_CHECKS } as const;

export function blockProblem(
  block: unknown,
  role: keyof typeof ROLES,
  path: string,
  verify: Verify,
): string | undefined {
  if (!isObject(block)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const type = String(block['type']);
  if (ELSEWHERE.includes(type)) return undefined;
  const check = Object.hasOwn(ROLES[role], type) ? ROLES[role][type] : undefined;
  if (check !== undefined) return check(block, path, verify);
  if (role === 'assistant' && type !== 'tool_result' && type.endsWith('_tool_result')) return undefined;
  return placementProblem(type, path) ?? unknownTagProblem(type, path, { ...USER_CHECKS, ...ASSISTANT_CHECKS });
}

function placementProblem(type: string, path: string): string | undefined {
  const [home] = Object.entries(ROLES).find(([, checks]) => Object.hasOwn(checks, type)) ?? [];
  const message = path.split('.').slice(0, 2).join('.');
  return home === undefined ? undefined : `${message}: \`${type}\` blocks can only be in \`${home}\` messages`;
}

function unknownTagProblem(type: string, path: string, known: object): string {
  const tags = Object.keys(known).join("', '");
  return `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: '${tags}'`;
}

function sourceProblem(block: Json, path: string): string | undefined {
  return isObject(block['source']) ? undefined : `${path}.${String(block['type'])}.source: Field required`;
}

function imageProblem(block: Json, path: string): string | undefined {
  const missing = sourceProblem(block, path);
  if (missing !== undefined) return missing;
  const source = block['source'] as Json;
  const data = source['data'];
  if (source['type'] !== 'base64') return undefined;
  return typeof data === 'string' && data !== '' ? undefined : `${path}.image.source.base64.data: Field required`;
}

function thinkingProblem(block: Json, path: string, verify: Verify): string | undefined {
  const { thinking, signature } = block;
  const malformed =
    extraKeyProblem(block, thinkingKeys, `${path}.thinking`) ??
    stringProblem(thinking, `${path}.thinking.thinking`) ??
    stringProblem(signature, `${path}.thinking.signature`);
  if (malformed !== undefined) return malformed;
  return verify(String(thinking), String(signature))
    ? undefined
    : `${path}: Invalid \`signature\` in \`thinking\` block`;
}

function redactionProblem(block: Json, path: string): string | undefined {
  const at = `${path}.redacted_thinking`;
  return extraKeyProblem(block, redactedKeys, at) ?? stringProblem(block['data'], `${at}.data`);
}

const serverUseKeys = new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller']);
const searchResultKeys = new Set(['type', 'tool_use_id', 'content', 'cache_control', 'caller']);
const pageKeys = new Set(['type', 'url', 'title', 'encrypted_content', 'page_age']);

function serverUseProblem(block: Json, path: string): string | undefined {
  const at = `${path}.server_tool_use`;
  const malformed = extraKeyProblem(block, serverUseKeys, at) ?? serverIdProblem(block['id'], `${at}.id`);
  if (malformed !== undefined) return malformed;
  return isObject(block['input']) ? undefined : `${at}.input: Input should be a valid dictionary`;
}

function searchResultProblem(block: Json, path: string): string | undefined {
  const at = `${path}.web_search_tool_result`;
  const { content } = block;
  const malformed =
    extraKeyProblem(block, searchResultKeys, at) ?? serverIdProblem(block['tool_use_id'], `${at}.tool_use_id`);
  if (malformed !== undefined) return malformed;
  if (!Array.isArray(content)) {
    return isObject(content) && typeof content['error_code'] === 'string' ? undefined : `${at}.content: Field required`;
  }
  return firstProblem(content as unknown[], (page, index) => pageProblem(page, `${at}.content.${index}`));
}

function pageProblem(page: unknown, path: string): string | undefined {
  if (!isObject(page)) return `${path}: Input should be a valid dictionary`;
  return (
    extraKeyProblem(page, pageKeys, path) ??
    firstProblem(['url', 'title', 'encrypted_content'], (key) => stringProblem(page[key], `${path}.${key}`))
  );
}

function serverIdProblem(id: unknown, path: string): string | undefined {
  const malformed = stringProblem(id, path);
  if (malformed !== undefined) return malformed;
  const pattern = '^srvtoolu_[a-zA-Z0-9_]+$';
  return new RegExp(pattern).test(String(id)) ? undefined : `${path}: String should match pattern '${pattern}'`;
}

function toolUseProblem(block: Json, path: string): string | undefined {
  const at = `${path}.tool_use`;
  const malformed =
    extraKeyProblem(block, useKeys, at) ??
    idProblem(block['id'], `${at}.id`) ??
    stringProblem(block['name'], `${at}.name`);
  if (malformed !== undefined) return malformed;
  const name = String(block['name']);
  if (name.length < 1) return `${at}.name: String should have at least 1 character`;
  if (name.length > 200) return `${at}.name: String should have at most 200 characters`;
  return isObject(block['input']) ? undefined : `${at}.input: Input should be a valid dictionary`;
}

function toolResultProblem(block: Json, path: string): string | undefined {
  const at = `${path}.tool_result`;
  const { content, is_error: isError } = block;
  const malformed = extraKeyProblem(block, resultKeys, at) ?? idProblem(block['tool_use_id'], `${at}.tool_use_id`);
  if (malformed !== undefined) return malformed;
  if (isError !== undefined && typeof isError !== 'boolean') return `${at}.is_error: Input should be a valid boolean`;
  const isList = Array.isArray(content);
  if (content !== undefined && typeof content !== 'string' && !isList) {
    return `${at}.content: Input should be a valid string or a valid list`;
  }
  const isEmpty = content === undefined || (content as string | unknown[]).length === 0;
  const hasMedia = isList && (content as unknown[]).some((part) => isObject(part) && part['type'] !== 'text');
  if (isError === true && hasMedia) return `${at}: all content must be type \`text\` if \`is_error\` is true`;
  if (isError === true && isEmpty) return `${at}: content cannot be empty if \`is_error\` is true`;
  return isList
    ? firstProblem(content as unknown[], (part, index) => partProblem(part, `${at}.content.${index}`))
    : undefined;
}

const PART_CHECKS: Readonly<Record<string, Check>> = {
  text: userTextProblem,
  image: imageProblem,
  document: sourceProblem,
  search_result: () => undefined,
  tool_reference: () => undefined,
  browser_state: () => undefined,
};

function partProblem(part: unknown, path: string): string | undefined {
  if (!isObject(part)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const type = String(part['type']);
  const check = Object.hasOwn(PART_CHECKS, type) ? PART_CHECKS[type] : undefined;
  if (check !== undefined) return check(part, path, () => true);
  return unknownTagProblem(type, path, PART_CHECKS);
}

function idProblem(id: unknown, path: string): string | undefined {
  const malformed = stringProblem(id, path);
  if (malformed !== undefined) return malformed;
  return /^[a-zA-Z0-9_-]+$/.test(String(id)) ? undefined : `${path}: String should match pattern '^[a-zA-Z0-9_-]+$'`;
}

const TEXT_KEYS = new Set(['type', 'text', 'cache_control', 'citations']);

export function textProblem(block: Json, path: string): string | undefined {
  const text = block['text'];
  const malformed = extraKeyProblem(block, TEXT_KEYS, `${path}.text`) ?? stringProblem(text, `${path}.text.text`);
  if (malformed !== undefined) return malformed;
  if (text === '' && block['cache_control']) return `${path}.text: cache_control cannot be set for empty text blocks`;
  return sayingProblem(String(text), path);
}

/** Checks a text of a user, which must not cite. */
function userTextProblem(block: Json, path: string): string | undefined {
  const { citations } = block;
  const cites = Array.isArray(citations) && citations.length > 0;
  return textProblem(block, path) ?? (cites ? `${path}.text.citations: not permitted in user messages` : undefined);
}

/**
 * Requires that a text says something: the API refuses an empty one, or one of white space alone.
 */
export function sayingProblem(text: string, path: string): string | undefined {
  if (text === '') return `${path}: text content blocks must be non-empty`;
  return /\S/.test(text) ? undefined : `${path}: text content blocks must contain non-whitespace text`;
}
