// The effect of each fault: it answers something else instead of the message, or ends its stream
// early.
import { writeText, type Action } from './playback.ts';
import type { Fault } from '../script.ts';
import { formatEvent } from './sse.ts';
import { buildApiError, buildErrorData, buildInvalidRequest, type ApiError } from '../api-error.ts';
import { present } from '../../workflows/contract/present.ts';

/** An answer other than the message. `silence`: not even headers. */
type FaultAnswer =
  { readonly kind: 'error'; readonly error: ApiError } | { readonly kind: 'hang_up' } | { readonly kind: 'silence' };

const BROKEN_JSON =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_del\n\n';

/**
 * Returns the answer of a fault that replaces the message, whatever the reply's content; undefined
 * for a fault that needs the message.
 */
export function answerByFault(fault: Fault | undefined): FaultAnswer | undefined {
  if (fault === undefined) return undefined;
  if ('status' in fault) return { kind: 'error', error: buildStatusError(fault) };
  if ('too_long' in fault) {
    return { kind: 'error', error: buildInvalidRequest('prompt is too long: 213047 tokens > 200000 maximum') };
  }
  if ('media_too_large' in fault) {
    const path = 'messages.0.content.1.image.source.base64';
    const error = buildInvalidRequest(`${path}: image exceeds 5 MB maximum: 9427836 bytes > 5242880 bytes`);
    return { kind: 'error', error };
  }
  if ('hangUp' in fault) return { kind: 'hang_up' };
  if ('silence' in fault) return { kind: 'silence' };
  return undefined;
}

function buildStatusError(fault: Extract<Fault, { status: number }>): ApiError {
  return {
    ...buildApiError(fault.status, fault.message),
    ...(fault.errorCode === undefined ? {} : { details: { error_code: fault.errorCode } }),
    ...present({ retryAfter: fault.retryAfter, shouldRetry: fault.xShouldRetry }),
  };
}

/**
 * Returns the number of a stream's events that are sent under this fault, and the actions after
 * them.
 */
export function endEarly(fault: Fault | undefined, total: number): { sent: number; ending: readonly Action[] } {
  if (fault === undefined) return { sent: total, ending: [] };
  if ('cutAfterEvent' in fault) return { sent: fault.cutAfterEvent, ending: [{ do: 'cut' }] };
  if ('silenceAfterEvent' in fault) return { sent: fault.silenceAfterEvent, ending: [{ do: 'silence' }] };
  if ('pingsAfterEvent' in fault) {
    return { sent: fault.pingsAfterEvent, ending: [{ do: 'pings', everyMs: fault.pingMs ?? 1_000 }] };
  }
  if ('garbageAfterEvent' in fault) {
    return { sent: fault.garbageAfterEvent, ending: [writeText(fault.garbage ?? BROKEN_JSON)] };
  }
  if ('withoutMessageStop' in fault) return { sent: total - 1, ending: [] };
  if ('errorEvent' in fault) {
    const message = fault.message ?? (fault.errorEvent === 'overloaded_error' ? 'Overloaded' : 'Internal server error');
    const error = formatEvent('error', buildErrorData(fault.errorEvent, message));
    return { sent: fault.afterEvent ?? 1, ending: [writeText(error)] };
  }
  return { sent: total, ending: [] };
}
