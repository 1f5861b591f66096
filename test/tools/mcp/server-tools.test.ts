// What a server says of its tools, and what of it counts (L76).
import { expect, test } from 'vitest';
import { KeptServer } from '../../../tools/mcp/keep-server.ts';
import { createServerTool } from '../../../tools/mcp/server-tools.ts';
import { readList } from '../../../tools/mcp/list-tools.ts';
import { mcpBounds } from '../../../tools/mcp/servers.ts';
import { planCall, prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../tools/registry.ts';

const never = (): Promise<never> => new Promise(() => undefined);

function toolOf(trusted: boolean, annotations: object) {
  const server = new KeptServer(
    's',
    { command: 'x', trusted },
    { open: never, bounds: mcpBounds, log: () => undefined },
  );
  const [listed] = readList([{ name: 't', inputSchema: { type: 'object' }, annotations }]).tools;
  return createServerTool(server, listed!);
}

test.each([
  [false, { readOnlyHint: true, idempotentHint: true }, 'external', 'report'],
  [true, { readOnlyHint: true }, 'read', 'report'],
  [true, { idempotentHint: true }, 'external', 'rerun'],
  [true, {}, 'external', 'report'],
  [true, { destructiveHint: false }, 'external', 'report'],
])('trusted: %s, hints %j: risk %s, recovery %s (L76)', (trusted, hints, risk, recovery) => {
  expect(toolOf(trusted, hints)).toMatchObject({ name: 'mcp__s__t', risk, recovery });
});

test.each([
  [false, 'regular'],
  [true, 'early'],
])('a tool that says it only reads, of a server that is trusted: %s, is called %s (L37 L76)', (trusted, plan) => {
  const registry = createRegistry([toolOf(trusted, { readOnlyHint: true })]);
  const prepared = prepareCall(registry, { mode: 'default', cwd: '/' }, { name: 'mcp__s__t', input: {} });
  expect(planCall(prepared, { hasPreHook: false, hasPostHook: false, budgeted: false })).toBe(plan);
});

test('a call of a tool whose server has never been connected says so', () => {
  const registry = { ...createRegistry([]), whyMissing: () => 'Not run: it is away.' };
  const prepared = prepareCall(registry, { mode: 'default', cwd: '/' }, { name: 'mcp__s__t', input: {} });
  expect(prepared).toEqual({ kind: 'invalid', text: 'Not run: it is away.' });
});
