// `perdure/sandbox`: tools for self-hosted workers that ask the server right before each effect
// whether their lease is valid (G62): a worker that was frozen can't know that its calls were
// concluded meanwhile.
import type { Anthropic } from '@anthropic-ai/sdk';
import type { BetaRunnableTool, BetaToolRunContext } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import '../../system/process/supported.ts';
import { randomName } from '../../system/random-name.ts';
import { IDEMPOTENCY_VARIABLE } from '../../system/idempotency-variable.ts';

/** The part of the SDK's AgentToolContext that is needed, which a worker gives to its `tools`. */
export type SandboxContext = {
  readonly client?: Anthropic | undefined;
  readonly session?: { readonly id: string } | undefined;
};

/**
 * Wraps tools so that none begins once its lease has lapsed or its call was concluded; it fails
 * with a sentence then, and also where the server cannot be asked. The server shows a call again
 * that was lost on its way, since one run of it may begin. Commands of `bash` find
 * a key that is unique to the call in the variable that docs/managed.md names. Throws Error without
 * `client` and `session`.
 */
export function fenced(tools: readonly BetaRunnableTool[], { client, session }: SandboxContext): BetaRunnableTool[] {
  if (!client || !session) throw new Error('fenced needs the context that a worker gives to its `tools` function');
  const path = `/v1/x/perdure/sessions/${session.id}/fence`;
  const ask = (call: string, signal: AbortSignal | undefined): Promise<Passed> =>
    client.get(path, { query: { call, run: randomName() }, ...(signal && { signal }) });
  const names = tools.flatMap((tool) => ('name' in tool ? [tool.name] : []));
  // A server that never hears of it shows no call again that was lost on its way.
  void client.post(path, { body: { tools: names } }).catch(() => undefined);
  return tools.map((tool) => {
    const run = async (args: unknown, context?: BetaToolRunContext): Promise<RunResult> => {
      if (!context) throw new Error('Not run: a fenced tool needs the call that it is run for');
      const { toolUse, signal } = context;
      const { idempotency_key: key } = await ask(toolUse.id, signal ?? undefined);
      signal?.throwIfAborted();
      return tool.run(isBash(tool) ? withKey(args, key) : args, context);
    };
    return { ...tool, run };
  });
}

type Passed = { readonly idempotency_key: string };
type RunResult = Awaited<ReturnType<BetaRunnableTool['run']>>;

const isBash = (tool: BetaRunnableTool): boolean => 'name' in tool && tool.name === 'bash';

/** The shell is kept between calls, so that the variable is set in it. The key has no quotes. */
function withKey(args: unknown, key: string): unknown {
  const { command } = args as { readonly command?: unknown };
  if (typeof command !== 'string') return args;
  return { ...(args as object), command: `export ${IDEMPOTENCY_VARIABLE}='${key}'\n${command}` };
}
