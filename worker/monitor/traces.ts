// Makes one trace for each run and the agents below it (O15), in the terms of OpenTelemetry's GenAI
// conventions. It never holds content.
import { present } from '../../workflows/contract/present.ts';
import { randomBytes } from 'node:crypto';
import type { ModelCallSeen, Observation, Observe, ObservedPlace } from '../../store/live/observe.ts';
import { iterationSpanOf, runSpanOf, traceIdOf } from '../../store/live/trace-context.ts';
import type { Log } from '../../system/log.ts';
import { callingSpan, queryIdOf } from '../../workflows/contract/ids.ts';
import type { SeenItem } from '../../workflows/contract/told.ts';
import type { AttributeValue, Span } from './otlp.ts';

/** Returns a log whose lines about a run name its trace. */
export function withTraces(log: Log): Log {
  return (level, message, fields = {}) => {
    const { query: queryId } = fields;
    log(level, message, queryId === undefined ? fields : { trace: traceIdOf({ queryId }), ...fields });
  };
}

export function observeByTraces(send: (span: Span) => void): Observe {
  return (observation) => {
    const span = spanOf(observation);
    if (span) send(span);
  };
}

/** Returns null for an observation that no trace tells of. */
function spanOf(observation: Observation): Span | null {
  switch (observation.kind) {
    case 'model_call':
      return { ...childSpan(observation.about, observation), ...chatSpan(observation) };
    case 'tool_call': {
      const { tool, callId, outcome } = observation;
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': callId,
        'perdure.outcome': outcome,
        ...placeOf(observation.about),
      };
      const isFailed = outcome === 'error' || outcome === 'unknown';
      return {
        ...childSpan(observation.about, observation),
        name: `execute_tool ${tool}`,
        kind: 'internal',
        isFailed,
        attributes,
      };
    }
    case 'compaction': {
      const { before, after, outcome } = observation;
      const sizes = before === null ? {} : { 'perdure.tokens_before': before, 'perdure.tokens_after': after ?? 0 };
      const attributes = { 'perdure.outcome': outcome, ...sizes, ...placeOf(observation.about) };
      const isFailed = outcome === 'failed';
      return {
        ...childSpan(observation.about, observation),
        name: 'compaction',
        kind: 'internal',
        isFailed,
        attributes,
      };
    }
    case 'seen':
      return workflowSpan(observation.session, observation.seen);
    case 'model_request':
    case 'alert':
    case 'notes_merge':
    case 'store':
      return null;
  }
}

type Times = { readonly at: number; readonly ms: number };

/** Returns a span below the iteration, whose id is not another's parent. */
function childSpan(run: ObservedPlace, { at, ms }: Times) {
  return {
    traceId: traceIdOf(run),
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: iterationSpanOf(run, run.iteration),
    from: at,
    to: at + ms,
  };
}

function chatSpan({ model, about, error, firstMs, spend: { usage } }: ModelCallSeen) {
  const attributes: Record<string, AttributeValue> = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': model,
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
    ...present({
      'perdure.first_event_ms': firstMs === null ? undefined : Math.round(firstMs),
      'error.type': error ?? undefined,
    }),
    ...placeOf(about),
  };
  return {
    name: `chat ${model}`,
    kind: 'client',
    isFailed: error !== null && error !== 'aborted',
    attributes,
  } as const;
}

function placeOf({ session, run, iteration, step, attempt }: ObservedPlace): Record<string, AttributeValue> {
  return {
    'gen_ai.conversation.id': session,
    'perdure.run': run,
    'perdure.iteration': iteration,
    ...present({ 'perdure.step': step, 'perdure.attempt': attempt }),
  };
}

function workflowSpan(session: string, item: SeenItem): Span {
  const { from, to, run, iteration, traceparent, querySource } = item;
  const traced = { queryId: queryIdOf(item.chain, run), ...(traceparent && { traceparent }) };
  const place = { 'gen_ai.conversation.id': session, 'perdure.run': run, 'perdure.iteration': iteration };
  const root = runSpanOf(traced);
  const own = { traceId: traceIdOf(traced), from, to, kind: 'internal', isFailed: false } as const;
  const inIteration = {
    ...own,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: iterationSpanOf(traced, iteration),
  };
  switch (item.kind) {
    case 'iteration': {
      const attributes = { ...place, 'perdure.transition': item.reason };
      const spanId = iterationSpanOf(traced, iteration);
      return { ...own, spanId, parentSpanId: root, name: `iteration ${iteration}`, attributes };
    }
    case 'waited': {
      const attributes = {
        ...place,
        'perdure.call': item.call,
        'gen_ai.tool.name': item.tool,
        'perdure.decision': item.how,
      };
      return { ...inIteration, name: 'approval wait', attributes };
    }
    case 'parked':
      return { ...inIteration, name: 'parked', attributes: place };
    case 'run_ended': {
      const { usage, usd } = item.spend;
      const attributes = {
        ...place,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'perdure',
        ...present({ 'gen_ai.request.model': item.model ?? undefined }),
        'gen_ai.usage.input_tokens': usage.input,
        'gen_ai.usage.output_tokens': usage.output,
        ...present({ 'perdure.cost_usd': usd ?? undefined }),
        'perdure.turns': item.turns,
        'perdure.reason': item.reason,
        ...(querySource && { 'perdure.query_source': querySource }),
      };
      const parentSpanId = callingSpan(traceparent)?.spanId ?? null;
      return { ...own, spanId: root, parentSpanId, name: 'invoke_agent perdure', isFailed: item.bad, attributes };
    }
  }
}
