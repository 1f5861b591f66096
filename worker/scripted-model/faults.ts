// What each fault does: answer something else instead of the message, or end its stream early.
import { apiError, errorData, invalidRequest } from './api-error.ts';
import type { ApiError } from './api-error.ts';
import type { Action } from './playback.ts';
import type { Fault } from './script.ts';
import { event } from './sse.ts';

/** An answer that is not the message. `silence`: not even headers. */
export type FaultAnswer =
  { readonly kind: 'error'; readonly error: ApiError } | { readonly kind: 'hang_up' } | { readonly kind: 'silence' };

const BROKEN_JSON =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_del\n\n';

/** What a fault answers instead of a message, whatever the reply's content; undefined for a fault that needs the message. */
export function faultAnswer(fault: Fault | undefined): FaultAnswer | undefined {
  if (fault === undefined) return undefined;
  if ('status' in fault) return { kind: 'error', error: statusError(fault) };
  if ('too_long' in fault) {
    return { kind: 'error', error: invalidRequest('prompt is too long: 213047 tokens > 200000 maximum') };
  }
  if ('media_too_large' in fault) {
    const path = 'messages.0.content.1.image.source.base64';
    const error = invalidRequest(`${path}: image exceeds 5 MB maximum: 9427836 bytes > 5242880 bytes`);
    return { kind: 'error', error };
  }
  if ('hangUp' in fault) return { kind: 'hang_up' };
  if ('silence' in fault) return { kind: 'silence' };
  return undefined;
}

function statusError(fault: Extract<Fault, { status: number }>): ApiError {
  return {
    ...apiError(fault.status, fault.message),
    ...(fault.retryAfter === undefined ? {} : { retryAfter: fault.retryAfter }),
    ...(fault.xShouldRetry === undefined ? {} : { shouldRetry: fault.xShouldRetry }),
  };
}

/** How many of a stream's events are sent under this fault, and what comes after them. */
export function afterEvents(fault: Fault | undefined, total: number): { sent: number; ending: readonly Action[] } {
  if (fault === undefined) return { sent: total, ending: [] };
  if ('cutAfterEvent' in fault) return { sent: fault.cutAfterEvent, ending: [{ do: 'cut' }] };
  if ('silenceAfterEvent' in fault) return { sent: fault.silenceAfterEvent, ending: [{ do: 'silence' }] };
  if ('pingsAfterEvent' in fault) {
    return { sent: fault.pingsAfterEvent, ending: [{ do: 'pings', everyMs: fault.pingMs ?? 1_000 }] };
  }
  if ('garbageAfterEvent' in fault) {
    return { sent: fault.garbageAfterEvent, ending: [written(fault.garbage ?? BROKEN_JSON)] };
  }
  if ('errorEvent' in fault) {
    const message = fault.message ?? (fault.errorEvent === 'overloaded_error' ? 'Overloaded' : 'Internal server error');
    const error = event('error', errorData(fault.errorEvent, message));
    return { sent: fault.afterEvent ?? 1, ending: [written(error)] };
  }
  return { sent: total, ending: [] };
}

export function written(text: string): Action {
  return { do: 'write', bytes: Buffer.from(text) };
}
