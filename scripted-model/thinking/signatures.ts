// The signature of a block of thinking: what it records, and how it is read again. It holds all of
// that itself, so that a conversation goes on after a restart of this server. Signatures that a
// script chose, and redacted thinking, are known as long as the server lives.
import { RecentMap } from '../../system/recent-map.ts';
import { digestTexts, encodeSigned, readSigned } from '../signed.ts';

/** The prefix of the block when it was made: digests, and the block of thinking before it. */
export type Binding = {
  readonly system: string;
  readonly tools: string;
  /** A digest of the tools that are not deferred. */
  readonly fixedTools: string;
  readonly messages: string;
  /** The compaction in whose place the conversation began, or null. */
  readonly compaction: string | null;
  /** The id of the block of thinking that the model saw last, or null for the first block. */
  readonly previous: string | null;
};

type SignedThinking = {
  readonly model: string;
  readonly account: string;
  /** Bytes of the thinking, shown or not. */
  readonly size: number;
  /** The prefix that the block is bound to; null for models without the prefix check. */
  readonly binding: Binding | null;
};

/**
 * A block of thinking that is sent back: its record, under the name by which later blocks refer to
 * it.
 */
export type ReadBlock = SignedThinking & { readonly id: string };

export type Signatures = {
  /** Signs a block. `chosen` is the script's own text for the signature. */
  sign(signed: SignedThinking, thinking: string, chosen?: string): { readonly signature: string; readonly id: string };
  /**
   * Reads a signature. Empty when it was not signed here, or was changed; several when a script
   * chose one text for several blocks.
   */
  read(thinking: string, signature: string): readonly ReadBlock[];
};

/**
 * Returns the bytes that a block of thinking costs when it is sent back; undefined when its
 * signature does not say.
 */
export function readThinkingSize(signature: string): number | undefined {
  return (readSigned(signature)?.value as Partial<SignedThinking> | undefined)?.size;
}

const MOST_CHOSEN = 10_000;

export function createSignatures(): Signatures {
  const chosenOnes = new RecentMap<string, readonly ReadBlock[]>(MOST_CHOSEN);
  return {
    sign(signed, thinking, chosen) {
      const signedBlock = encodeSigned({ thinking: digestTexts(thinking), ...signed });
      if (chosen === undefined) return signedBlock;
      const key = digestTexts(chosen, thinking);
      chosenOnes.set(key, [...(chosenOnes.get(key) ?? []), { ...signed, id: signedBlock.id }]);
      return { signature: chosen, id: signedBlock.id };
    },
    read(thinking, signature) {
      const own = readSigned(signature);
      if (own === undefined) return chosenOnes.get(digestTexts(signature, thinking)) ?? [];
      const signed = own.value as SignedThinking & { readonly thinking?: string };
      return signed.thinking === digestTexts(thinking) ? [{ ...signed, id: own.id }] : [];
    },
  };
}
