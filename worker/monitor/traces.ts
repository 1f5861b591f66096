// One trace for each run (O15), in the words of OpenTelemetry's GenAI conventions. The ids of a run and of its iterations are made from
// the run's own, so that spans of any worker on any host belong together without anything travelling between them: over crashes, handovers
// and replays. Content is never in them.
import { createHash, randomBytes } from 'node:crypto';
import type { ModelCallSeen, Observation, Observe, ObservedAbout } from '../../activities/live/observe.ts';
import type { Log } from '../../activities/log.ts';
import { queryIdOf } from '../../workflows/contract/ids.ts';
import type { Seen } from '../../workflows/contract/told.ts';
import type { AttributeValue, Span } from './otlp.ts';

/** 32 hexadecimal digits: every line and every span of a run has the same. */
export function traceIdOf(queryId: string): string {
  return digest(`trace ${queryId}`, 32);
}

const runSpanOf = (queryId: string): string => digest(`run ${queryId}`, 16);
const iterationSpanOf = (queryId: string, iteration: number): string => digest(`iteration ${queryId} ${iteration}`, 16);

function digest(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

/** W3C's name for the run's own span: what a command traces is a part of the run. */
export function traceEnv(queryId: string): Readonly<Record<string, string>> {
  return { TRACEPARENT: `00-${traceIdOf(queryId)}-${runSpanOf(queryId)}-01` };
}

/** Each line about a run names its trace. */
export function withTraces(log: Log): Log {
  return (level, message, fields = {}) => {
    const { query } = fields;
    log(level, message, query === undefined ? fields : { ...fields, trace: traceIdOf(query) });
  };
}

export function observeByTraces(send: (span: Span) => void): Observe {
  return (seen) => {
    const span = spanOf(seen);
    if (span) send(span);
  };
}

/** Null for what no trace tells of. */
function spanOf(seen: Observation): Span | null {
  switch (seen.kind) {
    case 'model_call':
      return { ...below(seen.about, seen), ...chat(seen) };
    case 'tool_call': {
      const { tool, callId, outcome } = seen;
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': callId,
        'perdure.outcome': outcome,
        ...placeOf(seen.about),
      };
      const isFailed = outcome === 'error' || outcome === 'unknown';
      return { ...below(seen.about, seen), name: `execute_tool ${tool}`, kind: 'internal', isFailed, attributes };
    }
    case 'compaction': {
      const { before, after, outcome } = seen;
      const sizes = before === null ? {} : { 'perdure.tokens_before': before, 'perdure.tokens_after': after ?? 0 };
      const attributes = { 'perdure.outcome': outcome, ...sizes, ...placeOf(seen.about) };
      const isFailed = outcome === 'failed';
      return { ...below(seen.about, seen), name: 'compaction', kind: 'internal', isFailed, attributes };
    }
    case 'seen':
      return ofWorkflow(seen.session, seen.seen);
    case 'alert':
    case 'store':
      return null;
  }
}

type Times = { readonly at: number; readonly ms: number };

/** Its id is nobody's parent. */
function below({ queryId, iteration }: ObservedAbout, { at, ms }: Times) {
  return {
    traceId: traceIdOf(queryId),
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: iterationSpanOf(queryId, iteration),
    from: at,
    to: at + ms,
  };
}

function chat({ model, about, error, firstMs, spend: { usage } }: ModelCallSeen) {
  const attributes: Record<string, AttributeValue> = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': model,
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
    ...(firstMs === null ? {} : { 'perdure.first_event_ms': Math.round(firstMs) }),
    ...(error === null ? {} : { 'error.type': error }),
    ...placeOf(about),
  };
  return {
    name: `chat ${model}`,
    kind: 'client',
    isFailed: error !== null && error !== 'aborted',
    attributes,
  } as const;
}

function placeOf({ session, run, iteration, step, attempt }: ObservedAbout): Record<string, AttributeValue> {
  return {
    'gen_ai.conversation.id': session,
    'perdure.run': run,
    'perdure.iteration': iteration,
    ...(step === undefined ? {} : { 'perdure.step': step }),
    ...(attempt === undefined ? {} : { 'perdure.attempt': attempt }),
  };
}

function ofWorkflow(session: string, seen: Seen): Span {
  const queryId = queryIdOf(seen.chain, seen.run);
  const { from, to, run, iteration } = seen;
  const place = { 'gen_ai.conversation.id': session, 'perdure.run': run, 'perdure.iteration': iteration };
  const root = runSpanOf(queryId);
  const own = { traceId: traceIdOf(queryId), from, to, kind: 'internal', isFailed: false } as const;
  const inIteration = {
    ...own,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: iterationSpanOf(queryId, iteration),
  };
  switch (seen.kind) {
    case 'iteration': {
      const attributes = { ...place, 'perdure.transition': seen.reason };
      const spanId = iterationSpanOf(queryId, iteration);
      return { ...own, spanId, parentSpanId: root, name: `iteration ${iteration}`, attributes };
    }
    case 'waited': {
      const attributes = {
        ...place,
        'perdure.call': seen.call,
        'gen_ai.tool.name': seen.tool,
        'perdure.decision': seen.how,
      };
      return { ...inIteration, name: 'approval wait', attributes };
    }
    case 'parked':
      return { ...inIteration, name: 'parked', attributes: place };
    case 'run_ended': {
      const { usage, usd } = seen.spend;
      const attributes = {
        ...place,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'perdure',
        ...(seen.model === null ? {} : { 'gen_ai.request.model': seen.model }),
        'gen_ai.usage.input_tokens': usage.input,
        'gen_ai.usage.output_tokens': usage.output,
        ...(usd === null ? {} : { 'perdure.cost_usd': usd }),
        'perdure.turns': seen.turns,
        'perdure.reason': seen.reason,
      };
      return { ...own, spanId: root, parentSpanId: null, name: 'invoke_agent perdure', isFailed: seen.bad, attributes };
    }
  }
}
