// How a line of the log names the run it is about (L13).
import type { RunConfig } from './run-config.ts';

export function queryName({ session, queryId, depth }: Pick<RunConfig, 'session' | 'queryId' | 'depth'>): string {
  return `session ${session}, query ${queryId}, depth ${depth}`;
}
