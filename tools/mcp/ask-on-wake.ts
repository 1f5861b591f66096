// Asks a server at an address whether it still answers, each time this machine has slept: its
// connection may have died meanwhile, and nobody would notice before the time of a call is over.
import { z } from 'zod';
import { pause } from '../../system/async.ts';
import { listenForWakes } from '../../system/wakes.ts';
import { McpError } from './failures.ts';
import type { Link } from './link.ts';

/**
 * Tries that share the time: the first may go over a connection that died, and a network needs some
 * seconds to come back.
 */
const TRIES = 4;

/**
 * Asks until the link is closed. `lose` is called with the end of a sentence when no answer came
 * `withinMs` after a sleep.
 */
export function askOnWake(link: Link, withinMs: number, lose: (why: string) => void): void {
  const closed = new AbortController();
  let isAsking = false;
  const wakes = listenForWakes((ms) => {
    if (isAsking) return;
    isAsking = true;
    void ask(link, withinMs / TRIES, closed.signal).then((failure) => {
      isAsking = false;
      if (failure === null) return;
      lose(`this machine slept, or its clock was set, by ${Math.round(ms / 1_000)} s, and after that: ${failure}`);
    });
  });
  void link.closed.then(() => {
    wakes.stop();
    closed.abort();
  });
}

/** Returns why the server is of no use, or null where it answers, or the link is closed. */
async function ask(link: Link, tryMs: number, closed: AbortSignal): Promise<string | null> {
  let failure: string | null = null;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const rest = pause(tryMs, closed);
    try {
      await link.request('ping', {}, z.looseObject({}), { signal: closed, timeout: tryMs });
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
