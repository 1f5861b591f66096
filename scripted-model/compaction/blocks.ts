// Signed blocks of compaction: made of a scripted summary, recognised when they come back, with the
// record of the messages they stand for.
import { digestTexts, encodeSigned, readSigned } from '../signed.ts';
import { isObject, type Json } from '../validate/shape.ts';
import { present } from '../../workflows/contract/present.ts';

/**
 * The facts of a compaction that matter to thinking made before it: its maker, its system prompt
 * and its tools.
 */
export type CompactionFacts = {
  readonly id: string;
  /** A model with the prefix check made it. */
  readonly preserves: boolean;
  readonly system: string;
  /** A digest of the tools that are not deferred. */
  readonly fixedTools: string;
};

export type CompactionRecord = CompactionFacts & {
  /**
   * Facts of the summarised messages: their digest, the last role, and the deferred tools that they
   * referred to.
   */
  readonly messages: string;
  readonly lastRole: string;
  readonly referred: readonly string[];
  /** Compactions whose summaries are in this one, newest first. */
  readonly earlier: readonly CompactionFacts[];
};

type SignedCompaction = {
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
  const signed: SignedCompaction = {
    kind: 'compaction',
    content: digestTexts(summary),
    toolChanges: digestChanges(toolChanges),
    record,
  };
  return {
    type: 'compaction',
    content: summary,
    encrypted_content: Buffer.from(digestTexts(summary, record.messages)).toString('base64'),
    signature: encodeSigned(signed).signature,
    ...present({ tool_changes: toolChanges }),
  };
}

/** Returns the compaction block that the conversation begins with. */
export function findLeadingBlock(messages: readonly { readonly content?: unknown }[]): Json | undefined {
  const content = messages[0]?.content;
  const block: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(block) && block['type'] === 'compaction' ? block : undefined;
}

/** Reads the record. Undefined: the signature is not ours. */
export function readCompaction(block: Json): CompactionRecord | undefined {
  const { signed, id } = readBlockSignature(block);
  return signed?.kind === 'compaction' ? { ...signed.record, id } : undefined;
}

/** Names the part that was changed in a block with a signature of ours. */
export function findChangedPart(block: Json): 'content' | 'tool_changes' | undefined {
  const { signed } = readBlockSignature(block);
  if (signed?.content !== digestTexts(String(block['content']))) return 'content';
  return signed.toolChanges === digestChanges(block['tool_changes']) ? undefined : 'tool_changes';
}

function readBlockSignature(block: Json): { readonly signed: SignedCompaction | undefined; readonly id: string } {
  const found = readSigned(String(block['signature']));
  return { signed: found?.value as SignedCompaction | undefined, id: found?.id ?? '' };
}

function digestChanges(changes: unknown): string {
  return changes === undefined || changes === null ? '' : digestTexts(JSON.stringify(changes));
}
