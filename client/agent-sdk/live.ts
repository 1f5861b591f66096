// What is only shown while it happens: parts of a reply as they stream, calls that run, retries.
// Best effort, and told again by nobody.
import { randomUUID } from 'node:crypto';
import { defaultBackoff } from '../../store/configuration.ts';
import type { Watched } from '../../store/live/events.ts';
import { noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { outwardInput, outwardName } from './names.ts';
import type { SDKMessage, SDKPartialAssistantMessage } from './shapes/messages.ts';
import type { SDKAPIRetryMessage } from './shapes/system-messages.ts';

/** Without what only the stored message has. */
type Event = { readonly type: string; readonly [key: string]: unknown };

export type Live = {
  /**
   * The messages for it. `after`: the last iteration of this run of which the reply was received
   * whole.
   */
  tell(event: Watched, after: number): readonly SDKMessage[];
};

/** `partial`: the program wants replies as they stream; `hooks`: its hooks as they run. */
export function liveMessages(session: string, partial: boolean, hooks = false): Live {
  const calls = new Map<string, { readonly id: string; readonly name: string; startedAt: number }>();
  const stream = streamedReply();
  const hookFacts = runningHooks();
  const common = () => ({ session_id: session, uuid: randomUUID() });
  const place = ({ iteration, index }: { readonly iteration: number; readonly index: number }): string =>
    `${iteration}.${index}`;
  const other = (event: Watched): readonly SDKMessage[] => {
    switch (event.type) {
      case 'run_start':
        calls.clear();
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
      case 'hook_start':
      case 'hook_end': {
        const facts = hooks ? hookFacts(event) : null;
        return facts ? [{ type: 'system', ...facts, ...common() }] : [];
      }
      default:
        return [];
    }
  };
  return {
    tell: (event, after) => {
      const iteration = 'iteration' in event ? (event.iteration ?? 0) : Infinity;
      const ofCall = /^tool_(?:use|start|progress)$|^hook_/.test(event.type);
      // A reply is received before what it calls has run.
      if (iteration < after || (iteration === after && !ofCall)) return [];
      const parts = partial && iteration > after ? stream(event) : [];
      const told = parts.map(
        (part) =>
          ({ type: 'stream_event', event: part, parent_tool_use_id: null, ...common() }) as SDKPartialAssistantMessage,
      );
      return [...told, ...other(event)];
    },
  };
}

type OfHook = Extract<Watched, { type: 'hook_start' | 'hook_end' }>;

/** Hooks of a program are named by their events. */
function runningHooks() {
  const ids = new Map<string, string>();
  return (event: OfHook) => {
    const [hookEvent = event.hook] = /^[A-Za-z]+/.exec(event.hook) ?? [];
    const id = (event.type === 'hook_end' ? ids.get(event.hook) : undefined) ?? randomUUID();
    ids.set(event.hook, id);
    const facts = { hook_id: id, hook_name: event.hook, hook_event: hookEvent };
    if (event.type === 'hook_start') return { subtype: 'hook_started', ...facts } as const;
    const outcome = event.result.startsWith('failed') ? 'error' : 'success';
    return { subtype: 'hook_response', ...facts, output: event.result, stdout: '', stderr: '', outcome } as const;
  };
}

function retryFacts({ failures, delayMs, error }: Extract<Watched, { type: 'retry' }>) {
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
 * As the Messages API streams a reply. One that begins anew, because its worker died or its
 * connection was lost, begins with its start.
 */
function streamedReply(): (event: Watched) => readonly Event[] {
  let open: number | null = null;
  const close = (): Event[] => {
    const index = open;
    open = null;
    return index === null ? [] : [{ type: 'content_block_stop', index }];
  };
  const part = (index: number, block: object, delta: object): Event[] => {
    if (open === index) return [{ type: 'content_block_delta', index, delta }];
    const closed = close();
    open = index;
    const begun = { type: 'content_block_start', index, content_block: block };
    return [...closed, begun, { type: 'content_block_delta', index, delta }];
  };
  return (event) => {
    switch (event.type) {
      case 'request_start': {
        open = null;
        return [{ type: 'message_start', message: begunMessage(event.model) }];
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

/** Its id, and its counts of tokens, are known when the reply is whole: until then they are empty. */
function begunMessage(model: string): object {
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
