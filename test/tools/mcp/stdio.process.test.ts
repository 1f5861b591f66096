// MCP servers that are processes: calls, what a server does wrong, and that nothing of one outlives
// its worker.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allProcesses, wasStartedWith } from '../../../system/process/proc.ts';
import { noSandbox } from '../../support/mcp/addresses.ts';
import { effectsIn, oddServer, openTestServers, packagedServer } from '../../support/mcp/servers.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { workingSandboxes } from '../sandboxes.ts';

describe('a call of a tool of a server', () => {
  test('carries input, idempotency key and trace, and its text is the output (L74 L76 O15)', async () => {
    const { registry, call, names } = await openTestServers({ odd: oddServer() });
    await registry.refresh?.();
    expect(names()).toContain('mcp__odd__echo');
    const { content } = await call('mcp__odd__echo', { text: 'hello' }, { traceparent: '00-a-b-01' });
    expect(JSON.parse(content)).toMatchObject({
      name: 'echo',
      arguments: { text: 'hello' },
      _meta: { 'perdure/idempotencyKey': 'key-1', traceparent: '00-a-b-01' },
    });
  });

  test('that its schema does not fit never reaches it (L74)', async () => {
    const { registry } = await openTestServers({ odd: oddServer() });
    await registry.refresh?.();
    const schema = registry.get('mcp__odd__echo')?.inputSchema as { '~standard': { validate(v: unknown): object } };
    expect(schema['~standard'].validate({ text: 1 })).toMatchObject({ issues: [{ path: ['text'] }] });
  });

  test('shows its progress, in bounds (L77)', async () => {
    const { registry, call } = await openTestServers({ odd: oddServer() });
    await registry.refresh?.();
    const shown: string[] = [];
    await call('mcp__odd__progress', {}, { progress: (text) => void shown.push(text) });
    expect(shown).toEqual(['the first half']);
  });

  test('that is stopped is told to its server, and the connection stays (L77)', async () => {
    const effects = join(tempDir(), 'effects');
    const { registry, call } = await openTestServers({ odd: oddServer({ effects }) });
    await registry.refresh?.();
    const stop = new AbortController();
    const hanging = call('mcp__odd__hang', {}, { signal: stop.signal });
    hanging.catch(() => undefined);
    await until(() => effectsIn(effects).some(({ call: name }) => name === 'hang'));
    stop.abort('interrupt');
    await expect(hanging).rejects.toBe('interrupt');
    await until(() => effectsIn(effects).some(({ cancelled }) => cancelled !== undefined));
    expect((await call('mcp__odd__note')).content).toBe('noted note');
    expect(effectsIn(effects).filter(({ started }) => started)).toHaveLength(1);
  });

  test('gets no answer to what its server asks of people or models (L77)', async () => {
    const { registry, call } = await openTestServers({ odd: oddServer() });
    await registry.refresh?.();
    const { content } = await call('mcp__odd__ask');
    expect(JSON.parse(content)).toMatchObject([
      { message: expect.stringMatching(/elicitation\/create is refused|not found/i) },
      { message: expect.stringMatching(/sampling\/createMessage is refused|not found/i) },
    ]);
  });
});

describe('a server that misbehaves (F11)', () => {
  test.each([
    ['hangs', 'hang', /did not answer within 300 ms/],
    ['answers with a wrong id', 'wrong_id', /did not answer within 300 ms/],
    ['writes half a line', 'half', /did not answer within 300 ms/],
  ])('one that %s costs an error outcome in time (L75)', async (_, tool, words) => {
    const { registry, call } = await openTestServers({ odd: oddServer({}, { timeoutMs: 300 }) });
    await registry.refresh?.();
    await expect(call(`mcp__odd__${tool}`)).rejects.toThrow(words);
  });

  test('one that answers three times is heard once', async () => {
    const { registry, call } = await openTestServers({ odd: oddServer() });
    await registry.refresh?.();
    expect((await call('mcp__odd__repeated')).content).toBe('answer 1');
    expect((await call('mcp__odd__note')).content).toBe('noted note');
  });

  test('a line of 100 MiB fails its own call at once, costs no memory, and no other call', async () => {
    const effects = join(tempDir(), 'effects');
    const { registry, call } = await openTestServers({ odd: oddServer({ effects }) });
    await registry.refresh?.();
    const stop = new AbortController();
    const other = call('mcp__odd__hang', {}, { signal: stop.signal });
    other.catch(() => undefined);
    const before = process.memoryUsage.rss();
    await expect(call('mcp__odd__long')).rejects.toThrow(/too large: a message is longer than 8388608 bytes/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 * 1024);
    expect((await call('mcp__odd__note')).content).toBe('noted note');
    stop.abort('interrupt');
    await expect(other).rejects.toBe('interrupt');
    expect(effectsIn(effects).filter(({ started }) => started)).toHaveLength(1);
  });

  test('one that dies costs an error outcome at once, and is started again for a later call (L75)', async () => {
    const effects = join(tempDir(), 'effects');
    const { registry, call, names, warnings } = await openTestServers({ odd: oddServer({ effects }) });
    await registry.refresh?.();
    await expect(call('mcp__odd__die')).rejects.toThrow(
      /was lost while it worked: its process ended with status 3. It may have taken effect/,
    );
    expect(names()).toContain('mcp__odd__note');
    await until(async () => (await call('mcp__odd__note').catch(() => ({ content: '' }))).content === 'noted note');
    expect(effectsIn(effects).filter(({ started }) => started)).toHaveLength(2);
    expect(warnings).toEqual([expect.stringContaining('MCP server odd: its process ended with status 3')]);
  });

  test('what one says last arrives, although its process has ended (L75)', async () => {
    const bounds = { graceMs: 60_000 };
    const { registry, call } = await openTestServers({ odd: oddServer() }, { sandbox: noSandbox, bounds });
    await registry.refresh?.();
    expect(await call('mcp__odd__last_words')).toMatchObject({ content: '' });
  });

  test('one whose program is not there is away, and says so (L75)', async () => {
    const bounds = { backoffMs: 60_000, mostBackoffMs: 60_000 };
    const { registry, names } = await openTestServers({ none: { command: '/no/such/program' } }, { bounds });
    await registry.refresh?.();
    expect(names()).toEqual([]);
    expect(registry.whyMissing?.('mcp__none__x')).toMatch(/Not run: The MCP server none is away: .*again in \d+ s/);
    expect(registry.whyMissing?.('mcp__other__x')).toBeUndefined();
  });
});

describe('a server that does not connect in its time', () => {
  test('is away, says so, and nothing of it is left (L75)', async () => {
    const mark = join(tempDir(), 'mark');
    const odd = oddServer({ slowStart: '/never' }, { env: { TEST_MARK: mark }, connectTimeoutMs: 300 });
    const bounds = { listMs: 50, backoffMs: 60_000, mostBackoffMs: 60_000 };
    const { registry } = await openTestServers({ odd }, { bounds });
    await registry.refresh?.();
    await until(() => registry.whyMissing?.('mcp__odd__echo')?.includes('it did not connect within 300 ms') === true);
    await until(() => processesOf(mark).length === 0);
  });

  test('leaves nothing when its worker ends meanwhile', async () => {
    const mark = join(tempDir(), 'mark');
    const odd = oddServer({ slowStart: '/never' }, { env: { TEST_MARK: mark } });
    const { servers } = await openTestServers({ odd });
    await until(() => processesOf(mark).length > 0);
    await servers.close();
    expect(processesOf(mark)).toEqual([]);
  });
});

describe('the process of a server', () => {
  test('gets an allow-listed environment, its own variables, and the home folder (L74)', async () => {
    const effects = join(tempDir(), 'effects');
    const home = tempDir();
    const env = { PATH: process.env['PATH'], HOME: home, ANTHROPIC_API_KEY: 'secret', MY_TOKEN: 'secret' };
    const { registry } = await openTestServers({ odd: oddServer({ effects }, { env: { OWN: '1' } }) }, { env });
    await registry.refresh?.();
    const { env: got = {}, cwd } = effectsIn(effects)[0] ?? {};
    expect(got).toMatchObject({ OWN: '1', HOME: home });
    expect(JSON.stringify(got)).not.toContain('secret');
    expect(cwd).toBe(home);
  });

  test('may repeat its variables, and nobody is shown them (L74)', async () => {
    const secret = 'tok-0123456789';
    const { registry, call } = await openTestServers({ odd: oddServer({}, { env: { OWN: secret } }) });
    await registry.refresh?.();
    await expect(call('mcp__odd__refuses', { text: `no ${secret}` })).rejects.toThrow('refused it: no [redacted]');
  });

  test('is gone with all it has started when the worker ends it, however it is held (L74)', async () => {
    for (const sandbox of await workingSandboxes()) {
      const effects = join(tempDir(), 'effects');
      const odd = oddServer({}, { env: { TEST_MARK: effects } });
      const { registry, call, servers } = await openTestServers({ odd }, { sandbox });
      await registry.refresh?.();
      await call('mcp__odd__child');
      expect(processesOf(effects).length).toBeGreaterThan(1);
      await servers.close();
      expect(processesOf(effects)).toEqual([]);
    }
  });

  test('does not see the data folder where bubblewrap holds it', async () => {
    const [sandbox] = await workingSandboxes();
    const dataDir = tempDir();
    writeFileSync(join(dataDir, 'effects'), '');
    const effects = join(dataDir, 'effects');
    const { registry } = await openTestServers(
      { odd: oddServer({ effects }) },
      { dataDir, ...(sandbox && { sandbox }) },
    );
    await registry.refresh?.();
    expect(effectsIn(effects)).toHaveLength(sandbox?.kind === 'bwrap' ? 0 : 1);
  });
});

describe('real servers', () => {
  test('server-everything: tools of every kind of content, by the official library (L74)', async () => {
    const { registry, names, call, servers } = await openTestServers({
      every: packagedServer('server-everything', 'stdio'),
    });
    await registry.refresh?.();
    await until(() => names().length > 5);
    expect((await call('mcp__every__echo', { message: 'hello' })).content).toBe('Echo: hello');
    const image = await call('mcp__every__get-tiny-image');
    expect(image.media).toHaveLength(1);
    const structured = await call('mcp__every__get-structured-content', { location: 'New York' });
    expect(structured.content.match(/temperature/g)).toHaveLength(1);
    const [said = ''] = servers.instructions(undefined);
    expect(said).toContain('The MCP server every says of its tools');
    for (const line of said.split('\n').slice(1)) expect(line).toMatch(/^> /);
  });

  test('server-filesystem: writes and reads where it may (L74)', async () => {
    const folder = tempDir();
    const { registry, call } = await openTestServers({ files: packagedServer('server-filesystem', folder) });
    await registry.refresh?.();
    const path = join(folder, 'note.txt');
    await call('mcp__files__write_file', { path, content: 'hello' });
    expect((await call('mcp__files__read_text_file', { path })).content).toBe('hello');
    expect(await call('mcp__files__read_text_file', { path: '/etc/passwd' })).toMatchObject({ isError: true });
  });
});

/** The server itself, as this machine sees it, and what it has started. */
function processesOf(mark: string): readonly number[] {
  return allProcesses().flatMap(({ pid }) => (wasStartedWith(pid, `TEST_MARK=${mark}`) ? [pid] : []));
}
