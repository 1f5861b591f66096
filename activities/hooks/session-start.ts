// Hooks at the start of a session: what they say belongs to the system prompt of each of its runs, found out once (L58).
import type { OpenRun } from '../../workflows/contract/activities.ts';
import { queryId } from '../../workflows/contract/ids.ts';
import { type Attempt, givenUp } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { stepRecord } from '../step-record.ts';
import type { HookFailure, HookText } from './hooks.ts';

export type SessionStarted = { readonly context: readonly HookText[]; readonly failed: readonly HookFailure[] };

/** Recorded: a later run, and another attempt, read what the first found out. Throws StoreError. */
export async function sessionStart(
  deps: Pick<Deps, 'hooks' | 'store'>,
  attempt: Attempt,
  { chain, run, begins }: Pick<OpenRun, 'chain' | 'run' | 'begins'>,
  cwd: string,
): Promise<SessionStarted> {
  const { session, signal } = attempt;
  if (!deps.hooks.has('sessionStart')) return { context: [], failed: [] };
  const record = stepRecord<readonly HookText[]>(deps.store, attempt, chain, 'sessionStart');
  const known = await record.read();
  // Hooks that came with a later worker did not see the session start.
  if (known !== null || !begins) return { context: known ?? [], failed: [] };
  const context = { session, queryId: queryId(chain, run), depth: 0, iteration: 0, cwd, signal };
  const said = await deps.hooks.sessionStart(context);
  // Stopped or given up (L50): what the hooks would have said, another attempt or the next run finds out.
  if (signal.aborted) throw givenUp(attempt);
  const { result } = await record.record(said.context, new TextEncoder().encode(JSON.stringify(said.context)));
  return { context: result, failed: said.failed };
}

export function withContext(system: string, context: readonly HookText[]): string {
  return [system, ...context.map(({ hook, text }) => `Added by the hook ${hook}:\n${text}`)].join('\n\n');
}
