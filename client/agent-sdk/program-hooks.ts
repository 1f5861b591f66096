// Calls the hooks for what happens to the query rather than in its session: it resumes one, it
// ends, or a person is asked. They run in the program's process, outside the session.
import { runWithin } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { type HookRelay, tellHook } from './hook-events.ts';
import type { PermissionRequestHookSpecificOutput, SyncHookJSONOutput } from './shapes/hook-answers.ts';
import type { HookEvent, HookInput, Hooks } from './shapes/hooks.ts';
import type { PermissionResult } from './shapes/permissions.ts';

type ProgramEvent = 'SessionStart' | 'SessionEnd' | 'Notification' | 'PermissionRequest';

export const PROGRAM_EVENTS: readonly HookEvent[] = [
  'SessionStart',
  'SessionEnd',
  'Notification',
  'PermissionRequest',
] satisfies ProgramEvent[];

export type ProgramHooks = {
  /**
   * Returns the answers of the hooks that neither threw nor took too long. Matchers are compared
   * with `subject`; without it all hooks are called.
   */
  tell(event: ProgramEvent, facts: object, subject?: string): Promise<readonly SyncHookJSONOutput[]>;
};

type QueryFacts = {
  readonly session: string;
  readonly cwd: string;
  readonly mode: string;
  readonly signal: AbortSignal;
  readonly relay: Pick<HookRelay, 'onNews'>;
  readonly say: (line: string) => void;
};

/** Milliseconds for a hook that names no timeout. */
export const TIMEOUT_MS = 60_000;

/** Names a hook for people, by its event and its place among the hooks of its matcher. */
export function hookName(event: HookEvent, at: number, count: number): string {
  return `${event}${count > 1 ? `-${at + 1}` : ''}`;
}

export function createProgramHooks(
  hooks: Hooks | undefined,
  { session, cwd, mode, signal, relay, say }: QueryFacts,
): ProgramHooks {
  return {
    tell: async (event, facts, subject) => {
      const common = { session_id: session, transcript_path: '', cwd, permission_mode: mode };
      const input = { hook_event_name: event, ...common, ...facts } as HookInput;
      const meant = (hooks?.[event] ?? []).filter(({ matcher }) => matcherOf(matcher)(subject ?? null));
      const calls = meant.flatMap(({ hooks: callbacks, timeout }) =>
        callbacks.map(async (callback, at) => {
          const name = hookName(event, at, callbacks.length);
          const ms = timeout === undefined ? TIMEOUT_MS : Math.ceil(timeout * 1_000);
          try {
            const output = await tellHook(relay, { name, event }, () =>
              runWithin(ms, signal, (either) => callback(input, undefined, { signal: either })),
            );
            if ('async' in output) return [];
            if (output.systemMessage !== undefined) say(output.systemMessage);
            return [output];
          } catch (error) {
            say(`a ${event} hook of the program failed: ${reasonOf(error)}`);
            return [];
          }
        }),
      );
      return (await Promise.all(calls)).flat();
    },
  };
}

/** A matcher is a regular expression for whole names. Absent, empty and `*` match all. */
export function matcherOf(matcher: string | undefined): (tool: string | null) => boolean {
  if (matcher === undefined || matcher === '' || matcher === '*') return () => true;
  const pattern = new RegExp(`^(?:${matcher})$`);
  return (tool) => tool === null || pattern.test(tool);
}

/** Returns the first denial, else the first decision, else null. */
export function permissionOf(outputs: readonly SyncHookJSONOutput[]): PermissionResult | null {
  const decisions = outputs.flatMap(({ hookSpecificOutput: specific }) =>
    specific?.hookEventName === 'PermissionRequest' ? [specific.decision] : [],
  );
  const first = decisions.find(({ behavior }) => behavior === 'deny') ?? decisions[0];
  return first === undefined ? null : resultOf(first);
}

function resultOf(decision: PermissionRequestHookSpecificOutput['decision']): PermissionResult {
  return decision.behavior === 'allow' ? decision : { message: 'a hook of the program denied it', ...decision };
}

/** Joins what the SessionStart hooks add for the model. */
export function contextOf(outputs: readonly SyncHookJSONOutput[]): string | undefined {
  const texts = outputs.flatMap(({ hookSpecificOutput: specific }) =>
    specific?.hookEventName === 'SessionStart' && specific.additionalContext ? [specific.additionalContext] : [],
  );
  return texts.length === 0 ? undefined : texts.join('\n\n');
}
