// Turns the hooks of settings, which are commands, into hooks of the program. A command gets the
// input as JSON on its standard input. Its exit code 2 blocks, with what it wrote on standard error
// as the reason; after 0 its output may be an answer as JSON.
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Env } from '../../connection/data-folder.ts';
import { killTree } from '../../system/process/kill-tree.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { spawnPiped } from '../../system/process/spawn-piped.ts';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { HOOK_EVENTS } from './values.ts';
import type { HookCallback, HookCallbackMatcher, HookEvent, HookInput, HookJSONOutput, Hooks } from './shapes/hooks.ts';

const commandSchema = z.strictObject({
  type: z.literal('command', 'only those of type "command" are known here'),
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  timeout: z.number().positive().optional(),
  onFailure: z.enum(['continue', 'block']).optional(),
  async: z.boolean().optional(),
  statusMessage: z.string().optional(),
});

const hooksSchema = z.record(
  z.string(),
  z.array(z.strictObject({ matcher: z.string().optional(), hooks: z.array(commandSchema) })),
);

type CommandHook = z.infer<typeof commandSchema>;

/** Throws ClientProblem `refused` for a hook that would not be called as it is meant. */
export function toCommandHooks(value: unknown, { cwd, env }: { readonly cwd: string; readonly env: Env }): Hooks {
  const parsed = hooksSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const why = `${issue?.path.join('.') ?? 'hooks'}: ${issue?.message ?? 'it is not valid'}`;
    throw new ClientProblem('refused', `its hooks are refused: ${why}; give functions as the option hooks`);
  }
  const hooks: Partial<Record<HookEvent, HookCallbackMatcher[]>> = {};
  for (const [event, matchers] of Object.entries(parsed.data)) {
    if (!(HOOK_EVENTS as readonly string[]).includes(event))
      throw new ClientProblem('refused', `its hooks are refused: there is no event ${JSON.stringify(event)}`);
    hooks[event as HookEvent] = matchers.flatMap(({ matcher, hooks: commands }) =>
      commands.map((command) => ({
        hooks: [toCallback(command, { cwd, env })],
        ...(matcher !== undefined && { matcher }),
        ...(command.timeout !== undefined && { timeout: command.timeout }),
      })),
    );
  }
  return hooks;
}

type Place = { readonly cwd: string; readonly env: Env };

function toCallback(hook: CommandHook, place: Place): HookCallback {
  return async (input, _toolUseId, { signal }) => {
    const ending = runCommand(hook, input, { ...place, signal });
    if (hook.async === true) {
      // Its end changes nothing, whatever it is.
      ending.catch(() => undefined);
      return { async: true };
    }
    try {
      const { code, stdout, stderr } = await ending;
      if (code === 2) return blockingAnswer(input, stderr.trim());
      if (code !== 0) throw new Error(`it ended with status ${code}: ${stderr.trim().slice(0, 500)}`);
      return answerOf(input, stdout.trim());
    } catch (error) {
      if (hook.onFailure === 'block') return blockingAnswer(input, 'a hook of the settings failed');
      throw error;
    }
  };
}

/** A text that is not JSON is told to the model, where the event has a place for it. */
function answerOf(input: HookInput, stdout: string): HookJSONOutput {
  if (stdout.startsWith('{')) return z.looseObject({}).parse(JSON.parse(stdout));
  const { hook_event_name: event } = input;
  if (stdout === '' || (event !== 'SessionStart' && event !== 'UserPromptSubmit')) return {};
  return { hookSpecificOutput: { hookEventName: event, additionalContext: stdout } };
}

function blockingAnswer({ hook_event_name: event }: HookInput, why: string): HookJSONOutput {
  const reason = why || 'a hook of the settings said so';
  if (event === 'PermissionRequest')
    return { hookSpecificOutput: { hookEventName: event, decision: { behavior: 'deny', message: reason } } };
  return { decision: 'block', reason };
}

type CommandEnd = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Nothing of the command is left when its time is up, or when this process was killed. */
async function runCommand(
  { command, args }: CommandHook,
  input: HookInput,
  { cwd, env, signal }: Place & { readonly signal: AbortSignal },
): Promise<CommandEnd> {
  signal.throwIfAborted();
  const argv = args === undefined ? ['/bin/sh', '-c', command] : [command, ...args];
  const variables = { ...(present({ ...env }) as Record<string, string>), CLAUDE_PROJECT_DIR: cwd };
  const child = await spawnPiped(argv, { cwd, env: variables, pipes: pipePlace(findPrograms(env), undefined) });
  const stop = (): void => void killTree(child.tree, { graceMs: 0 });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  child.stdin.end(`${JSON.stringify(input)}\n`);
  try {
    const [{ code }, stdout, stderr] = await Promise.all([child.closed(), text(child.stdout), text(child.stderr)]);
    signal.throwIfAborted();
    return { code, stdout, stderr };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
