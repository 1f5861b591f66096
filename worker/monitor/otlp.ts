// Sends spans to an OpenTelemetry collector: OTLP over HTTP as JSON, in batches, never waited for.
// The collector is found as every OpenTelemetry SDK finds it, by OTEL_EXPORTER_OTLP_ENDPOINT. An
// SDK makes the ids of its spans itself, and ends a span in the process that began it; a run
// outlives its processes, so its spans are written here.
import { present } from '../../workflows/contract/present.ts';
import type { Log } from '../../system/log.ts';
import { awaitInTime } from '../../system/async.ts';
import { whyFetchFailed } from '../../system/network.ts';
import { ConfigProblem } from '../config/config.ts';

export type AttributeValue = string | number | boolean;

/** `from` and `to` are in milliseconds since the epoch. */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: 'internal' | 'client';
  readonly from: number;
  readonly to: number;
  readonly isFailed: boolean;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
};

export type SpanExporter = {
  send(span: Span): void;
  /** Sends the waiting spans once more, for a few seconds. */
  close(): Promise<void>;
};

type Env = Readonly<Record<string, string | undefined>>;

type Collector = { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly service: string };

const EVERY_MS = 1_000;
const BATCH = 512;
/** The most spans that wait; when a collector is gone the newest are dropped. */
const MOST_WAITING = 4_096;
const REQUEST_MS = 10_000;
const CLOSING_MS = 3_000;

/**
 * Returns null when no collector is named. Throws ConfigProblem for one whose address is invalid.
 */
export function openSpanExporter(env: Env, log: Log, ask: typeof fetch): SpanExporter | null {
  const collector = collectorOf(env);
  return collector && exporterTo(collector, log, ask);
}

export function collectorOf(env: Env): Collector | null {
  if (env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return null;
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? '';
  const all = env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '';
  const name = own === '' ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const endpoint = own === '' ? all : own;
  if (endpoint === '') return null;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw new ConfigProblem(`${name} is no http or https address: give one as in http://127.0.0.1:4318`);
  }
  if (new URL(endpoint).username !== '') {
    throw new ConfigProblem(`${name} holds a password: give it in OTEL_EXPORTER_OTLP_HEADERS instead`);
  }
  const url = own === '' ? `${all.replace(/\/$/, '')}/v1/traces` : own;
  const headers = env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '';
  return { url, headers: headersOf(headers), service: env['OTEL_SERVICE_NAME'] ?? 'perdure' };
}

/** Parses headers as in `api-key=secret,tenant=a`, with values percent-encoded. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair) => pair.split('='));
  return Object.fromEntries(
    pairs.flatMap(([name = '', ...value]) =>
      name.trim() === '' ? [] : [[name.trim(), decodePercent(value.join('=').trim())]],
    ),
  );
}

function decodePercent(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function exporterTo(collector: Collector, log: Log, ask: typeof fetch): SpanExporter {
  const { origin } = new URL(collector.url);
  const waiting: Span[] = [];
  let dropped = 0;
  let failing = false;
  const sendBatch = async (): Promise<boolean> => {
    const batch = waiting.slice(0, BATCH);
    const problem = await postSpans(collector, batch, ask);
    if (problem?.again) return failed(problem.why);
    waiting.splice(0, batch.length);
    if (problem) return failed(`${problem.why}: ${batch.length} spans are lost`);
    if (failing) log('info', `traces are sent to ${origin} again; ${dropped} spans were dropped meanwhile`);
    failing = false;
    dropped = 0;
    return true;
  };
  const failed = (why: string): false => {
    if (!failing) log('warn', `traces cannot be sent to ${origin} (${why}): the last ${MOST_WAITING} spans are kept`);
    failing = true;
    return false;
  };
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0 && (await sendBatch()));
  };
  let sending = Promise.resolve();
  let isSending = false;
  const timer = setInterval(() => {
    if (isSending) return;
    isSending = true;
    sending = sendAll().finally(() => (isSending = false));
  }, EVERY_MS);
  timer.unref();
  return {
    send: (span) => {
      if (waiting.length < MOST_WAITING) waiting.push(span);
      else dropped += 1;
    },
    close: async () => {
      clearInterval(timer);
      await awaitInTime(sending.then(sendAll), undefined, CLOSING_MS);
    },
  };
}

/**
 * Resolves to null when the spans were taken. `again` says that the collector may take them later.
 */
async function postSpans(
  { url, headers, service }: Collector,
  spans: readonly Span[],
  ask: typeof fetch,
): Promise<{ readonly why: string; readonly again: boolean } | null> {
  try {
    const response = await ask(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(requestOf(service, spans)),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    await response.arrayBuffer();
    if (response.ok) return null;
    return { why: `status ${response.status}`, again: response.status === 429 || response.status >= 500 };
  } catch (error) {
    return { why: whyFetchFailed(error), again: true };
  }
}

/** Builds an ExportTraceServiceRequest. */
function requestOf(service: string, spans: readonly Span[]): object {
  const resource = { attributes: attributesOf({ 'service.name': service, 'process.pid': process.pid }) };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'perdure' }, spans: spans.map(spanOf) }] }] };
}

const KINDS = { internal: 1, client: 3 } as const;

function spanOf({ traceId, spanId, parentSpanId, name, kind, from, to, isFailed, attributes }: Span): object {
  return {
    traceId,
    spanId,
    ...present({ parentSpanId: parentSpanId ?? undefined }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: toNanoseconds(from),
    endTimeUnixNano: toNanoseconds(Math.max(from, to)),
    attributes: attributesOf(attributes),
    status: isFailed ? { code: 2 } : {},
  };
}

const toNanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1_000)) * 1_000n);

function attributesOf(attributes: Readonly<Record<string, AttributeValue>>): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

/** Returns an attribute value; 64-bit numbers are texts in JSON. */
function valueOf(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
