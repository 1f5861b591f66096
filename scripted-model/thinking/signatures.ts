// What the signature of a block of thinking records, and how it is read again. It holds all of that
// itself, so that a conversation goes on after a restart of this server; signatures that a script
// chose, and redacted thinking, are known as long as the server lives.
import { RecentMap } from '../../system/recent-map.ts';
import { digestOf, encodeSigned, readSigned } from '../signed.ts';

/** What stood before the block when it was made: digests, and the block of thinking before it. */
export type Binding = {
  readonly system: string;
  readonly tools: string;
  /** Of the tools that are not deferred. */
  readonly fixedTools: string;
  readonly messages: string;
  /** The compaction in whose place the conversation began; null: none. */
  readonly compaction: string | null;
  /** The id of the block of thinking that the model saw last; null: there was none. */
  readonly previous: string | null;
};

export type Signed = {
  readonly model: string;
  readonly account: string;
  /** Bytes of what was thought, shown or not. */
  readonly size: number;
  /** Null for models without the prefix check, which record nothing. */
  readonly binding: Binding | null;
};

/**
 * A block of thinking that is sent back: what it records, under the name by which later blocks
 * refer to it.
 */
export type ReadBlock = Signed & { readonly id: string };

export type Signatures = {
  /** `chosen`: the script's own text for it. */
  sign(signed: Signed, thinking: string, chosen?: string): { readonly signature: string; readonly id: string };
  /**
   * Nothing when it was not signed here, or was changed; several when a script chose one text for
   * several blocks.
   */
  read(thinking: string, signature: string): readonly ReadBlock[];
};

/**
 * Bytes that a block of thinking costs when it is sent back; undefined: its signature does not say.
 */
export function thinkingSize(signature: string): number | undefined {
  return (readSigned(signature)?.value as Partial<Signed> | undefined)?.size;
}

const MOST_CHOSEN = 10_000;

export function createSignatures(): Signatures {
  const chosenOnes = new RecentMap<string, readonly ReadBlock[]>(MOST_CHOSEN);
  return {
    sign(signed, thinking, chosen) {
      const made = encodeSigned({ thinking: digestOf(thinking), ...signed });
      if (chosen === undefined) return made;
      const key = digestOf(chosen, thinking);
      chosenOnes.set(key, [...(chosenOnes.get(key) ?? []), { ...signed, id: made.id }]);
      return { signature: chosen, id: made.id };
    },
    read(thinking, signature) {
      const own = readSigned(signature);
      if (own === undefined) return chosenOnes.get(digestOf(signature, thinking)) ?? [];
      const signed = own.value as Signed & { readonly thinking?: string };
      return signed.thinking === digestOf(thinking) ? [{ ...signed, id: own.id }] : [];
    },
  };
}
