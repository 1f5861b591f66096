// Signed blocks of compaction: made of a scripted summary, known again when they come back, and
// what they stand for in a prefix.
import { digestOf, encodeSigned, readSigned } from '../signed.ts';
import { isObject, type Json } from '../validate/shape.ts';

/**
 * What matters of a compaction to thinking that was made before it: who made it, and with which
 * system prompt and tools.
 */
export type CompactionFacts = {
  readonly id: string;
  /** Made by a model with the prefix check. */
  readonly preserves: boolean;
  readonly system: string;
  /** The tools that are not deferred. */
  readonly fixedTools: string;
};

export type CompactionRecord = CompactionFacts & {
  /**
   * Of the summarised messages: what they come to, who spoke last, and the deferred tools they
   * referred to.
   */
  readonly messages: string;
  readonly lastRole: string;
  readonly referred: readonly string[];
  /** Compactions whose summaries are in this one, newest first. */
  readonly earlier: readonly CompactionFacts[];
};

type Signed = {
  readonly kind: 'compaction';
  readonly content: string;
  readonly toolChanges: string;
  readonly record: Omit<CompactionRecord, 'id'>;
};

export function makeCompactionBlock(
  summary: string,
  record: Omit<CompactionRecord, 'id'>,
  toolChanges: readonly object[] | undefined,
): Json {
  const signed: Signed = {
    kind: 'compaction',
    content: digestOf(summary),
    toolChanges: changesOf(toolChanges),
    record,
  };
  return {
    type: 'compaction',
    content: summary,
    encrypted_content: Buffer.from(digestOf(summary, record.messages)).toString('base64'),
    signature: encodeSigned(signed).signature,
    ...(toolChanges === undefined ? {} : { tool_changes: toolChanges }),
  };
}

/** The block that the conversation begins with. */
export function leadingBlock(messages: readonly { readonly content?: unknown }[]): Json | undefined {
  const content = messages[0]?.content;
  const block: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(block) && block['type'] === 'compaction' ? block : undefined;
}

/** Undefined: the signature is none of ours. */
export function readCompaction(block: Json): CompactionRecord | undefined {
  const { signed, id } = read(block);
  return signed?.kind === 'compaction' ? { ...signed.record, id } : undefined;
}

/** What was changed in a block with a signature of ours. */
export function changedPart(block: Json): 'content' | 'tool_changes' | undefined {
  const { signed } = read(block);
  if (signed?.content !== digestOf(String(block['content']))) return 'content';
  return signed.toolChanges === changesOf(block['tool_changes']) ? undefined : 'tool_changes';
}

function read(block: Json): { readonly signed: Signed | undefined; readonly id: string } {
  const found = readSigned(String(block['signature']));
  return { signed: found?.value as Signed | undefined, id: found?.id ?? '' };
}

function changesOf(changes: unknown): string {
  return changes === undefined || changes === null ? '' : digestOf(JSON.stringify(changes));
}
