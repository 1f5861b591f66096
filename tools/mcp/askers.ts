// Whom a server means that asks people in the middle of a call (elicitation, L77): it does not say
// in which one it asks.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';

/**
 * `session`: whose people are asked. Without `answer` they are not: but a server may ask for it all
 * the same.
 */
export type Asker = { readonly session: string; readonly answer?: OnAsked };

/** `signal`: the server no longer waits. */
export type OnAsked = (asked: ElicitRequest['params'], signal: AbortSignal) => Promise<ElicitResult>;

/** The calls that are under way on one connection. */
export class Askers {
  readonly #open = new Set<Asker>();
  #hasGivenUp = false;

  begin(asker: Asker): void {
    this.#open.add(asker);
  }

  end(asker: Asker): void {
    this.#open.delete(asker);
  }

  /** The server may still work on the call: what it asks from now on may be about that one. */
  giveUp(asker: Asker): void {
    this.#hasGivenUp = true;
    this.end(asker);
  }

  /**
   * Of one session in the last call that began, and not where people of another could be asked, or
   * for a call that is over.
   */
  readonly ask: OnAsked = (asked, gone) => {
    const [last, ...others] = [...this.#open].toReversed();
    if (!last || this.#hasGivenUp || others.some(({ session }) => session !== last.session))
      return Promise.reject(new Error('it is refused: it cannot be told which call asks'));
    return last.answer?.(asked, gone) ?? Promise.resolve({ action: 'cancel' });
  };
}
