// Checks hooks of settings, which are commands, by running them.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { toCommandHooks } from '../../../client/agent-sdk/command-hooks.ts';
import type { HookEvent, HookInput } from '../../../client/agent-sdk/shapes/hooks.ts';
import { allProcesses, processInfo } from '../../../system/process/proc.ts';
import { until } from '../../support/until.ts';
import { processesWith } from '../../tools/support.ts';

const place = { cwd: process.cwd(), env: process.env };

async function callHook(event: HookEvent, hook: object, signal = new AbortController().signal): Promise<unknown> {
  const given = { [event]: [{ matcher: 'Bash', hooks: [{ type: 'command', ...hook }] }] };
  const [matcher] = toCommandHooks(given, place)[event] ?? [];
  const input = { hook_event_name: event, tool_name: 'Bash', cwd: place.cwd } as unknown as HookInput;
  return await matcher?.hooks[0]?.(input, 'id', { signal });
}

test('a command gets the input on its standard input, and answers as JSON (Q7)', async () => {
  const command = `node -e 'let s="";process.stdin.on("data",(d)=>s+=d).on("end",()=>console.log(JSON.stringify({systemMessage:JSON.parse(s).tool_name})))'`;
  expect(await callHook('PreToolUse', { command })).toEqual({ systemMessage: 'Bash' });
  expect(await callHook('PreToolUse', { command: 'printf', args: ['{"continue":false}'] })).toEqual({
    continue: false,
  });
});

test('the code 2 blocks with the words of the command, and another one counts as a hook that failed (Q7)', async () => {
  const blocked = { decision: 'block', reason: 'not here' };
  expect(await callHook('PreToolUse', { command: 'echo not here >&2; exit 2' })).toEqual(blocked);
  await expect(callHook('PreToolUse', { command: 'echo why >&2; exit 1' })).rejects.toThrow('with status 1: why');
  const failing = { command: 'exit 1', onFailure: 'block' };
  expect(await callHook('PreToolUse', failing)).toMatchObject({ decision: 'block' });
  expect(await callHook('PermissionRequest', { command: 'exit 2' })).toMatchObject({
    hookSpecificOutput: { decision: { behavior: 'deny' } },
  });
});

test('a text of a SessionStart hook is told to the model, and that of others is not (Q7)', async () => {
  expect(await callHook('SessionStart', { command: 'echo hello' })).toEqual({
    hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: 'hello' },
  });
  expect(await callHook('PreToolUse', { command: 'echo hello' })).toEqual({});
  expect(await callHook('Stop', { command: 'cat', async: true })).toEqual({ async: true });
});

test('a command is ended with all that it has started when its time is up (Q7)', async () => {
  const gone = new AbortController();
  const mark = randomUUID();
  const calling = callHook('PreToolUse', { command: `sleep 1000 & sleep 1000; : ${mark}` }, gone.signal);
  const shell = await until(async () => (await processesWith(mark))[0]);
  const started = await until(() => {
    const children = allProcesses().filter(({ parent }) => parent === shell);
    return children.length === 2 && children;
  });
  gone.abort();
  await expect(calling).rejects.toThrow('aborted');
  await until(() => started.every(({ pid, startTime }) => processInfo(pid)?.startTime !== startTime));
  const [matcher] =
    toCommandHooks({ Stop: [{ hooks: [{ type: 'command', command: 'x', timeout: 5 }] }] }, place).Stop ?? [];
  expect(matcher).toMatchObject({ timeout: 5 });
});
