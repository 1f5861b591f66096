// Traces of runs on a real server, taken by an OTLP/HTTP receiver that reads them as a collector
// does (O15).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover, UPDATES } from '../../workflows/contract/session.ts';
import { openSpanExporter } from '../../worker/monitor/otlp.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
]);
const attributes = z.array(z.strictObject({ key: z.string().min(1), value }));
const id = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const span = z.strictObject({
  traceId: id(32),
  spanId: id(16),
  parentSpanId: id(16).optional(),
  name: z.string().min(1),
  kind: z.union([z.literal(1), z.literal(3)]),
  startTimeUnixNano: z.string().regex(/^\d{19}$/),
  endTimeUnixNano: z.string().regex(/^\d{19}$/),
  attributes,
  status: z.strictObject({ code: z.literal(2).optional() }),
});
/** As the protocol's definition has it, in JSON. */
const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(span) })),
    }),
  ),
});

type Received = z.infer<typeof span>;

async function receiver(answer: () => number = () => 200) {
  const spans: Received[] = [];
  const headers: unknown[] = [];
  const server = createHttpServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const status = answer();
      headers.push(incoming.headers['api-key']);
      const read = request.safeParse(JSON.parse(Buffer.concat(chunks).toString()));
      if (status === 200 && read.success) {
        spans.push(...read.data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      }
      response.writeHead(read.success && incoming.url === '/v1/traces' ? status : 400).end('{}');
    });
  });
  const url = await listening(server);
  return { url, spans, headers };
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await until(() => server.listening);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const attribute = ({ attributes: all }: Received, key: string): unknown =>
  Object.values(all.find((each) => each.key === key)?.value ?? {})[0];

async function approve(session: OpenSession): Promise<void> {
  const approvals = await until(async () => (await session.memo())?.approvals);
  for (const { call, inputHash } of approvals)
    await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
}

describe('a run', () => {
  test('is one trace over a retry, an approval, handovers and two workers, without any content (O15)', async () => {
    const collector = await receiver();
    const traces = new Set<string | undefined>();
    const calls = [toolUse('bash', { command: 'touch SECRET-INPUT; printenv TRACEPARENT > parent' })];
    const h = await harness({
      script: [fault({ status: 529 }), reply(calls), reply([toolUse('glob', { pattern: '*' })]), reply('SECRET-REPLY')],
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      worker: { logEvents: true, log: (_level, _message, fields) => void traces.add(fields?.trace) },
      handover: { ...defaultHandover, iterations: 1 },
    });
    const session = await h.open('SECRET-PROMPT', { permissionMode: 'default' }, { querySource: 'api' });
    await until(async () => ((await session.memo())?.approvals ? true : null));
    await h.worker.stop();
    await h.startWorker();
    await approve(session);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const root = await until(() => collector.spans.find(({ name }) => name === 'invoke_agent perdure'));
    const named = (name: string) => collector.spans.filter((each) => each.name.startsWith(name));
    // They come in several requests, which may overtake each other.
    await until(() => named('iteration ').length >= 3 && named('chat ').length >= 4);
    await until(() => named('execute_tool ').length >= 2 && named('approval wait').length >= 1);

    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
    const known = new Set(collector.spans.map(({ spanId }) => spanId));
    expect(known.size).toBe(collector.spans.length);
    const orphans = collector.spans.filter(
      ({ parentSpanId }) => parentSpanId !== undefined && !known.has(parentSpanId),
    );
    expect(orphans).toEqual([]);
    expect(collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toEqual([root]);
    expect(named('chat ').map((each) => attribute(each, 'error.type') ?? 'ok')).toEqual(['529', 'ok', 'ok', 'ok']);
    expect(named('execute_tool ').map(({ name }) => name)).toEqual(['execute_tool bash', 'execute_tool glob']);
    expect(named('approval wait').map((each) => attribute(each, 'perdure.decision'))).toEqual(['allow']);
    expect(attribute(root, 'perdure.reason')).toBe('completed');
    expect(attribute(root, 'perdure.query_source')).toBe('api');
    expect(attribute(root, 'gen_ai.conversation.id')).toBe(session.id);
    const inside = collector.spans.every(
      (each) =>
        BigInt(each.startTimeUnixNano) >= BigInt(root.startTimeUnixNano) &&
        each.endTimeUnixNano >= each.startTimeUnixNano,
    );
    expect(inside).toBe(true);
    expect(traces).toContain(root.traceId);
    const first = collector.spans.find(({ name }) => name === 'iteration 1');
    expect(readFileSync(join(h.cwd, 'parent'), 'utf8')).toBe(`00-${root.traceId}-${first?.spanId}-01\n`);
    expect(JSON.stringify(collector.spans)).not.toContain('SECRET');
  });

  test('joins its caller’s trace, over a handover, and so do its agents, each below the iteration that called it (O15 L66)', async () => {
    const collector = await receiver();
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const logged = new Set<string | undefined>();
    const h = await harness({
      script: byPrompt({
        'Go.': [reply([toolUse('glob', { pattern: '*' })]), reply([agentCall('Count.')]), reply('Done.')],
        'Count.': [reply([agentCall('Add.')]), reply('Three.')],
        'Add.': [reply([toolUse('bash', { command: 'printenv TRACEPARENT > parent' })]), reply('Two.')],
        'Again.': [reply('By itself.')],
      }),
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      worker: { logEvents: true, log: (_level, _message, fields) => void logged.add(fields?.trace) },
      handover: { ...defaultHandover, iterations: 1 },
    });
    const session = await h.open('Go.', {}, { traceparent: `00-${traceId}-${spanId}-00` });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const runs = await until(() => {
      const ended = collector.spans.filter(({ name }) => name === 'invoke_agent perdure');
      return ended.length === 3 ? ended : null;
    });
    await until(() => collector.spans.filter(({ name }) => name.startsWith('iteration ')).length >= 7);
    expect(new Set(collector.spans.map((each) => each.traceId))).toEqual(new Set([traceId]));
    const parents = runs.map(({ parentSpanId }) => {
      const parent = collector.spans.find((each) => each.spanId === parentSpanId);
      return parent ? `${parent.name} of ${attribute(parent, 'gen_ai.conversation.id') === session.id}` : parentSpanId;
    });
    expect(new Set(parents)).toEqual(new Set([spanId, 'iteration 1 of false', 'iteration 2 of true']));
    expect(readFileSync(join(h.cwd, 'parent'), 'utf8')).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01\n$`));
    expect(logged.has(traceId)).toBe(true);
    // The next prompt was sent by nobody who is traced.
    await session.send('Again.');
    await session.ended(2);
    const own = await until(() => collector.spans.find((each) => each.traceId !== traceId));
    await until(() => collector.spans.some((each) => each.traceId === own.traceId && each.parentSpanId === undefined));
  });
});

describe('a collector', () => {
  const env = (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b' });
  const one = {
    traceId: '1'.repeat(32),
    spanId: '2'.repeat(16),
    parentSpanId: null,
    name: 'one',
    kind: 'internal',
    from: 1_700_000_000_000,
    to: 1_700_000_000_001.5,
    isFailed: false,
    attributes: { rate: 0.5, count: 3, yes: true },
  } as const;

  test('that is away is told of once, and gets what waited when it is back (O15)', async () => {
    let status = 503;
    const collector = await receiver(() => status);
    const said: string[] = [];
    const exporter = openSpanExporter(env(collector.url), (_, message) => void said.push(message), fetch);
    exporter?.send(one);
    await until(() => collector.headers.length >= 2);
    expect(said).toEqual([expect.stringMatching(/^traces cannot be sent to .* \(status 503\)/)]);
    status = 200;
    await until(() => collector.spans.length === 1);
    await exporter?.close();
    expect(said).toHaveLength(2);
    expect(new Set(collector.headers)).toEqual(new Set(['a b']));
    expect(collector.spans[0]?.endTimeUnixNano).toBe('1700000000001500000');
  });

  test('that never answers holds up neither spans nor the end, and is sent no more than it was to keep (O15)', async () => {
    const silent = await listening(createServer());
    const exporter = openSpanExporter(env(silent), () => {}, fetch);
    for (let n = 0; n < 10_000; n += 1) exporter?.send(one);
    await exporter?.close();
  });

  test('that is no address is refused, and none is none (O15)', () => {
    expect(openSpanExporter({}, () => {}, fetch)).toBeNull();
    expect(() => openSpanExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, () => {}, fetch)).toThrow(
      'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address: give one as in http://127.0.0.1:4318',
    );
  });
});
