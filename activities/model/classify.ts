// Classifies a failed attempt of a model call: either a value that the loop acts on, or another
// attempt after a wait (L14, L20).
import { toUSVString } from 'node:util';
import { AnthropicError, APIConnectionError, APIError } from '@anthropic-ai/sdk/core/error';
import type { Redact } from '../../system/redact.ts';
import { CREDENTIAL_HEADER, VIA_HEADER } from '../../system/network.ts';
import { GarbledStream, UnusableReply } from './stream/accumulate.ts';
import type { Backoff } from '../../store/configuration.ts';
import { isOverflow, roomLeft } from './refused/overflow-words.ts';
import {
  type DefinitionAt,
  findRefusedDefinition,
  findRefusedField,
  isRefusedRole,
  isRefusedSummary,
  isRefusedToolChange,
  isUnboundThinking,
  isUnresolvedTool,
} from './refused/request-parts.ts';

export type Verdict =
  /** `window`: the number of tokens that the server says it holds. */
  | { readonly kind: 'too_long'; readonly detail: string; readonly window?: number }
  | { readonly kind: 'media_too_large'; readonly detail: string }
  /**
   * `afterMs`: the wait that the provider asked for. `defect`: the failure looks like a bug of
   * ours.
   */
  | {
      readonly kind: 'retry';
      readonly detail: string;
      readonly status?: number;
      readonly afterMs?: number;
      readonly defect?: true;
    }
  /**
   * `maxOutput`: the request was refused for its cap, and this is the largest allowed one, in
   * tokens. `unusable`: the answer arrived and cannot be used.
   */
  | {
      readonly kind: 'failed';
      readonly detail: string;
      readonly status?: number;
      readonly maxOutput?: number;
      readonly unusable?: true;
    }
  /**
   * Kept thinking does not fit the messages that stand before it now. The same request always
   * fails.
   */
  | { readonly kind: 'unbound_thinking'; readonly detail: string; readonly status: number }
  /**
   * The conversation begins with a summary that was signed elsewhere, or the server does not know
   * such blocks. The same request always fails.
   */
  | { readonly kind: 'refused_summary'; readonly detail: string; readonly status: number }
  /** The model does not take messages of the role system, or its server does not know them. */
  | { readonly kind: 'refused_role'; readonly detail: string; readonly status: number }
  /** The server does not know tools in messages. */
  | { readonly kind: 'refused_tools'; readonly detail: string; readonly status: number }
  /** The changes of tools in messages contradict each other. The same request always fails. */
  | { readonly kind: 'unresolved_tool'; readonly detail: string; readonly status: number }
  /** The API does not take the definition of an offered tool. */
  | {
      readonly kind: 'refused_definition';
      readonly at: DefinitionAt;
      readonly detail: string;
      readonly status: number;
    }
  /** The server does not know this field; `anthropic-beta` stands for a value of that header. */
  | { readonly kind: 'refused_field'; readonly field: string; readonly detail: string; readonly status: number };

/** A longer wait is a provider's mistake: a header can name waits that no timer can hold. */
const MOST_AFTER_MS = 30 * 24 * 3_600_000;

/** The longest detail, in characters. */
const MOST_DETAIL = 2_000;

/** The stream was silent for too long. */
export class StalledStream extends Error {
  override readonly name = 'StalledStream';
}

/**
 * Classifies an error; null for a bug of ours. `words` are the configuration's words for a request
 * that is too long.
 */
export function classifyFailure(
  error: unknown,
  now: number,
  redact: Redact,
  words: readonly string[] = [],
): Verdict | null {
  if (error instanceof UnusableReply)
    return { kind: 'failed', detail: shortenDetail(error.message, redact), unusable: true };
  if (error instanceof StalledStream || error instanceof GarbledStream) {
    return { kind: 'retry', detail: shortenDetail(error.message, redact) };
  }
  if (error instanceof APIConnectionError)
    return { kind: 'retry', detail: shortenDetail(connectionDetail(error), redact) };
  if (error instanceof APIError) return classifyApi(error, now, redact, words);
  // The SDK could not read the answer, for instance one without a body.
  if (error instanceof AnthropicError) return { kind: 'retry', detail: shortenDetail(error.message, redact) };
  return null;
}

function classifyApi(error: APIError, now: number, redact: Redact, words: readonly string[]): Verdict {
  const status = statusOf(error);
  const via = error.headers?.get(VIA_HEADER);
  const through = via ? ` (through the proxy ${via})` : '';
  const text = `${status ?? 'stream error'}: ${error.apiMessage ?? error.message}${through}`;
  const detail = shortenDetail(text, redact);
  const known = status === undefined ? {} : { status };
  const ofAccount = accountProblem(status, error);
  if (ofAccount !== undefined) return { kind: 'failed', detail: `${detail} (${ofAccount})`, ...known };
  if (status === 413 || (maySayTooLong(status) && isOverflow(detail, words)))
    return { kind: 'too_long', detail, ...windowIn(detail) };
  if (status === 400 && (error.errorCode === REFUSED_PIXELS || REFUSED_MEDIA.test(detail)))
    return { kind: 'media_too_large', detail };
  const part = isRefusal(status) ? findRefusedPart(error.errorCode ?? '', text, { detail, status }) : null;
  if (part) return part;
  if (isRefusedMedium(status, detail)) return { kind: 'media_too_large', detail };
  if (!isRetryable(status, error.headers?.get('x-should-retry'))) return { kind: 'failed', detail, ...known };
  const afterMs =
    retryAfterMs(error.headers?.get('retry-after-ms')) ?? retryAfter(error.headers?.get('retry-after') ?? null, now);
  return { kind: 'retry', detail, ...known, ...(afterMs === null ? {} : { afterMs }) };
}

/** How many characters of a refusal are searched. */
const MOST_SAID = 16_000;

function findRefusedPart(
  code: string,
  whole: string,
  { detail, status }: { readonly detail: string; readonly status: number },
): Verdict | null {
  const text = whole.slice(0, MOST_SAID);
  if (isRefusedSummary(code, text)) return { kind: 'refused_summary', detail, status };
  if (isRefusedRole(text)) return { kind: 'refused_role', detail, status };
  if (isUnresolvedTool(code, text)) return { kind: 'unresolved_tool', detail, status };
  const at = findRefusedDefinition(text);
  if (at) return { kind: 'refused_definition', at, detail, status };
  if (isRefusedToolChange(text)) return { kind: 'refused_tools', detail, status };
  if (isUnboundThinking(text)) return { kind: 'unbound_thinking', detail, status };
  const field = findRefusedField(text);
  return field === undefined ? null : { kind: 'refused_field', field, detail, status };
}

/** The code for a request with more than 20 images of which one is larger than 2,000 pixels. */
const REFUSED_PIXELS = 'image_dimensions_too_large';

/** Media are too large, too many, or broken: the request may work without them (L24). */
const REFUSED_MEDIA = new RegExp(
  [
    '(image|document|pdf|media).*(exceeds?|too large|too many|maximum|not valid|password|encrypted)',
    '(too many|too much|maximum of \\d+) .*(image|document|pdf|media)',
    'could not process (the )?(image|document|pdf)',
  ].join('|'),
  'i',
);

/**
 * An image or document is refused by its place in the request, for its kind, or because the model
 * sees none. Each later request would have it again, and fail as this one did (L24).
 */
const REFUSED_MEDIUM = new RegExp(
  [
    'content\\.\\d+\\.(image|document)\\.',
    '(image|document|pdf)\\b.*(does not match|appears to be|not supported|unsupported|invalid|empty|corrupt)',
    '(invalid|unsupported|corrupt\\w*) (image|document|pdf)',
    'support\\w* .*\\b(images?|vision|pdfs?|documents?)\\b',
    'image_url.*support',
  ].join('|'),
  'i',
);

/** A gateway that finds no model which sees images answers 404. */
const isRefusedMedium = (status: number | undefined, detail: string): boolean =>
  (isRefusal(status) || status === 404) && REFUSED_MEDIUM.test(detail);

/**
 * Self-hosted servers fail with 500 when the window fills while they write, and an event of a
 * stream may have no status.
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

/**
 * Finds the status. An `error` event inside a stream has none of its own, so its type stands for
 * one.
 */
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

/** Reads the finer of the two headers, which some gateways send. Null when absent or unreadable. */
function retryAfterMs(header: string | null | undefined): number | null {
  const ms = header === null || header === undefined || header.trim() === '' ? Number.NaN : Number(header);
  return Number.isNaN(ms) ? null : Math.min(MOST_AFTER_MS, Math.max(0, ms));
}

/** The ways in which servers name their window when a prompt does not fit it (X1). */
const WINDOW = [
  /tokens > ([\d,]+) maximum/i,
  /maximum context length (?:is|of) (?:only )?([\d,]+)/i,
  /context (?:window|length|size|limit)\D{0,40}?([\d,]+) ?tokens/i,
  /> ([\d,]+)(?:, decrease| tokens|$)/i,
];

/** Numbers of tokens outside these bounds are not windows. */
const LEAST_WINDOW = 1_000;
const MOST_WINDOW = 100_000_000;

export function windowIn(detail: string): { readonly window?: number } {
  const [named] = WINDOW.flatMap((words) => words.exec(detail)?.[1] ?? []);
  const window = Number(named?.replaceAll(',', ''));
  return window >= LEAST_WINDOW && window <= MOST_WINDOW ? { window } : {};
}

/** Matches refusals about the cap, and not about the prompt. */
const ABOUT_CAP = /max_(completion_)?tokens|(output|completion) tokens|maximum tokens/i;

/** Smaller numbers are not caps but statuses and the like. */
const LEAST_CAP = 512;

/** The parts of a verdict that `maxOutputIn` reads. */
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
 * Reads seconds or an HTTP date as milliseconds, from 0 to 30 days; null when absent or unreadable.
 */
export function retryAfter(header: string | null, now: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1_000;
  return Number.isNaN(ms) ? null : Math.min(MOST_AFTER_MS, Math.max(0, ms));
}

/**
 * Shortens and redacts a failure's text: a proxy's error page can be of any length and repeat the
 * key.
 */
export function shortenDetail(from: string, redact: Redact): string {
  // Redact first: half of a secret that is cut in two would not be recognised.
  const text = redact(from.slice(0, 8 * MOST_DETAIL));
  return text.length <= MOST_DETAIL ? text : `${toUSVString(text.slice(0, MOST_DETAIL))} …`;
}

function connectionDetail(error: APIConnectionError): string {
  const cause = error.cause instanceof Error ? error.cause : null;
  const inner = cause?.cause instanceof Error ? cause.cause.message : cause?.message;
  return `no answer from the model API: ${inner ?? error.message}`;
}

/**
 * Returns milliseconds. `failures` so far is at least 1; `random` in [0, 1) adds up to a quarter.
 */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random: number): number {
  const base = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round(base * (1 + random / 4));
}

/** Sentences by `error.details.error_code`, which stays stable when messages change. */
const BY_CODE: Readonly<Record<string, string>> = {
  enforced_spend_limit_reached:
    'the spend limit that is set for this organization or workspace is reached until the next month begins: raise it under Limits in the console, then send `continue`',
  contract_spend_limit_reached:
    'what the contract of this organization allows is spent until the next month begins: ask whoever keeps the contract, or your contact at Anthropic, to raise it',
};

const OWN_LIMIT =
  'the spend limit of this organization or workspace is reached: raise it under Limits in the console, or wait until the day that is named';
const NO_CREDIT =
  'the account cannot be billed: see to its credit or payment under Billing in the console, then send `continue`';

/**
 * Recognises that an account has used up its allowance, or that its key is refused. Waiting or
 * another model does not help: a person has to act. Says what a person can do, as the rest of a
 * sentence; undefined for a failure of another kind.
 */
function accountProblem(status: number | undefined, error: APIError): string | undefined {
  const code = error.errorCode ?? '';
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
  if (status === 402) return NO_CREDIT;
  if (status === 401) return credentialProblem(error.headers?.get(CREDENTIAL_HEADER) ?? null);
  const message = error.apiMessage ?? error.message;
  if (status !== 400 && status !== 403) return undefined;
  if (/specified (API|workspace API) usage limits/i.test(message)) return OWN_LIMIT;
  return /credit balance is too low/i.test(message) ? NO_CREDIT : undefined;
}

/** `named`: what the worker knows of the credential; null when it knows nothing. */
function credentialProblem(named: string | null): string | undefined {
  if (named === null) return undefined;
  const at = named.lastIndexOf('@');
  const [name, host] = [named.slice(0, at), named.slice(at + 1)];
  return name === ''
    ? `${host} wants a key: set ANTHROPIC_API_KEY where the worker runs`
    : `${name} was rejected by ${host}: check or replace it where the worker runs`;
}
