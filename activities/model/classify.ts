// What a failed attempt of a model call means: a value the loop acts on, or another attempt after a wait (L14, L20).
import { toUSVString } from 'node:util';
import { AnthropicError, APIConnectionError, APIError } from '@anthropic-ai/sdk';
import { GarbledStream } from './accumulate.ts';

export type Verdict =
  | { readonly kind: 'too_long' | 'media_too_large'; readonly detail: string }
  /** `afterMs`: the provider said how long to wait. */
  | { readonly kind: 'retry'; readonly detail: string; readonly status?: number; readonly afterMs?: number }
  | { readonly kind: 'failed'; readonly detail: string; readonly status?: number };

/** A longer wait is a provider's mistake: no timer can hold some of what a header can say. */
const MOST_AFTER_MS = 30 * 24 * 3_600_000;

/** Characters. */
const MOST_DETAIL = 2_000;

/** No stream event for too long; pings do not count. */
export class StalledStream extends Error {
  override readonly name = 'StalledStream';
}

/** Null: not a failure of the model call, so a bug. */
export function classify(error: unknown, now: number): Verdict | null {
  if (error instanceof StalledStream || error instanceof GarbledStream) {
    return { kind: 'retry', detail: brief(error.message) };
  }
  if (error instanceof APIConnectionError) return { kind: 'retry', detail: connectionDetail(error) };
  if (error instanceof APIError) return classifyApi(error, now);
  // The SDK could make nothing of the answer: one without a body, for instance.
  if (error instanceof AnthropicError) return { kind: 'retry', detail: brief(error.message) };
  return null;
}

function classifyApi(error: APIError, now: number): Verdict {
  const status = statusOf(error);
  const detail = brief(`${status ?? 'stream error'}: ${error.apiMessage ?? error.message}`);
  const known = status === undefined ? {} : { status };
  if (status === 413 || (status === 400 && /prompt is too long|exceeds? .*context/i.test(detail))) {
    return { kind: 'too_long', detail };
  }
  if (status === 400 && /(image|document|pdf|media).*(exceeds|too large|maximum)/i.test(detail)) {
    return { kind: 'media_too_large', detail };
  }
  if (!retryable(status, error.headers?.get('x-should-retry'))) return { kind: 'failed', detail, ...known };
  const afterMs = retryAfter(error.headers?.get('retry-after') ?? null, now);
  return { kind: 'retry', detail, ...known, ...(afterMs === null ? {} : { afterMs }) };
}

function retryable(status: number | undefined, shouldRetry: string | null | undefined): boolean {
  if (shouldRetry === 'true') return true;
  if (shouldRetry === 'false') return false;
  return status === undefined || status === 408 || status === 409 || status === 429 || status >= 500;
}

/** An `error` event inside a stream has no status of its own: its type stands for one. */
function statusOf(error: APIError): number | undefined {
  if (error.status !== undefined) return error.status;
  const byType: Readonly<Record<string, number>> = {
    overloaded_error: 529,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    authentication_error: 401,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    invalid_request_error: 400,
  };
  return error.type === null ? undefined : byType[error.type];
}

/** Milliseconds, from seconds or an HTTP date; null when absent or unreadable. From none to 30 days. */
export function retryAfter(header: string | null, now: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1_000;
  return Number.isNaN(ms) ? null : Math.min(MOST_AFTER_MS, Math.max(0, ms));
}

/** A proxy's error page can be of any length; what the loop carries and people read may not. */
export function brief(text: string): string {
  return text.length <= MOST_DETAIL ? text : `${toUSVString(text.slice(0, MOST_DETAIL))} …`;
}

function connectionDetail(error: APIConnectionError): string {
  const cause = error.cause instanceof Error ? error.cause : null;
  const inner = cause?.cause instanceof Error ? cause.cause.message : cause?.message;
  return brief(`no answer from the model API: ${inner ?? error.message}`);
}
