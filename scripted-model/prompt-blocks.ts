// Renders a prompt as the API does for caching and counting: tools, then system, then messages,
// block by block.
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';
import { toBlocks } from './read-request.ts';
import { readThinkingSize } from './thinking/signatures.ts';

export type ParsedPromptBlock = {
  /** The block without its cache_control: equal blocks have equal parts. */
  readonly parts: readonly string[];
  readonly bytes: number;
  /** Set where a cache_control stands. */
  readonly breakpoint?: '5m' | '1h';
};

/** An image or a document costs about 1,600 tokens, whatever its bytes. */
const MEDIA_BYTES = 6_400;

/** The length of a signature does not count. */
const SIGNATURE_BYTES = 100;

export function listPromptBlocks(request: ParsedRequest): readonly ParsedPromptBlock[] {
  const blocks: ParsedPromptBlock[] = [];
  // A deferred tool is not in the prompt until something refers to it, and then stands where that
  // does.
  const tools = (request.tools ?? []).filter(
    (tool) => (tool as { readonly defer_loading?: boolean }).defer_loading !== true,
  );
  for (const tool of tools) blocks.push(buildPromptBlock(tool, [toJson(tool)]));
  const system = typeof request.system === 'string' ? [{ text: request.system }] : (request.system ?? []);
  for (const part of system) blocks.push(buildPromptBlock(part, ['system', part.text]));
  // A change of these keeps tools and system cached, and loses the messages.
  const settings = JSON.stringify(listMessageSettings(request));
  for (const [index, message] of request.messages.entries()) {
    for (const content of toBlocks(message.content)) {
      blocks.push(
        buildPromptBlock(
          content,
          [...(index === 0 ? [settings] : []), message.role, ...listContentParts(content)],
          content,
        ),
      );
    }
  }
  const last = blocks.at(-1);
  if (request.cache_control && last !== undefined) {
    blocks[blocks.length - 1] = { ...last, breakpoint: request.cache_control.ttl ?? '5m' };
  }
  return blocks;
}

/**
 * Lists the settings that the messages depend on. The display of thinking, and the treatment of
 * changed prefixes, change nothing.
 */
function listMessageSettings({
  tool_choice: choice,
  thinking,
  output_config: config,
}: ParsedRequest): readonly unknown[] {
  const budget = thinking !== undefined && 'budget_tokens' in thinking ? thinking.budget_tokens : null;
  const { effort = null, task_budget: task = null } = (config ?? {}) as Readonly<Record<string, unknown>>;
  return [choice ?? null, thinking?.type ?? null, budget, effort, task];
}

export function countPromptTokens(blocks: readonly ParsedPromptBlock[]): number {
  return bytesToTokens(blocks.reduce((sum, { bytes }) => sum + bytes, 0));
}

export function bytesToTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

type Cacheable = { readonly cache_control?: { readonly ttl?: '5m' | '1h' } | null };

function buildPromptBlock(source: object, parts: readonly string[], content?: ContentBlockParam): ParsedPromptBlock {
  const control = (source as Cacheable).cache_control ?? findNestedControl(content);
  const bytes = countContentBytes(content) ?? parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  return { parts, bytes, ...(control ? { breakpoint: control.ttl ?? '5m' } : {}) };
}

/** Returns the bytes of content whose cost differs from its length; undefined for all else. */
function countContentBytes(content: ContentBlockParam | undefined): number | undefined {
  if (content?.type === 'image' || content?.type === 'document') return MEDIA_BYTES;
  if ((content?.type as string | undefined) === 'compaction')
    return Buffer.byteLength(String((content as { content?: unknown }).content));
  if (content?.type !== 'thinking') return undefined;
  return (readThinkingSize(content.signature) ?? Buffer.byteLength(content.thinking)) + SIGNATURE_BYTES;
}

function findNestedControl(content: ContentBlockParam | undefined): Cacheable['cache_control'] {
  if (content?.type !== 'tool_result' || typeof content.content === 'string') return undefined;
  return content.content?.map((part) => (part as Cacheable).cache_control).findLast((control) => control);
}

/**
 * Lists the parts of a block. Long texts are passed on as they are: to serialise them again would
 * cost more than everything else.
 */
function listContentParts(content: ContentBlockParam): readonly string[] {
  if (content.type === 'text') return ['text', content.text];
  if (content.type === 'tool_result' && typeof content.content === 'string') {
    return ['tool_result', content.tool_use_id, String(content.is_error === true), content.content];
  }
  return [toJson(content)];
}

function toJson(value: object): string {
  return JSON.stringify(value, (key, inner: unknown) => (key === 'cache_control' ? undefined : inner));
}
