// Asks a server at an address whether it still answers, each time this machine has slept: its
// connection may have died meanwhile, and nobody would notice before the time of a call is over.
import { pause } from '../../system/async.ts';
import { listenForWakes } from '../../system/wakes.ts';
import { McpError } from './failures.ts';

/**
 * Tries that share the time: the first may go over a connection that died, and a network needs some
 * seconds to come back.
 */
const TRIES = 4;

type AskedServer = {
  /** Throws McpError. `timeout` is in milliseconds. */
  readonly ping: (how: { readonly signal: AbortSignal; readonly timeout: number }) => Promise<unknown>;
  /** Resolves when the connection is over. */
  readonly closed: Promise<unknown>;
};

/**
 * Asks until the connection is over. `lose` is called with the end of a sentence when no answer came
 * `withinMs` after a sleep.
 */
export function askOnWake(server: AskedServer, withinMs: number, lose: (why: string) => void): void {
  const closed = new AbortController();
  let isAsking = false;
  const wakes = listenForWakes((ms) => {
    if (isAsking) return;
    isAsking = true;
    void ask(server, withinMs / TRIES, closed.signal).then((failure) => {
      isAsking = false;
      if (failure === null) return;
      lose(`this machine slept, or its clock was set, by ${Math.round(ms / 1_000)} s, and after that: ${failure}`);
    });
  });
  void server.closed.then(() => {
    wakes.stop();
    closed.abort();
  });
}

/** Returns why the server is of no use, or null where it answers, or its connection is over. */
async function ask({ ping }: AskedServer, tryMs: number, closed: AbortSignal): Promise<string | null> {
  let failure: string | null = null;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const rest = pause(tryMs, closed);
    try {
      await ping({ signal: closed, timeout: tryMs });
      return null;
    } catch (error) {
      if (closed.aborted || !(error instanceof McpError)) return null;
      if (error.kind === 'forgotten') return error.message;
      // Whatever else it answers, it is there.
      if (error.kind !== 'lost' && error.kind !== 'late') return null;
      failure = error.message;
    }
    if (!(await rest)) return null;
  }
  return failure;
}
