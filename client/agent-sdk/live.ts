// Makes messages of what happens right now: parts of a reply as they stream, running calls and
// retries. They are best effort, and are never repeated.
import { randomUUID } from 'node:crypto';
import { defaultBackoff } from '../faces/history.ts';
import type { WatchedEvent, Spend } from '../faces/types.ts';
import { noSpend } from '../faces/contract.ts';
import { outwardInput, outwardName } from './names.ts';
import type { SDKMessage, SDKPartialAssistantMessage } from './shapes/messages.ts';
import type { SDKAPIRetryMessage } from './shapes/system-messages.ts';

/** A stream event, without the fields that only the stored message has. */
type StreamEvent = { readonly type: string; readonly [key: string]: unknown };

export type LiveMessages = {
  /**
   * Returns the messages for an event. `after` is the last iteration of this run whose whole reply
   * the program has received.
   */
  tell(event: WatchedEvent, after: number): readonly SDKMessage[];
  /**
   * Returns what was held back of calls that ran while their reply still streamed, now that the
   * program has received the reply of this iteration.
   */
  release(iteration: number): readonly SDKMessage[];
};

/** `partial` asks for replies as they stream. */
export function createLiveMessages(session: string, partial: boolean): LiveMessages {
  const calls = new Map<string, { readonly id: string; readonly name: string; startedAt: number }>();
  const stream = createReplyStream();
  let pending: { readonly iteration: number; readonly message: SDKMessage }[] = [];
  const common = () => ({ session_id: session, uuid: randomUUID() });
  const place = ({ iteration, index }: { readonly iteration: number; readonly index: number }): string =>
    `${iteration}.${index}`;
  const otherMessages = (event: WatchedEvent): readonly SDKMessage[] => {
    switch (event.type) {
      case 'run_start':
        calls.clear();
        pending = [];
        return [];
      case 'request_start':
        // The calls of a reply that begins anew are void.
        pending = pending.filter(({ iteration }) => iteration !== event.iteration);
        return [];
      case 'tool_use':
        calls.set(place(event), { id: event.id, name: event.name, startedAt: Date.now() });
        return [];
      case 'tool_start':
      case 'tool_progress': {
        const call = calls.get(place(event));
        if (call === undefined) return [];
        if (event.type === 'tool_start') call.startedAt = Date.now();
        const facts = { tool_use_id: call.id, tool_name: outwardName(call.name), parent_tool_use_id: null } as const;
        const seconds = (Date.now() - call.startedAt) / 1_000;
        return [{ type: 'tool_progress', ...facts, elapsed_time_seconds: seconds, ...common() }];
      }
      case 'retry':
        return [{ type: 'system', subtype: 'api_retry', ...retryFacts(event), ...common() }];
      default:
        return [];
    }
  };
  return {
    tell: (event, after) => {
      const iteration = 'iteration' in event ? (event.iteration ?? 0) : Infinity;
      const ofCall = /^tool_(?:use|start|progress)$/.test(event.type);
      // The program receives a reply before the calls in it have run.
      if (iteration < after || (iteration === after && !ofCall)) return [];
      const parts = partial && iteration > after ? stream(event) : [];
      const streamEvents = parts.map(
        (part) =>
          ({ type: 'stream_event', event: part, parent_tool_use_id: null, ...common() }) as SDKPartialAssistantMessage,
      );
      const messages = otherMessages(event);
      if (!ofCall || iteration <= after) return [...streamEvents, ...messages];
      pending.push(...messages.map((message) => ({ iteration, message })));
      return streamEvents;
    },
    release: (iteration) => {
      const released = pending.filter((each) => each.iteration === iteration).map(({ message }) => message);
      pending = pending.filter((each) => each.iteration > iteration);
      return released;
    },
  };
}

function retryFacts({ failures, delayMs, error }: Extract<WatchedEvent, { type: 'retry' }>) {
  const status = Number(/\b[45]\d\d\b/.exec(error)?.[0] ?? 0);
  const kind = KINDS[status] ?? (status >= 500 ? 'server_error' : status >= 400 ? 'invalid_request' : 'unknown');
  const facts = { attempt: failures, max_retries: defaultBackoff.maxRetries, retry_delay_ms: delayMs };
  return { ...facts, error_status: status === 0 ? null : status, error: kind } as const;
}

const KINDS: Readonly<Record<number, SDKAPIRetryMessage['error']>> = {
  401: 'authentication_failed',
  403: 'authentication_failed',
  402: 'billing_error',
  404: 'model_not_found',
  429: 'rate_limit',
  529: 'overloaded',
};

/**
 * Returns a function that turns live events into those of the Messages API's stream. A reply that
 * restarts, because its worker died or its connection was lost, begins with `message_start` again.
 */
function createReplyStream(): (event: WatchedEvent) => readonly StreamEvent[] {
  let open: number | null = null;
  const close = (): StreamEvent[] => {
    const index = open;
    open = null;
    return index === null ? [] : [{ type: 'content_block_stop', index }];
  };
  const part = (index: number, block: object, delta: object): StreamEvent[] => {
    if (open === index) return [{ type: 'content_block_delta', index, delta }];
    const closed = close();
    open = index;
    const start = { type: 'content_block_start', index, content_block: block };
    return [...closed, start, { type: 'content_block_delta', index, delta }];
  };
  return (event) => {
    switch (event.type) {
      case 'request_start': {
        open = null;
        return [{ type: 'message_start', message: emptyMessage(event.model) }];
      }
      case 'text_delta':
        return part(event.index, { type: 'text', text: '' }, { type: 'text_delta', text: event.text });
      case 'thinking_delta':
        return part(event.index, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: event.text });
      case 'tool_use': {
        const { index, id, name, input } = event;
        const block = { type: 'tool_use', id, name: outwardName(name), input: {} };
        const json = JSON.stringify(outwardInput(name, input));
        return [...part(index, block, { type: 'input_json_delta', partial_json: json }), ...close()];
      }
      case 'reply': {
        const delta = { stop_reason: event.stopReason, stop_sequence: null };
        const usage = countsOf(event.spend);
        return [...close(), { type: 'message_delta', delta, usage }, { type: 'message_stop' }];
      }
      default:
        return [];
    }
  };
}

/** The id and the token counts are empty, since they are known only with the whole reply. */
function emptyMessage(model: string): object {
  const stop = { stop_reason: null, stop_sequence: null };
  return { id: '', type: 'message', role: 'assistant', model, content: [], ...stop, usage: countsOf(undefined) };
}

function countsOf(spend: Spend | undefined): object {
  const { usage } = spend ?? noSpend;
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
  };
}
