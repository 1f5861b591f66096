// Classifies a failed attempt of a model call: a value the loop acts on, or another attempt after a
// wait (L14, L20).
import { toUSVString } from 'node:util';
import { AnthropicError, APIConnectionError, APIError } from '@anthropic-ai/sdk';
import type { Redact } from '../../system/redact.ts';
import { VIA_HEADER } from '../../system/network.ts';
import { GarbledStream, UnusableReply } from './stream/accumulate.ts';
import type { Backoff } from '../../store/configuration.ts';
import { accountProblem } from './refused/account.ts';
import { isOverflow, roomLeft } from './refused/overflow-words.ts';
import {
  type DefinitionAt,
  isRefusedRole,
  isRefusedSummary,
  isRefusedToolChange,
  isUnboundThinking,
  isUnresolvedTool,
  findRefusedDefinition,
  findRefusedField,
} from './refused/request-parts.ts';

export type Verdict =
  /** `window`: the server has said how many tokens it holds. */
  | { readonly kind: 'too_long'; readonly detail: string; readonly window?: number }
  | { readonly kind: 'media_too_large'; readonly detail: string }
  /** `afterMs`: the provider said how long to wait. `defect`: of ours, as it seems. */
  | {
      readonly kind: 'retry';
      readonly detail: string;
      readonly status?: number;
      readonly afterMs?: number;
      readonly defect?: true;
    }
  /**
   * `maxOutput`: it was refused for its cap, and this is the most, in tokens. `unusable`: it was
   * answered, with nothing that we take.
   */
  | {
      readonly kind: 'failed';
      readonly detail: string;
      readonly status?: number;
      readonly maxOutput?: number;
      readonly unusable?: true;
    }
  /**
   * Kept thinking that was made after something else than what is before it now: the same request
   * fails for ever.
   */
  | { readonly kind: 'unbound_thinking'; readonly detail: string; readonly status: number }
  /**
   * The summary that the conversation begins with was signed elsewhere, or the server knows no such
   * blocks: the same request fails for ever.
   */
  | { readonly kind: 'refused_summary'; readonly detail: string; readonly status: number }
  /** Messages of the role system are not for this model, or its server does not know them. */
  | { readonly kind: 'refused_role'; readonly detail: string; readonly status: number }
  /** The server knows no tools in messages. */
  | { readonly kind: 'refused_tools'; readonly detail: string; readonly status: number }
  /** What messages have told of tools does not hold together: the same request fails for ever. */
  | { readonly kind: 'unresolved_tool'; readonly detail: string; readonly status: number }
  /** A tool is offered with a definition that the API does not take. */
  | {
      readonly kind: 'refused_definition';
      readonly at: DefinitionAt;
      readonly detail: string;
      readonly status: number;
    }
  /** The server knows no such field; `anthropic-beta` stands for a value of that header. */
  | { readonly kind: 'refused_field'; readonly field: string; readonly detail: string; readonly status: number };

/** A longer wait is a provider's mistake: no timer can hold some of what a header can say. */
const MOST_AFTER_MS = 30 * 24 * 3_600_000;

/** Characters. */
const MOST_DETAIL = 2_000;

/** Nothing came for too long. */
export class StalledStream extends Error {
  override readonly name = 'StalledStream';
}

/**
 * Null: not a failure of the model call, so a bug. `words`: of the configuration, for a request
 * that is too long.
 */
export function classify(error: unknown, now: number, redact: Redact, words: readonly string[] = []): Verdict | null {
  if (error instanceof UnusableReply)
    return { kind: 'failed', detail: shortenDetail(error.message, redact), unusable: true };
  if (error instanceof StalledStream || error instanceof GarbledStream) {
    return { kind: 'retry', detail: shortenDetail(error.message, redact) };
  }
  if (error instanceof APIConnectionError)
    return { kind: 'retry', detail: shortenDetail(connectionDetail(error), redact) };
  if (error instanceof APIError) return classifyApi(error, now, redact, words);
  // The SDK could make nothing of the answer: one without a body, for instance.
  if (error instanceof AnthropicError) return { kind: 'retry', detail: shortenDetail(error.message, redact) };
  return null;
}

function classifyApi(error: APIError, now: number, redact: Redact, words: readonly string[]): Verdict {
  const status = statusOf(error);
  const via = error.headers?.get(VIA_HEADER);
  const through = via ? ` (through the proxy ${via})` : '';
  const said = `${status ?? 'stream error'}: ${error.apiMessage ?? error.message}${through}`;
  const detail = shortenDetail(said, redact);
  const known = status === undefined ? {} : { status };
  const ofAccount = accountProblem(status, error);
  if (ofAccount !== undefined) return { kind: 'failed', detail: `${detail} (${ofAccount})`, ...known };
  if (status === 413 || (maySayTooLong(status) && isOverflow(detail, words)))
    return { kind: 'too_long', detail, ...windowIn(detail) };
  if (status === 400 && (error.errorCode === REFUSED_PIXELS || REFUSED_MEDIA.test(detail)))
    return { kind: 'media_too_large', detail };
  const part = isRefusal(status) ? findRefusedPart(error.errorCode ?? '', said, { detail, status }) : null;
  if (part) return part;
  if (!isRetryable(status, error.headers?.get('x-should-retry'))) return { kind: 'failed', detail, ...known };
  const afterMs =
    retryAfterMs(error.headers?.get('retry-after-ms')) ?? retryAfter(error.headers?.get('retry-after') ?? null, now);
  return { kind: 'retry', detail, ...known, ...(afterMs === null ? {} : { afterMs }) };
}

/** Characters of a refusal that are looked at. */
const MOST_SAID = 16_000;

function findRefusedPart(
  code: string,
  whole: string,
  { detail, status }: { readonly detail: string; readonly status: number },
): Verdict | null {
  const said = whole.slice(0, MOST_SAID);
  if (isRefusedSummary(code, said)) return { kind: 'refused_summary', detail, status };
  if (isRefusedRole(said)) return { kind: 'refused_role', detail, status };
  if (isUnresolvedTool(code, said)) return { kind: 'unresolved_tool', detail, status };
  const at = findRefusedDefinition(said);
  if (at) return { kind: 'refused_definition', at, detail, status };
  if (isRefusedToolChange(said)) return { kind: 'refused_tools', detail, status };
  if (isUnboundThinking(said)) return { kind: 'unbound_thinking', detail, status };
  const field = findRefusedField(said);
  return field === undefined ? null : { kind: 'refused_field', field, detail, status };
}

/** Of a request with more than 20 images, one of them larger than 2,000 pixels. */
const REFUSED_PIXELS = 'image_dimensions_too_large';

/** Too large, too many, or broken: without them the request may do (L24). */
const REFUSED_MEDIA = new RegExp(
  [
    '(image|document|pdf|media).*(exceeds?|too large|too many|maximum|not valid|password|encrypted)',
    '(too many|maximum of \\d+) .*(image|document|pdf|media)',
    'could not process (the )?(image|document|pdf)',
  ].join('|'),
  'i',
);

/**
 * Servers of one's own fail with 500 where the window fills while they write; an event of a stream
 * may have no status.
 */
function maySayTooLong(status: number | undefined): boolean {
  return status === undefined || status === 500 || isRefusal(status);
}

export function isRefusal(status: number | undefined): status is 400 | 422 {
  return status === 400 || status === 422;
}

function isRetryable(status: number | undefined, shouldRetry: string | null | undefined): boolean {
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
    billing_error: 402,
    conflict_error: 409,
    timeout_error: 504,
    authentication_error: 401,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    invalid_request_error: 400,
  };
  return error.type === null ? undefined : byType[error.type];
}

/** The finer of the two headers, as some gateways send it. Null when absent or unreadable. */
function retryAfterMs(header: string | null | undefined): number | null {
  const ms = header === null || header === undefined || header.trim() === '' ? Number.NaN : Number(header);
  return Number.isNaN(ms) ? null : Math.min(MOST_AFTER_MS, Math.max(0, ms));
}

/** How servers name their window when a prompt does not fit it (X1). */
const WINDOW = [
  /tokens > ([\d,]+) maximum/i,
  /maximum context length (?:is|of) (?:only )?([\d,]+)/i,
  /context (?:window|length|size|limit)\D{0,40}?([\d,]+) ?tokens/i,
  /> ([\d,]+)(?:, decrease| tokens|$)/i,
];

/** Tokens: numbers outside are no windows. */
const LEAST_WINDOW = 1_000;
const MOST_WINDOW = 100_000_000;

export function windowIn(detail: string): { readonly window?: number } {
  const [named] = WINDOW.flatMap((words) => words.exec(detail)?.[1] ?? []);
  const window = Number(named?.replaceAll(',', ''));
  return window >= LEAST_WINDOW && window <= MOST_WINDOW ? { window } : {};
}

/** About the cap, and not about the prompt. */
const ABOUT_CAP = /max_(completion_)?tokens|(output|completion) tokens|maximum tokens/i;

/** Numbers below this are no caps: statuses and the like. */
const LEAST_CAP = 512;

/**
 * Returns the most tokens that a refusal of `cap` names: the largest number in it below `cap`.
 * Undefined without one.
 */
type Refusal = Pick<Extract<Verdict, { kind: 'failed' }>, 'detail' | 'status'> & { readonly kind: string };

export function maxOutputIn(verdict: Refusal, cap: number): number | undefined {
  if (verdict.kind !== 'failed' || !isRefusal(verdict.status)) return undefined;
  const room = roomLeft(verdict.detail);
  if (room !== undefined && room < cap) return room;
  if (!ABOUT_CAP.test(verdict.detail)) return undefined;
  const numbers = verdict.detail.match(/\d{1,3}(?:,\d{3})+|\d+/g) ?? [];
  const fitting = numbers.map((each) => Number(each.replaceAll(',', ''))).filter((n) => n >= LEAST_CAP && n < cap);
  return fitting.length === 0 ? undefined : Math.max(...fitting);
}

/**
 * Milliseconds, from seconds or an HTTP date; null when absent or unreadable. From none to 30 days.
 */
export function retryAfter(header: string | null, now: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1_000;
  return Number.isNaN(ms) ? null : Math.min(MOST_AFTER_MS, Math.max(0, ms));
}

/**
 * A proxy's error page can be of any length, and repeat the key; what the loop carries and people
 * read may not.
 */
export function shortenDetail(from: string, redact: Redact): string {
  // In this order: of a secret that is cut in two nothing would know the half.
  const text = redact(from.slice(0, 8 * MOST_DETAIL));
  return text.length <= MOST_DETAIL ? text : `${toUSVString(text.slice(0, MOST_DETAIL))} …`;
}

function connectionDetail(error: APIConnectionError): string {
  const cause = error.cause instanceof Error ? error.cause : null;
  const inner = cause?.cause instanceof Error ? cause.cause.message : cause?.message;
  return `no answer from the model API: ${inner ?? error.message}`;
}

/** `failures` so far, at least 1; `random` in [0, 1) adds up to a quarter. */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random: number): number {
  const base = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round(base * (1 + random / 4));
}
