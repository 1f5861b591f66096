// Finds the person to ask when an MCP server asks in the middle of a call (elicitation, L77): it
// does not say in which call it asks.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';

/**
 * `session` names the session whose people are asked. Without `answer` they are not, but a server
 * may ask for it all the same.
 */
export type Asker = { readonly session: string; readonly answer?: OnAsked };

/** `signal` is aborted when the server no longer waits. */
export type OnAsked = (request: ElicitRequest['params'], signal: AbortSignal) => Promise<ElicitResult>;

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

  /**
   * Ends a call that was given up. The server may still work on it: a later question may be about
   * that call.
   */
  giveUp(asker: Asker): void {
    this.#hasGivenUp = true;
    this.end(asker);
  }

  /**
   * Asks the people of the last call that began; refuses where people of another session could be
   * asked, or for a call that is over.
   */
  readonly ask: OnAsked = (request, signal) => {
    const [last, ...others] = [...this.#open].toReversed();
    if (!last || this.#hasGivenUp || others.some(({ session }) => session !== last.session))
      return Promise.reject(new Error('it is refused: it cannot be told which call asks'));
    return last.answer?.(request, signal) ?? Promise.resolve({ action: 'cancel' });
  };
}
