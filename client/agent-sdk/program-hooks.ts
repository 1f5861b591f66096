// Calls the hooks for what happens to the query rather than in its session: it resumes one, it
// ends, or a person is asked. They run in the program's process, outside the session.
import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { pause, runWithin } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf } from '../../system/text.ts';
import type {
  HookEvent,
  HookInput,
  HookJSONOutput,
  Hooks,
  PermissionRequestHookSpecificOutput,
  SyncHookJSONOutput,
} from './shapes/hooks.ts';
import type { SDKMessage } from './shapes/messages.ts';
import type { PermissionResult } from './shapes/facts.ts';
import type { SDKHookResponseMessage, SDKHookStartedMessage } from './shapes/system-messages.ts';

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

// Tells a program of its own hooks as they run: `hook_started` and `hook_response`, for those that
// are called and no others.
type Facts<Message> = Omit<Message, 'uuid' | 'session_id'>;

export type HookNews = Facts<SDKHookStartedMessage> | Facts<SDKHookResponseMessage>;

/** Joins the hooks, which run beside the conversation, with what the program is told of it. */
export type HookRelay = {
  readonly order: CallOrder;
  /** Set by the conversation of a program that is told of its hooks. */
  onNews: (news: HookNews) => void;
};

export function createHookRelay(): HookRelay {
  return { order: new CallOrder(), onNews: () => undefined };
}

/** Calls a hook between the news that it starts and what it came to. Throws what it throws. */
export async function tellHook(
  relay: Pick<HookRelay, 'onNews'>,
  { name, event }: { readonly name: string; readonly event: string },
  run: () => Promise<HookJSONOutput>,
): Promise<HookJSONOutput> {
  const facts = { hook_id: randomUUID(), hook_name: name, hook_event: event };
  const respond = (output: string, outcome: 'success' | 'error'): void =>
    relay.onNews({ type: 'system', subtype: 'hook_response', ...facts, output, stdout: '', stderr: '', outcome });
  relay.onNews({ type: 'system', subtype: 'hook_started', ...facts });
  try {
    const output = await run();
    respond(JSON.stringify(output), 'success');
    return output;
  } catch (error) {
    respond(reasonOf(error), 'error');
    throw error;
  }
}

// Keeps the order in which a program hears of a call: the message that has the call comes first,
// then what its hooks and `canUseTool` are asked about it. They run as soon as the call does, while
// the message is still on its way through the store.
/** Milliseconds to wait for a message, which a lost live channel may delay. */
export const MOST_WAIT_MS = 10_000;
/** Milliseconds to wait while the program works on an earlier message: it may wait for the hook. */
const HELD_MS = 1_000;
/** The calls that are remembered; older ones are over. */
const MOST_CALLS = 10_000;

export class CallOrder {
  readonly #received = new RecentMap<string, true>(MOST_CALLS);
  #isRead: (session: string) => boolean = () => false;
  /** Since when the program has held a message; Infinity while it asks for the next one. */
  #heldSince = Infinity;
  #change = new AbortController();

  /**
   * Resolves when the program has received the message with the call, or when it is not about to:
   * nobody reads the session's messages, or the program is busy with an earlier one.
   */
  async awaitCall(session: string, toolUseId: string, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + MOST_WAIT_MS;
    while (!this.#received.has(toolUseId) && this.#isRead(session)) {
      const left = Math.min(deadline, this.#heldSince + HELD_MS) - performance.now();
      if (left <= 0 || signal.aborted) break;
      await pause(left, AbortSignal.any([signal, this.#change.signal]));
    }
    // The program's own code runs first with a message that it has just received.
    await turn();
  }

  /** Notes calls whose message the program does not get. */
  pass(toolUseIds: readonly string[]): void {
    const unknown = toolUseIds.filter((id) => !this.#received.has(id));
    for (const id of unknown) this.#received.set(id, true);
    if (unknown.length > 0) this.#changed();
  }

  /** Passes messages on, and notes the calls in them. `isRead` names their sessions. */
  async *watch(messages: AsyncIterable<SDKMessage>, isRead: (session: string) => boolean): AsyncGenerator<SDKMessage> {
    this.#isRead = isRead;
    this.#heldSince = Infinity;
    try {
      for await (const message of messages) {
        this.#heldSince = performance.now();
        this.#changed();
        this.pass(callsOf(message));
        yield message;
        this.#heldSince = Infinity;
        this.#changed();
      }
    } finally {
      this.#isRead = () => false;
      this.#changed();
    }
  }

  #changed(): void {
    this.#change.abort();
    this.#change = new AbortController();
  }
}

function callsOf(message: SDKMessage): readonly string[] {
  if (message.type !== 'assistant') return [];
  return message.message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
}
