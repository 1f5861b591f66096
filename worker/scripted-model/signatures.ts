// Signs thinking the way the API does: a signature holds for one text and one model. Signatures of our own are a hash, so they
// are known again after a restart; those a script chose are known as long as the server lives.
import { createHash } from 'node:crypto';

export type Signatures = {
  /** The signature of `thinking`; `chosen` is the script's own. */
  sign(model: string, thinking: string, chosen?: string): string;
  verify(model: string, thinking: string, signature: string): boolean;
};

export function signatures(): Signatures {
  const chosenOnes = new Set<string>();
  return {
    sign(model, thinking, chosen) {
      if (chosen === undefined) return digest(model, thinking);
      chosenOnes.add(digest(model, thinking, chosen));
      return chosen;
    },
    verify(model, thinking, signature) {
      return signature === digest(model, thinking) || chosenOnes.has(digest(model, thinking, signature));
    },
  };
}

function digest(...parts: readonly string[]): string {
  return `scripted${createHash('sha256').update(JSON.stringify(parts)).digest('base64')}`;
}
